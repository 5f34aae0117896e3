{
  // ------------------------------------ save a figure as SVG or PNG, a table as CSV, the whole result as JSON
  // A saved figure is as it is on the screen, with the colours of the light page, and needs no style sheet.
  const INHERITED = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap",
    "stroke-linejoin", "font-size", "font-weight", "text-anchor", "shape-rendering"];
  const INITIAL = { opacity: "1", "vector-effect": "none" };
  const FONT = "Helvetica, Arial, 'Noto Sans', 'DejaVu Sans', sans-serif", NS = document.querySelector("svg")?.namespaceURI;
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${document.documentElement.dataset.name}-${name.replace(/^section-/, "")}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  const light = act => {  // do something while the page has its light colours
    const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).filter(rule => /color-scheme: dark/.test(rule.conditionText ?? ""));
    const before = rules.map(rule => rule.media.mediaText);
    try {
      for (const rule of rules) rule.media.mediaText = "not all";
      return act();
    } finally { rules.forEach((rule, i) => { rule.media.mediaText = before[i]; }); }
  };
  const plain = (name, value) => {  // attributes that every program reads: no units, no rgba()
    const [, colour, alpha] = /^rgba\(([^)]*), ([\d.]+)\)$/.exec(value) ?? [];
    if (colour) return Number(alpha) ? { [name]: `rgb(${colour})`, [`${name}-opacity`]: alpha } : { [name]: "none" };
    return { [name]: value.replaceAll('"', "").replace(/(\d)px/g, "$1") };
  };
  const styled = (element, above = {}) => {  // a copy that has its style as attributes
    const copy = element.cloneNode(false), style = getComputedStyle(element), here = {};
    for (const name of INHERITED) Object.assign(here, plain(name, style.getPropertyValue(name)));
    for (const name of ["class", "style", "tabindex"]) copy.removeAttribute(name);
    for (const [name, value] of Object.entries(here)) if (above[name] !== value) copy.setAttribute(name, value);
    for (const [name, value] of Object.entries(INITIAL)) if (style.getPropertyValue(name) !== value) copy.setAttribute(name, style.getPropertyValue(name));
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) copy.append(child.cloneNode());
      else if (child.tagName === "title" || getComputedStyle(child).display !== "none") copy.append(child.tagName === "title" ? child.cloneNode(true) : styled(child, here));
    }
    return copy;
  };
  const put = (tag, attributes, ...children) => {
    const element = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const piece = svg => {  // a drawing with room for what sticks out of it
    const { x, y, width, height } = svg.viewBox.baseVal, box = svg.getBBox(), copy = styled(svg);
    const left = Math.min(x, box.x - 2), top = Math.min(y, box.y - 2);
    const wide = Math.ceil(Math.max(x + width, box.x + box.width + 2) - left), tall = Math.ceil(Math.max(y + height, box.y + box.height + 2) - top);
    for (const [name, value] of Object.entries({ viewBox: `${left} ${top} ${wide} ${tall}`, width: wide, height: tall })) copy.setAttribute(name, value);
    return { copy, wide, tall, label: svg.parentElement.querySelector(":scope > .part")?.textContent ?? "" };
  };
  const label = (text, x, y) => put("text", { x, y, fill: "#1c2530", "font-size": 11 }, text);
  const keys = figure => {  // the lines that a figure shows, from the legend
    const legend = figure.closest("section")?.querySelector(".legend") ?? document.querySelector("main > .legend");
    const chips = [...legend?.querySelectorAll(".chip") ?? []].filter(chip => chip.querySelector("input").checked);
    return chips.filter(chip => figure.querySelector(`svg.chart .m${chip.dataset.m}`));
  };
  const whole = figure => light(() => {
    const pieces = [...figure.querySelectorAll("svg[viewBox]")].filter(svg => svg.getClientRects().length).map(piece);
    const across = Math.min(pieces.length, figure.classList.contains("clouds") ? 5 : 2);
    const wide = Math.max(...pieces.map(one => one.wide)), head = pieces.some(one => one.label) ? 18 : 0;
    const tall = Math.max(...pieces.map(one => one.tall)) + head + 12, parts = [];
    pieces.forEach(({ copy, label: words }, i) => {
      const x = (i % across) * (wide + 16), y = Math.floor(i / across) * tall;
      copy.setAttribute("x", x);
      copy.setAttribute("y", y + head);
      parts.push(...(words ? [label(words, x, y + 12)] : []), copy);
    });
    const width = across * (wide + 16) - 16, columns = Math.max(1, Math.floor(width / 150)), lines = keys(figure);
    const below = Math.ceil(pieces.length / across) * tall;
    lines.forEach((chip, i) => {
      const x = (i % columns) * 150, y = below + Math.floor(i / columns) * 16, copy = styled(chip.querySelector("svg"));
      for (const [name, value] of Object.entries({ x, y, width: 20, height: 8 })) copy.setAttribute(name, value);
      parts.push(copy, label(chip.textContent.trim(), x + 26, y + 8));
    });
    const height = below + Math.ceil(lines.length / columns) * 16, title = figure.querySelector("h3")?.textContent.trim() ?? "";
    const svg = put("svg", { xmlns: NS, width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT }, put("title", {}, title), ...parts);
    const hatch = svg.querySelector('[fill*="#hatch"]') && document.getElementById("hatch");
    if (hatch) svg.prepend(put("defs", {}, styled(hatch)));
    return { text: new XMLSerializer().serializeToString(svg), width, height };
  });
  const picture = async figure => {
    const { text, width, height } = whole(figure), image = new Image(), canvas = document.createElement("canvas"), scale = 3;
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    Object.assign(canvas, { width: Math.ceil(scale * width), height: Math.ceil(scale * height) });
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise(resolve => canvas.toBlob(resolve, "image/png"));
  };

  const SIMPLE = /^[-−]?[\d.,\s]+(e[-−]?\d+)?$/;
  const words = cell => [...cell.childNodes].filter(node => node.tagName !== "SUP").map(node => node.textContent).join("").trim().replaceAll("−", "-");
  const raw = cell => {  // a number as it is, not as it is shown; nothing for nothing
    const text = words(cell), value = cell.dataset.v;
    return text === "–" ? "" : value && SIMPLE.test(text) ? value : text;
  };
  const csv = table => {
    const above = [...table.tHead.rows].slice(0, -1).flatMap(row => [...row.cells].flatMap(cell => Array(Number(cell.dataset.count)).fill(words(cell))));
    const choices = JSON.parse(table.closest(".table").parentElement.querySelector(`script.choices[data-of="${CSS.escape(table.id)}"]`)?.textContent ?? "[]");
    const names = [...[...table.tHead.rows].at(-1).cells].map((cell, i) => {
      const repeated = choices[i]?.filter(word => word && word !== above[i]) ?? [];
      return [above[i], ...repeated, words(cell)].filter(Boolean).join(": ");
    });
    const rows = [...table.tBodies[0].rows].map(row => [...row.cells]);
    const signed = names.map((_, i) => rows.some(cells => cells[i].querySelector("sup")));
    const spread = of => names.flatMap((_, i) => signed[i] ? [of(i), of(i, true)] : [of(i)]);
    const lines = [spread((i, sign) => sign ? `${names[i]} (sign)` : names[i])];
    for (const cells of rows) lines.push(spread((i, sign) => sign ? cells[i].querySelector("sup")?.textContent ?? "" : raw(cells[i])));
    const quoted = text => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    return lines.map(line => line.map(quoted).join(",") + "\r\n").join("");
  };
  const result = async () => {
    const bytes = Uint8Array.from(atob(document.getElementById("result").textContent.trim()), sign => sign.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  };

  const offer = (what, kinds) => {
    const line = document.createElement("p");
    line.className = "save";
    for (const [kind, act] of Object.entries(kinds)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `Save ${what} as ${kind}`);
      button.addEventListener("click", act);
      line.append(button);
    }
    return line;
  };
  for (const figure of document.querySelectorAll("figure")) {
    if (!figure.querySelector("svg")) continue;
    const name = figure.id || "figure", title = figure.querySelector("h3")?.textContent.trim() || figure.closest("section").querySelector("h2").textContent;
    figure.append(offer(`the figure “${title}”`, {
      SVG: () => save(new Blob([whole(figure).text], { type: "image/svg+xml" }), `${name}.svg`),
      PNG: async () => save(await picture(figure), `${name}.png`),
    }));
  }
  for (const table of document.querySelectorAll("table.sorted")) {
    const title = (table.caption.querySelector("div") ?? table.caption).firstChild?.textContent.trim() || table.closest("section").querySelector("h2").textContent;
    table.closest(".scroll").after(offer(`the table “${title}”`, {
      CSV: () => save(new Blob([csv(table)], { type: "text/csv" }), `${table.id}.csv`),
    }));
  }
  const place = document.getElementById("document");
  if (place) {
    place.append(offer("the whole result", { JSON: async () => save(new Blob([await result()], { type: "application/json" }), "result.json") }));
    place.hidden = false;
  }

  // ------------------------------------------------------------------------------ copy what to cite
  const copy = document.getElementById("copy"), source = document.getElementById("bibtex");
  const copied = async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {  // a page from a disk may not use the clipboard so
      source.closest("details").open = true;
      getSelection().selectAllChildren(source);
      document.execCommand("copy");
    }
    copy.querySelector("[role=status]").textContent = "Copied.";
  };
  copy.querySelector("button").addEventListener("click", copied);
  copy.hidden = false;
}
