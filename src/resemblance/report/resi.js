"use strict";
{
  const root = document.documentElement;
  addEventListener("error", event => { root.dataset.errors = (root.dataset.errors ?? "") + event.message + "\n"; });
  root.classList.add("js");
  const data = JSON.parse(document.getElementById("data").textContent);
  const make = (tag, attributes = {}, ...children) => {
    const made = /^(svg|path|text)$/.test(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const two = value => value === null || value === undefined ? "–" : String(Number(value.toPrecision(3))).replace("-", "−");

  // ------------------------------------------------------------------ sort a table by a column, what is missing last
  const sort = (table, column, descending) => {
    const headings = [...table.tHead.querySelectorAll("th[data-col]")];
    const heading = headings.find(h => Number(h.dataset.col) === column);
    if (!heading) return;
    headings.forEach(h => h.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const cells = table.tBodies[0].rows[0]?.cells ?? [], place = [...cells].filter(c => !c.classList.contains("figure"))[column]?.cellIndex;
    const key = row => { const cell = row.cells[place], text = cell.dataset.v ?? cell.textContent.trim(), value = Number(text);
      return text === "" ? null : text === "inf" ? Infinity : Number.isNaN(value) ? text : value; };
    const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    const keyed = [...table.tBodies[0].rows].map(row => [key(row), row]);
    const missing = keyed.filter(([k]) => k === null), known = keyed.filter(([k]) => k !== null);
    known.sort((a, b) => descending ? order(b[0], a[0]) : order(a[0], b[0]));
    table.tBodies[0].append(...[...known, ...missing].map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const heading of table.tHead.querySelectorAll("th[data-col]")) {
      const button = make("button", { type: "button" });
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const now = heading.getAttribute("aria-sort"), first = heading.dataset.first === "descending";
        sort(table, Number(heading.dataset.col), now ? now === "ascending" : first);
      });
    }
  }
  // A link may say how a table is sorted: #sort=ranking:2:descending
  const follow = () => {
    const asked = /^#sort=([\w-]+):(\d+)(:descending)?$/.exec(location.hash), table = asked && document.getElementById(asked[1]);
    if (table?.tHead) { sort(table, Number(asked[2]), Boolean(asked[3])); table.scrollIntoView(); }
  };
  addEventListener("hashchange", follow);

  const select = (label, options, change) => {
    const list = make("select");
    list.append(...options.map(([value, text]) => make("option", { value }, text)));
    list.addEventListener("change", change);
    return { list, label: make("label", {}, label, list) };
  };
  const unique = values => [...new Set(values)];

  // ------------------------------------------------------------------------ choose the columns of the table of scores
  const scores = document.getElementById("scores"), form = document.getElementById("choose");
  const columns = [...scores.tHead.rows[1].cells], chosen = [];
  const showColumns = () => {
    for (const th of columns) th.hidden = !chosen.every(allows => allows(th.dataset));
    for (const row of scores.tBodies[0].rows) columns.forEach((th, i) => { row.cells[i + 1].hidden = th.hidden; });
    for (const group of scores.tHead.querySelectorAll("th.group")) {
      const count = columns.filter(th => !th.hidden && th.dataset.test === group.dataset.test).length;
      group.hidden = !count;
      group.colSpan = Math.max(count, 1);
    }
  };
  const choose = (label, options, allows) => {
    if (options.length < 2) { chosen.push(of => allows(of, options[0][0])); return; }
    const made = select(label, options, showColumns);
    chosen.push(of => allows(of, made.list.value));
    form.append(made.label);
    form.hidden = false;
  };
  const asked = { "output": ["output"], "tests of groups": ["labels", "shortcut", "augmentation"], "layers": ["layers"] };
  for (const [label, tests] of Object.entries(asked)) {
    const words = unique(columns.filter(th => tests.includes(th.dataset.test)).map(th => th.dataset.word));
    if (words.length) choose(label, words.map(w => [w, w]), (of, word) => !tests.includes(of.test) || of.word === word);
  }
  for (const domain of unique(columns.map(th => th.dataset.domain))) {
    const families = unique(columns.filter(th => th.dataset.domain === domain).map(th => th.dataset.family));
    const names = families.map(f => [f, f.startsWith(domain + " · ") ? f.slice(domain.length + 3) : f]);
    choose(domain, families.length > 1 ? [...names, ["*", "all"]] : names, (of, f) => of.domain !== domain || f === "*" || of.family === f);
  }
  if (columns.length) showColumns();

  // ------------------------------------------------------------------------------------------- expected and measured
  const explorer = () => {
    const pick = document.getElementById("pick"), maps = document.getElementById("maps"), readout = document.getElementById("maps-readout");
    const families = unique(data.cases.map(c => c.family)), pickers = {};
    const fill = (name, options) => {
      const { list, label } = pickers[name], before = list.value;
      list.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
      if (options.some(([value]) => String(value) === before)) list.value = before;
      label.hidden = options.length < 2;
      return list.value;
    };
    const at = (packed, n, i, j) => packed.length === n * n ? packed[i * n + j] : i > j ? at(packed, n, j, i) : packed[i * n - i * (i - 1) / 2 + j - i];
    const square = (packed, n) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => at(packed, n, i, j)));
    const limits = rows => {
      const known = rows.flatMap((row, i) => row.filter((v, j) => i !== j && v !== null));
      return known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
    };
    const draw = (title, labels, rows, report) => {
      const n = labels.length, side = 400, pitch = side / n, [low, high] = limits(rows), paths = {};
      const short = labels.map(l => l.length > 24 ? l.slice(0, 11) + "…" + l.slice(-12) : l);
      const left = 14 + 5.9 * Math.max(...short.map(l => l.length));
      rows.forEach((row, i) => row.forEach((v, j) => {
        const level = v === null ? "missing" : "q" + Math.round((data.levels - 1) * (1 - Math.min(1, Math.max(0, (v - low) / (high > low ? high - low : 1)))));
        paths[level] = (paths[level] ?? "") + `M${(left + j * pitch).toFixed(2)} ${(i * pitch).toFixed(2)}h${(pitch + .25).toFixed(2)}v${(pitch + .25).toFixed(2)}h${(-pitch - .25).toFixed(2)}z`;
      }));
      const wide = left + side + data.room;
      const svg = make("svg", { viewBox: `0 0 ${wide} ${side + left}`, class: "chart matrix", role: "img", tabindex: 0, "aria-label": `${title}: arrow keys read single values` });
      svg.append(...Object.entries(paths).map(([level, d]) => make("path", { class: level, d })));
      labels.forEach((label, i) => {
        if (i && label.includes("/") && label.split("/")[0] !== labels[i - 1].split("/")[0])
          svg.append(make("path", { class: "edge", d: `M${left} ${i * pitch}h${side}M${left + i * pitch} 0v${side}` }));
        if (i % Math.max(1, Math.round(10 / pitch))) return;
        const middle = pitch * (i + .5) + 3.5;
        svg.append(make("text", { x: left - 6, y: middle, class: "tick end" }, short[i]),
          make("text", { x: left + middle, y: side + 8, class: "tick end", transform: `rotate(-90 ${left + middle} ${side + 8})` }, short[i]));
      });
      const step = side / data.levels;  // the colours with their numbers, what is alike on top
      for (let i = 0; i < data.levels; i++)
        svg.append(make("path", { class: "q" + (data.levels - 1 - i), d: `M${left + side + 12} ${i * step}h10v${step + .25}h-10z` }));
      for (const [value, y] of [[low, 9], [(low + high) / 2, side / 2 + 3.5], [high, side]])
        svg.append(make("text", { x: left + side + 26, y, class: "tick" }, two(value)));
      const cursor = make("path", { class: "cursor" });
      svg.append(cursor);
      let here = [0, 0];
      const mark = (i, j) => { here = [i, j]; cursor.setAttribute("d", `M${left + j * pitch} ${i * pitch}h${pitch}v${pitch}h${-pitch}z`); report(i, j); };
      svg.addEventListener("pointermove", event => {
        const box = svg.getBoundingClientRect(), scale = wide / box.width;
        const j = Math.floor(((event.clientX - box.left) * scale - left) / pitch), i = Math.floor((event.clientY - box.top) * scale / pitch);
        if (i >= 0 && j >= 0 && i < n && j < n) mark(i, j);
      });
      svg.addEventListener("keydown", event => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step) return;
        event.preventDefault();
        mark(...here.map((place, k) => Math.min(n - 1, Math.max(0, place + step[k]))));
      });
      return make("div", {}, make("h4", {}, title, ` (${two(low)} to ${two(high)})`), svg);
    };
    const show = () => {
      const family = pickers.models.list.value, cases = data.cases.filter(c => c.family === family);
      const test = fill("test", cases.map(c => [c.test, data.tests[c.test] ?? c.test]));
      const parts = cases.find(c => c.test === test).parts;
      const part = parts[Number(fill("model", parts.map((p, i) => [i, p.title])))];
      const quality = fill("quality", Object.keys(part.expected).map(q => [q, data.qualities[q] ?? q]));
      const measures = Object.keys(part.values === undefined ? {} : data.values[part.values]);
      const measure = fill("measure", measures.map(m => [m, data.measures[m][1]])), n = part.labels.length;
      const expected = square(part.expected[quality], n), measured = square(data.values[part.values][measure], n);
      const name = data.measures[measure][0], score = part.scores[quality]?.[measure] ?? null;
      const rest = `${name}: ${data.qualities[quality] ?? quality} ${score === null ? "–" : score.toFixed(2).replace("-", "−")}`;
      const report = (i, j) => readout.replaceChildren(make("b", {}, `${part.labels[i]} and ${part.labels[j]}`),
        `: expected ${two(expected[i][j])}, measured by ${name} ${measured[i][j] === null ? "no value" : two(measured[i][j])}`);
      maps.replaceChildren(draw("expected", part.labels, expected, report), draw(`measured by ${name}`, part.labels, measured, report));
      readout.textContent = rest;
    };
    for (const name of ["models", "test", "model", "quality", "measure"]) {
      pickers[name] = select(name, [], show);
      pick.append(pickers[name].label);
    }
    fill("models", families.map(f => [f, f]));
    pick.hidden = maps.hidden = false;
    show();
  };
  if (data.cases.length) explorer();

  // ------------------------------------------------------ read what is under the pointer of a figure, also by touching
  for (const plate of document.querySelectorAll(".plate")) {
    const readout = plate.querySelector(".readout"), rest = readout.textContent;
    plate.addEventListener("pointerover", event => {
      const found = event.target.closest(":has(> title)")?.querySelector(":scope > title");
      readout.textContent = found ? found.textContent : rest;
    });
    plate.addEventListener("pointerleave", () => { readout.textContent = rest; });
  }
  follow();
  root.dataset.ready = "yes";
}
