"use strict";
const tip = document.getElementById("tip");
const points = document.querySelectorAll(".point");

function mark(config, on) {
  for (const point of points) {
    if (point.dataset.config === config) point.classList.toggle("on", on);
  }
}

function show(point) {
  tip.replaceChildren(...JSON.parse(point.dataset.lines).map((line) => {
    const row = document.createElement("div");
    row.textContent = line;
    return row;
  }));
  tip.hidden = false;
  const box = point.lastElementChild.getBoundingClientRect();
  const left = Math.min(box.right + 10, innerWidth - tip.offsetWidth - 8);
  const top = Math.min(box.bottom + 10, innerHeight - tip.offsetHeight - 8);
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, top)}px`;
  mark(point.dataset.config, true);
}

function hide(point) {
  tip.hidden = true;
  mark(point.dataset.config, false);
}

for (const point of points) {
  point.addEventListener("pointerenter", () => show(point));
  point.addEventListener("pointerleave", () => hide(point));
  point.addEventListener("focus", () => show(point));
  point.addEventListener("blur", () => hide(point));
}
addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
