"use strict";
// Shows what has the searched words in it, and the way there. The page works without this, but for the search.
const input = document.querySelector("input");
const found = document.querySelector("output");
const items = [...document.querySelectorAll("[data-words]")];
const wasOpen = new Map([...document.querySelectorAll("details")].map(one => [one, one.open]));

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = items.filter(item => {
    const text = item.dataset.words.toLowerCase();
    return words.every(word => text.includes(word));
  });
  const shown = new Set(hits);
  for (const hit of hits)
    for (let one = hit.parentElement; one && !shown.has(one); one = one.parentElement) shown.add(one);
  for (const item of items) item.hidden = words.length > 0 && !shown.has(item);
  for (const [details, open] of wasOpen) details.open = words.length > 0 ? shown.has(details) : open;
  found.textContent = words.length > 0 ? `${hits.length} found` : "";
}

function all(open) {
  for (const details of wasOpen.keys()) { details.open = open; wasOpen.set(details, open); }
}

input.addEventListener("input", search);
document.querySelector("#open").addEventListener("click", () => all(true));
document.querySelector("#close").addEventListener("click", () => all(false));
addEventListener("keydown", event => {
  if (event.key === "/" && document.activeElement !== input) { event.preventDefault(); input.focus(); }
});
function fromAddress() {
  try { input.value = decodeURIComponent(location.hash.slice(1)); } catch { input.value = ""; }
  search();
}
addEventListener("hashchange", fromAddress);
fromAddress();
