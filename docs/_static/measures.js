// Choose among the tables of measures by words and claims, and sort them by a column.
document.addEventListener("DOMContentLoaded", () => {
  const section = document.getElementById("all-measures");
  if (!section) return;
  const tables = [...section.querySelectorAll("table")];
  const column = new Map([...tables[0].querySelectorAll("th")].map((head, i) => [head.textContent.trim(), i]));
  const cell = (row, name) => row.cells[column.get(name)].textContent.trim();
  const ignores = (word) => (row) => {
    const text = cell(row, "ignores");
    const all = text.includes("affine map");
    const linear = all || text.includes("invertible linear map");
    if (word === "affine") return all;
    if (word === "translation") return all || text.includes("translation");
    return linear || text.includes(word);
  };
  const also = (word) => (row) => cell(row, "also").split(", ").includes(word);
  const choices = [
    ["ignores rotation", ignores("rotation")],
    ["ignores scaling", ignores("scaling")],
    ["ignores translation", ignores("translation")],
    ["symmetric", also("symmetric")],
    ["metric", also("metric")],
    ["gradients", also("gradients")],
    ["streams", also("streams")],
  ];
  const form = document.createElement("form");
  form.className = "measure-filter";
  form.innerHTML = `<input type="search" placeholder="Filter: a name, a label, a word" aria-label="Filter the measures">`
    + choices.map(([name], i) => `<label><input type="checkbox" value="${i}"> ${name}</label>`).join("")
    + `<output aria-live="polite"></output>`;
  section.querySelector("h2").after(form);
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  const update = () => {
    const words = form.querySelector("[type=search]").value.toLowerCase().split(/\s+/);
    const wanted = [...form.querySelectorAll(":checked")].map((box) => choices[box.value][1]);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !(words.every((word) => text.includes(word)) && wanted.every((test) => test(row)));
    }
    for (const table of tables) {
      const left = [...table.tBodies[0].rows].some((row) => !row.hidden);
      (table.closest("section") ?? table).hidden = !left;
    }
    const left = rows.filter((row) => !row.hidden).length;
    form.querySelector("output").textContent = `${left} of ${rows.length} measures`;
  };
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const table of tables) {
    [...table.querySelectorAll("th")].forEach((head, i) => {
      head.classList.add("measure-sort");
      head.title = "Sort by this column";
      head.addEventListener("click", () => {
        const body = table.tBodies[0];
        const value = (row) => row.cells[i].textContent.trim();
        const down = head.dataset.order === "up";
        head.dataset.order = down ? "down" : "up";
        const sorted = [...body.rows].sort((a, b) => value(a).localeCompare(value(b), "en", { numeric: true }));
        body.append(...(down ? sorted.reverse() : sorted));
      });
    });
  }
  update();
});
