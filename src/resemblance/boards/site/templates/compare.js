"use strict";
{
  // Differences, intervals and counts of all pairs were computed before: here one pair is shown.
  const form = document.getElementById("pair"), data = JSON.parse(document.getElementById("pairs").textContent);
  const by = id => document.getElementById(id), n = data.labels.length;
  const make = (tag, text = "", attributes = {}) => {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const signed = (value, places) => value.toFixed(places).replace("-", "−");
  const pair = (i, j) => {  // stored once, for the better of the two as the first
    if (i > j) {
      const [behind, low, high, won, tied, lost] = pair(j, i);
      return [-behind, high === null ? null : -high, low === null ? null : -low, lost, tied, won];
    }
    return data.pairs[i * (2 * n - i - 1) / 2 + j - i - 1];
  };
  const sentence = (i, j) => {
    const [behind, low, high] = pair(i, j), [one, other] = [data.labels[i], data.labels[j]];
    if (low === null) return `${one} and ${other} have too few cells in common to say which is ahead.`;
    const all = "95 %, for all pairs at once", ends = (x, y) => `${signed(x, 1)} to ${signed(y, 1)}`;
    if (low <= 0 && high >= 0) return `${one} and ${other} cannot be told apart: the mean rank of ${other} minus that of ${one} is ${signed(behind, 2)} (${all}: ${ends(low, high)}).`;
    return `${behind > 0 ? one : other} is ahead, with a mean rank that is better by ${Math.abs(behind).toFixed(2)} (${all}: ${behind > 0 ? ends(low, high) : ends(-high, -low)}).`;
  };
  const row = (cell, k, i, j) => {
    const line = make("tr"), [suite, test, name] = cell, [a, b] = [data.ranks[k][i], data.ranks[k][j]];
    const score = of => data.scores[k][of] === null ? "–" : signed(data.scores[k][of], 3);
    const track = make("td", "", { class: "track", "data-v": a - b }), box = make("div");
    box.append(make("i", "", { class: "dot", style: `left:${50 + 50 * (a - b) / Math.max(n - 1, 1)}%` }));
    track.append(box);
    const heading = make("th", "", { scope: "row" });  // a long name goes on in the next line after a slash
    heading.append(...name.split("/").flatMap((part, i) => i ? ["/", make("wbr", ""), part] : [part]));
    line.append(heading, make("td", test, { class: "wide" }), make("td", suite, { class: "wide" }),
      make("td", String(a), { class: "n", "data-v": a }), make("td", String(b), { class: "n", "data-v": b }), track,
      make("td", score(i), { class: "n wide", "data-v": data.scores[k][i] ?? "" }), make("td", score(j), { class: "n wide", "data-v": data.scores[k][j] ?? "" }));
    return line;
  };
  const show = () => {
    const [i, j] = [form.a.selectedIndex, form.b.selectedIndex];
    by("shown").hidden = i === j;
    if (i === j) return;
    for (const [link, at] of [[by("first"), i], [by("second"), j]]) {
      link.textContent = data.labels[at];
      link.href = `measure/${data.slugs[at]}.html`;
    }
    for (const part of document.querySelectorAll(".one")) part.textContent = data.labels[i];
    for (const part of document.querySelectorAll(".other")) part.textContent = data.labels[j];
    by("sentence").textContent = sentence(i, j);
    const counts = pair(i, j).slice(3);
    ["won", "tied", "lost"].forEach((id, at) => { by(id).textContent = counts[at]; });
    for (const heading of document.querySelectorAll("#cells [aria-sort]")) heading.removeAttribute("aria-sort");
    document.querySelector("#cells tbody").replaceChildren(...data.cells.map((cell, k) => row(cell, k, i, j)));
  };
  const read = () => {  // compare.html?a=cka&b=procrustes, or the same after a #
    const asked = new URLSearchParams(location.hash.slice(1) || location.search);
    for (const name of ["a", "b"]) if (data.slugs.includes(asked.get(name))) form[name].value = asked.get(name);
    show();
  };
  if (form) {
    form.b.selectedIndex = 1;
    form.addEventListener("change", () => {
      history.replaceState(null, "", `#${new URLSearchParams({ a: form.a.value, b: form.b.value })}`);
      show();
    });
    addEventListener("hashchange", read);
    form.hidden = false;
    read();
  }
}
