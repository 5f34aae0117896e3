"use strict";
{
  // Every view was computed before: here one is selected and shown.
  const form = document.getElementById("switches");
  const views = JSON.parse(document.getElementById("views")?.textContent ?? "null");
  if (form && views) {
    const body = document.querySelector("#places tbody"), order = document.getElementById("order");
    const rows = new Map([...body.rows].map(row => [Number(row.dataset.i), row]));
    const put = (row, selector, text, value) => {
      const cell = row.querySelector(selector);
      if (text !== null) cell.textContent = text;
      if (value !== undefined) cell.dataset.v = value;
      return cell;
    };
    const place = (row, [, mean, low, high, position, words, tied], last) => {
      const at = rank => 100 * (rank - 1) / Math.max(last - 1, 1);
      row.hidden = false;
      row.classList.toggle("tied", Boolean(tied));
      put(row, ".place", words, position);
      put(row, ".mean", mean.toFixed(2), mean);
      put(row, ".span", `${low.toFixed(1)} to ${high.toFixed(1)}`, low);
      const track = put(row, ".track", null, mean), range = track.querySelector(".range").style;
      range.left = `${at(low)}%`;
      range.right = `${100 - at(high)}%`;
      track.querySelector(".dot").style.left = `${at(mean)}%`;
      return row;
    };
    const show = () => {
      const view = views[`${form.cells.value}|${form.measures.value}`];
      document.getElementById("words").textContent = view.words;
      document.getElementById("last").textContent = view.rows.length;
      order.hidden = !view.rows.length;
      for (const heading of order.querySelectorAll("[aria-sort]")) heading.removeAttribute("aria-sort");
      body.replaceChildren(...view.rows.map(entry => place(rows.get(entry[0]), entry, view.rows.length)));
    };
    const names = ["cells", "measures"];
    const read = () => {  // a link may name a view: #cells=resi&measures=metrics
      const asked = new URLSearchParams(location.hash.slice(1));
      for (const name of names) {
        const options = [...form[name].options].map(option => option.value);
        if (options.includes(asked.get(name))) form[name].value = asked.get(name);
      }
      show();
    };
    form.addEventListener("change", () => {
      history.replaceState(null, "", `#${new URLSearchParams(names.map(name => [name, form[name].value]))}`);
      show();
    });
    addEventListener("hashchange", read);
    form.hidden = false;
    read();
  }
}
