"use strict";
{
  const root = document.documentElement;
  addEventListener("error", event => { root.dataset.errors = (root.dataset.errors ?? "") + event.message + "\n"; });
  root.classList.add("js");
  const make = (tag, attributes = {}, ...children) => {
    const element = ["path", "text"].includes(tag) ? document.createElementNS(document.querySelector("svg").namespaceURI, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const unique = values => [...new Set(values)];
  const button = (text, act) => {
    const element = make("button", { type: "button" }, text);
    element.addEventListener("click", act);
    return element;
  };
  const select = (label, change) => {
    const list = make("select");
    list.addEventListener("change", change);
    const fill = options => {  // the choice stays where it can
      const before = list.value;
      const groups = new Map();  // options with the same third entry have a heading
      for (const [value, text, group = ""] of options) groups.set(group, [...groups.get(group) ?? [], make("option", { value }, text)]);
      list.replaceChildren(...[...groups].flatMap(([label, some]) => label ? [make("optgroup", { label }, ...some)] : some));
      if (options.some(([value]) => String(value) === before)) list.value = before;
      element.hidden = options.length < 2;
    };
    const element = make("label", {}, label, list);
    const take = text => {  // the option with this text, if there is one
      const option = [...list.options].find(one => one.text === text);
      if (option) list.value = option.value;
      return Boolean(option);
    };
    return { element, fill, take, get value() { return list.value; }, get text() { return list.selectedOptions[0]?.text; } };
  };

  // -------------------------------------- show and hide lines, in all diagrams of a section or of the whole page
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
    if (chips.length < 2) return;
    const first = chips.map(chip => chip.querySelector("input").checked);
    const open = chips.some(chip => chip.classList.contains("extra")) && button(more, () => shut(!legend.classList.contains("open")));
    const shut = on => { legend.classList.toggle("open", on); if (open) open.textContent = on ? "fewer" : more; };
    legend.append(...(open ? [open] : []),
      button("show all", () => { shut(true); chips.forEach(chip => show(chip, true)); }),
      button("reset", () => { shut(false); chips.forEach((chip, i) => show(chip, first[i])); }));
  };
  document.querySelectorAll(".legend").forEach(choose);

  // ------------------------------------- sort a table by a column: numbers (data-v) or texts, what is missing last
  const sort = (table, column, descending) => {
    const headings = [...table.tHead.rows].at(-1).cells, rows = [...table.tBodies[0].rows];
    const isNumber = rows.some(row => row.cells[column].dataset.v !== undefined);
    const now = headings[column].getAttribute("aria-sort");
    const down = descending ?? (isNumber ? now !== "descending" : now === "ascending");
    for (const heading of headings) heading.removeAttribute("aria-sort");
    headings[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = row => isNumber ? parseFloat(row.cells[column].dataset.v.replace("inf", "Infinity")) : row.cells[column].textContent;
    const missing = value => isNumber ? Number.isNaN(value) : value === "–";
    const keyed = rows.map(row => [key(row), row]);
    keyed.sort(([a], [b]) => missing(a) || missing(b) ? missing(a) - missing(b) : (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    table.tBodies[0].append(...keyed.map(([, row]) => row));
  };
  const tables = [...document.querySelectorAll("table.sorted")];
  for (const table of tables) {
    [...table.tHead.rows].at(-1).querySelectorAll("th").forEach((heading, column) => {
      const text = [...heading.childNodes];
      heading.append(button("", () => sort(table, column)));
      heading.lastChild.append(...text);
    });
  }
  // A link may say how a table is sorted: #sort=2 the first one, #sort=section-scores-all:2:descending any
  const follow = () => {
    const asked = /^#sort=(?:([\w.-]+):)?(\d+)(:descending)?$/.exec(location.hash);
    const table = asked && (asked[1] ? document.getElementById(asked[1]) : tables[0]);
    if (!table?.tHead) return;
    sort(table, Number(asked[2]), asked[3] ? true : undefined);
    if (asked[1]) table.scrollIntoView();
  };
  addEventListener("hashchange", follow);

  // ----------------------------------------------------------------------- choose the columns of a table
  for (const form of document.querySelectorAll("form.columns")) {
    const choices = JSON.parse(form.nextElementSibling.nextElementSibling.textContent);
    const table = form.nextElementSibling.querySelector("table"), all = "*";
    const show = () => {
      const shown = choices.map(of => of.every((word, k) => !word || selects[k].value === all || selects[k].value === word));
      for (const row of [[...table.tHead.rows].at(-1), ...table.tBodies[0].rows]) {
        [...row.cells].forEach((cell, i) => { cell.hidden = !shown[i]; });
      }
      for (const group of table.tHead.querySelectorAll("[data-from]")) {
        const from = Number(group.dataset.from), count = shown.slice(from, from + Number(group.dataset.count)).filter(Boolean).length;
        group.hidden = !count;
        group.colSpan = Math.max(count, 1);
      }
    };
    const selects = JSON.parse(form.dataset.selectors).map((name, k) => {
      const words = unique(choices.map(of => of[k]).filter(Boolean)), control = select(name, show);
      control.fill([...words.map(word => [word, word]), ...(words.length > 1 ? [[all, "all"]] : [])]);
      form.append(control.element);
      return control;
    });
    form.hidden = selects.every(control => control.element.hidden);
    show();
  }

  // -------------------------------------------------------- read heat maps, by the pointer or by arrow keys
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "{}");
  const digits = value => value === null ? "no value" : String(Number(value.toPrecision(4))).replace("-", "−");
  const open = name => {  // a map with its names and with its values by row and column
    const map = { ...data.maps[data.maps[name].like], ...data.maps[name] }, rows = data.names[map.rows], columns = data.names[map.columns], n = rows.length;
    const of = (values, i, j) => values.length === n * columns.length ? values[i * columns.length + j]
      : i > j ? of(values, j, i) : values[i * n - i * (i - 1) / 2 + j - i];
    const at = (i, j) => of(map.values, i, j);
    const chance = (i, j) => map.chance && of(map.chance, i, j) !== null ? `, chance ${digits(of(map.chance, i, j))}` : "";
    const titles = typeof map.titles === "string" ? data.maps[map.titles].titles : map.titles;
    const text = (i, j) => titles?.[`${i},${j}`] ?? digits(at(i, j)) + chance(i, j);
    return { ...map, rows, columns, of, at, text };
  };
  const readable = (figure, svgs, maps, rest = "") => {
    const readout = figure.querySelector(".readout"), [{ rows, columns }] = maps;
    let here = [0, 0];
    const mark = (i, j) => {
      here = [i, j];
      for (const svg of svgs) svg.querySelector(".cursor").setAttribute("d", `M${j} ${i}h1v1h-1z`);
      const values = maps.map(map => maps.length > 1 ? `${map.title} ${map.text(i, j)}` : map.text(i, j)).join(", ");
      readout.replaceChildren(`${rows[i]}  and  ${columns[j]}:  `, make("b", {}, values));
    };
    const leave = () => { for (const svg of svgs) svg.querySelector(".cursor").setAttribute("d", ""); readout.textContent = rest; };
    for (const svg of svgs) {
      svg.addEventListener("pointermove", event => {
        const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.querySelector(".cells").getScreenCTM().inverse());
        const [i, j] = [Math.floor(place.y), Math.floor(place.x)];
        if (i >= 0 && j >= 0 && i < rows.length && j < columns.length) mark(i, j); else leave();
      });
      svg.addEventListener("pointerleave", leave);
      svg.addEventListener("keydown", event => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step) return;
        event.preventDefault();
        mark(...here.map((at, k) => Math.min([rows, columns][k].length - 1, Math.max(0, at + step[k]))));
      });
    }
    readout.textContent = rest;
  };
  for (const figure of document.querySelectorAll("figure.map")) {
    const svg = figure.querySelector("svg");
    readable(figure, [svg], [open(figure.id)]);
    svg.addEventListener("click", () => figure.classList.toggle("large"));
  }

  // ------------------------------------------------------------------- heat maps to choose from, drawn when asked for
  const codes = text => text.match(/../g).map(code => code === "--" ? null : parseInt(code, 16) - data.levels);
  const colour = step => step === null ? "missing" : step < 0 ? `o${-step}` : `q${step}`;
  const draw = map => {  // paint what the data say into an empty map
    const { rows, columns, of, font } = map, levels = codes(map.levels), scale = codes(map.scale), paths = {}, words = [];
    const svg = document.getElementById(`frame-${data.names.indexOf(rows)}-${data.names.indexOf(columns)}`).content.firstElementChild.cloneNode(true);
    const [left, wide, tall] = svg.dataset.cells.split(" ").map(Number), lines = JSON.parse(svg.dataset.lines);
    const put = (kind, d) => { paths[kind] = (paths[kind] ?? "") + d; };
    const light = (i, j) => Math.abs(of(levels, i, j)) > data.dark ? " light" : "";
    rows.forEach((_, i) => columns.forEach((_, j) => {
      put(colour(of(levels, i, j)), `M${j} ${i}h1v1h-1z`);
      const word = map.texts && of(map.texts, i, j), x = left + (j + .5) * wide, y = 4 + (i + .5) * tall + font / 3;
      if (word) words.push(make("text", { x, y, class: `count${light(i, j)}`, style: `font-size:${font}px` }, word));
    }));
    for (const place of map.hatched ?? []) {
      const i = Math.floor(place / columns.length), j = place % columns.length;
      for (const [x, y, s] of lines) put(`unsure${light(i, j)}`, `M${j + x} ${i + y}l${s} -${s}`);
    }
    svg.querySelector(".cells").prepend(...Object.entries(paths).map(([kind, d]) => make("path", { class: kind, d })));
    svg.querySelector(".cells").after(...words);
    svg.querySelectorAll(".scale path").forEach((path, i) => path.setAttribute("class", colour(scale[i])));
    const x = svg.querySelector(".scale text").getAttribute("x");
    svg.querySelectorAll(".scale text").forEach(text => text.remove());
    svg.querySelector(".scale").append(...map.ticks.map(([y, word]) => make("text", { x, y, class: "tick" }, word)));
    return svg;
  };
  const linked = [];  // selects that are changed together
  for (const figure of document.querySelectorAll("[data-choice]")) {
    const { selectors, words, options, groups = [] } = data.choices[figure.id], form = figure.querySelector(".controls"), place = figure.querySelector(".maps");
    const heading = figure.querySelector("h3").firstChild.textContent.trim(), section = figure.closest("section");
    const drawn = i => figure.querySelector(`.static [data-map="${CSS.escape(`${figure.id}-${i}`)}"]`)?.cloneNode(true);
    const show = () => {
      let left = options;
      selects.forEach((control, k) => {
        const group = word => k ? "" : groups[options.findIndex(([choices]) => choices[0] === word)];
        control.fill(unique(left.map(([choices]) => choices[k])).map(word => [word, words[word], group(word)]));
        left = left.filter(([choices]) => String(choices[k]) === control.value);
      });
      const [, numbers, rest] = left[0], maps = numbers.map(i => open(`${figure.id}-${i}`)), svgs = maps.map((map, k) => drawn(numbers[k]) ?? draw(map));
      place.replaceChildren(...svgs.map((svg, i) => make("div", {}, ...(maps[i].title === heading ? [] : [make("p", { class: "part" }, maps[i].title)]), svg)));
      readable(figure, svgs, maps, rest);
    };
    const selects = selectors.map((name, k) => select(name, () => {
      show();
      const others = linked.filter(other => other.section === section && other.name === name && other.show !== show);
      if (figure.classList.contains("linked")) for (const other of others) if (other.control.take(selects[k].text)) other.show();
    }));
    if (figure.classList.contains("linked")) {
      linked.push(...selects.map((control, k) => ({ section, name: selectors[k], control, show })));
      place.addEventListener("click", () => figure.classList.toggle("large"));
    }
    form.append(...selects.map(control => control.element));
    place.hidden = !options.length;
    if (options.length) show();
    form.hidden = selects.every(control => control.element.hidden);
  }

  for (const figure of document.querySelectorAll("figure.switch")) {  // shows what is selected in the choices of its section
    const views = [...figure.querySelectorAll(".view")];
    const take = text => { for (const view of views) view.hidden = view.dataset.view !== text; };
    linked.push({ section: figure.closest("section"), name: figure.dataset.selector, control: { take } });
  }
  const target = () => {  // what the address points to; it may hold a bare percent sign
    try { return document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return null; }
  };

  // ---------------------------------------------------- read what is under the pointer of a figure, also by touching
  for (const figure of document.querySelectorAll("figure:not(.map, .choice)")) {
    const readout = figure.querySelector(".readout");
    if (!readout) continue;
    figure.addEventListener("pointerover", event => {
      const mark = event.target.closest("svg :has(> title)");
      readout.textContent = mark ? mark.querySelector(":scope > title").textContent : "";
    });
    figure.addEventListener("pointerleave", () => { readout.textContent = ""; });
  }
  const chapters = [...document.querySelectorAll("section[id]")], link = section => document.querySelector(`.contents a[href="#${CSS.escape(section.id)}"]`);
  const here = () => {  // the contents say where the reader is
    const at = chapters.findLast(section => section.getBoundingClientRect().top < innerHeight / 3);
    for (const section of chapters) link(section)?.[section === at ? "setAttribute" : "removeAttribute"]("aria-current", "true");
  };
  addEventListener("scroll", here, { passive: true });
  here();
  const unfold = () => {  // a link into something closed, or to what has it, opens it
    const asked = target(), folded = [asked?.closest("details:not([open])"), asked?.querySelector("details.closed:not([open])")].filter(Boolean);
    for (const part of folded) part.open = true;
    if (folded.length) asked.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
  addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details:not(#cite *)")) part.open = true; });
  follow();
  root.dataset.ready = "yes";
}
