"use strict";
{
  const root = document.documentElement;
  window.addEventListener("error", event => { root.dataset.errors = (root.dataset.errors ?? "") + event.message; });

  // ------------------------------------------- show and hide lines, in all diagrams of a section or of the whole page
  const choose = legend => {
    const scope = legend.closest("section") ?? root, chips = [...legend.querySelectorAll(".chip")];
    const all = index => scope.querySelectorAll(`svg.chart .m${index}`), more = `more ${legend.dataset.word}`;
    const show = (chip, on) => {
      chip.querySelector("input").checked = on;
      for (const line of all(chip.dataset.m)) line.classList.toggle("off", !on);
    };
    for (const chip of chips) {
      chip.querySelector("input").addEventListener("change", event => show(chip, event.target.checked));
      const light = on => {
        scope.classList.toggle("hot", on);
        for (const line of all(chip.dataset.m)) line.classList.toggle("lit", on);
      };
      chip.addEventListener("pointerenter", () => light(true));
      chip.addEventListener("pointerleave", () => light(false));
    }
    const button = (text, act) => {
      const made = document.createElement("button");
      made.type = "button"; made.textContent = text; made.addEventListener("click", () => act(made));
      legend.append(made);
      return made;
    };
    if (chips.length < 2) return;
    const first = chips.map(chip => chip.querySelector("input").checked);
    const open = chips.some(chip => chip.classList.contains("extra"))
      && button(more, () => { open.textContent = legend.classList.toggle("open") ? "fewer" : more; });
    const shut = on => { legend.classList.toggle("open", on); if (open) open.textContent = on ? "fewer" : more; };
    button("show all", () => { shut(true); chips.forEach(chip => show(chip, true)); });
    button("reset", () => { shut(false); chips.forEach((chip, i) => show(chip, first[i])); });
  };
  document.querySelectorAll(".legend").forEach(choose);

  // --------------------------------------------------------- sort a table by a column: numbers (data-v) or texts
  const sortable = table => {
    const headers = [...table.tHead.rows[0].cells];
    const sort = (header, column) => {
      const rows = [...table.tBodies[0].rows], isNumber = rows.some(row => row.cells[column].dataset.v !== undefined);
      const value = row => isNumber ? parseFloat(row.cells[column].dataset.v) : row.cells[column].textContent;
      const down = header.getAttribute("aria-sort") !== "descending" && isNumber;
      const turn = !isNumber && header.getAttribute("aria-sort") === "ascending";
      const missing = row => isNumber ? Number.isNaN(value(row)) : value(row) === "–";
      for (const other of headers) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", down || turn ? "descending" : "ascending");
      rows.sort((a, b) => {
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        const [x, y] = [value(a), value(b)];
        return (x < y ? -1 : x > y ? 1 : 0) * (down || turn ? -1 : 1);
      });
      table.tBodies[0].append(...rows);
    };
    headers.forEach((header, column) => {
      const made = document.createElement("button");
      made.type = "button"; made.append(...header.childNodes); made.addEventListener("click", () => sort(header, column));
      header.append(made);
    });
    return column => sort(headers[column], column);
  };
  const sorts = [...document.querySelectorAll("table.sorted")].map(sortable);
  const asked = /^#sort=(\d+)/.exec(location.hash);
  if (asked && sorts.length) sorts[0](Number(asked[1]));
  root.dataset.ready = "yes";
}
