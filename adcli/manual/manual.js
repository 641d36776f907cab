// The search of the manual: sections that have every word typed, those first whose heading has it.
"use strict";
const field = document.getElementById("search"), found = document.getElementById("found");
const stem = word => word.toLowerCase().replace(/(ies|y|ing|ed|es|s|e)$/, (end, _, at) => at > 3 ? "" : end);

function score(words, [page, title, , text]) {
  const head = (page + " " + title).toLowerCase(), body = text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const times = body.split(word).length - 1;
    if (!times && !head.includes(word)) return 0;
    sum += 20 * head.includes(word) + Math.min(times, 9);
  }
  return sum;
}

function excerpt(word, text) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return (at ? "… " : "") + text.slice(at, at + 160) + " …";
}

function search() {
  const words = field.value.trim().split(/\s+/).filter(Boolean).map(stem);
  const hits = words.length ? SECTIONS.map(section => [score(words, section), section]).filter(([n]) => n) : [];
  hits.sort((a, b) => b[0] - a[0]);
  found.hidden = !words.length;
  found.replaceChildren(...hits.slice(0, 15).map(([, [page, title, anchor, text]]) => {
    const item = document.createElement("li"), link = document.createElement("a"), small = document.createElement("small");
    link.href = page + ".html" + (anchor ? "#" + anchor : "");
    link.textContent = page.startsWith("verb-") ? title : page + ": " + title;
    small.textContent = excerpt(words[0], text);
    item.append(link, small);
    return item;
  }));
  if (words.length && !hits.length) found.append(Object.assign(document.createElement("li"), {textContent: "Nothing has these words."}));
}

field.addEventListener("input", search);
document.addEventListener("keydown", event => {
  if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
  if (event.key === "Escape" && document.activeElement === field) { field.value = ""; search(); }
});
