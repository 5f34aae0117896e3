"use strict";
{
  const root = document.documentElement;
  window.addEventListener("error", event => { root.dataset.errors = (root.dataset.errors ?? "") + event.message; });

  // ------------------------------------------------------------------------ show and hide measures, in all diagrams
  const legend = document.querySelector(".legend"), chips = [...legend.querySelectorAll(".chip")];
  const all = index => document.querySelectorAll(`svg.chart .m${index}`);
  const show = (chip, on) => {
    chip.querySelector("input").checked = on;
    for (const line of all(chip.dataset.m)) line.classList.toggle("off", !on);
  };
  for (const chip of chips) {
    chip.querySelector("input").addEventListener("change", event => show(chip, event.target.checked));
    const light = on => {
      root.classList.toggle("hot", on);
      for (const line of all(chip.dataset.m)) line.classList.toggle("lit", on);
    };
    chip.addEventListener("pointerenter", () => light(true));
    chip.addEventListener("pointerleave", () => light(false));
  }
  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button"; made.textContent = text; made.addEventListener("click", () => act(made));
    legend.append(made);
  };
  const first = chips.map(chip => chip.querySelector("input").checked);
  if (chips.some(chip => chip.classList.contains("extra")))
    button("more measures", made => { made.textContent = legend.classList.toggle("open") ? "fewer" : "more measures"; });
  button("show all", () => { legend.classList.add("open"); chips.forEach(chip => show(chip, true)); });
  button("reset", () => { legend.classList.remove("open"); chips.forEach((chip, i) => show(chip, first[i])); });

  // ----------------------------------------------------------------------------------- sort the grades by a column
  const table = document.querySelector("#grades");
  const value = (row, column) => column ? parseFloat(row.cells[column].dataset.v) : row.cells[0].textContent;
  const sort = (header, column) => {
    const down = header.getAttribute("aria-sort") !== "descending" && column > 0;
    for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows], missing = row => column > 0 && Number.isNaN(value(row, column));
    rows.sort((a, b) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b);
      const [x, y] = [value(a, column), value(b, column)];
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    table.tBodies[0].append(...rows);
  };
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const made = document.createElement("button");
    made.type = "button"; made.append(...header.childNodes); made.addEventListener("click", () => sort(header, column));
    header.append(made);
  });
  const asked = /^#sort=(\d+)/.exec(location.hash);
  if (asked) sort(table.tHead.rows[0].cells[asked[1]], Number(asked[1]));
  root.dataset.ready = "yes";
}
