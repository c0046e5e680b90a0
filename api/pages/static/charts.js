/* Tooltips of figures: describes the dot under the pointer, or the one reached with the arrow keys. A figure's numbers
   are fetched on first use. Without this script the figures are the same, without tooltips. */
"use strict";

const REACH = 18; /* pixels */
const HIDDEN = new Set(["entry", "penalised"]);

/** A number as people read it. */
function inWords(value) {
  if (typeof value !== "number") return value === null ? "none" : String(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toLocaleString("en", { maximumSignificantDigits: 6 });
}

class Figure {
  constructor(svg) {
    this.svg = svg;
    this.dots = [...svg.querySelectorAll("circle[data-row]")];
    this.order = null;
    this.near = null;
    this.words = document.createElement("div");
    this.words.className = "point";
    this.words.setAttribute("role", "status");
    this.words.hidden = true;
    svg.after(this.words);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", (event) => this.point(event));
    svg.addEventListener("pointerleave", () => this.show(null));
    svg.addEventListener("blur", () => this.show(null));
    svg.addEventListener("keydown", (event) => this.step(event));
  }

  data() {
    this.loading ??= fetch(this.svg.dataset.source).then((answer) => (answer.ok ? answer.json() : Promise.reject(answer)));
    return this.loading;
  }

  places() {
    const width = this.svg.getBoundingClientRect().width;
    return this.dots.map((dot) => [(parseFloat(dot.getAttribute("cx")) * width) / 100, parseFloat(dot.getAttribute("cy"))]);
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let found = null;
    let least = REACH;
    this.places().forEach(([left, down], index) => {
      const far = Math.hypot(left - x, down - y);
      if (far < least) [found, least] = [index, far];
    });
    this.show(found);
  }

  step(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") this.show(null);
    if (!by) return;
    event.preventDefault();
    const places = this.places();
    this.order ??= this.dots.map((_, index) => index).sort((a, b) => places[a][0] - places[b][0]);
    const now = this.near === null ? Math.min(0, -by) : this.order.indexOf(this.near);
    this.show(this.order[(now + by + this.order.length) % this.order.length]);
  }

  show(index) {
    if (index === this.near) return;
    if (this.near !== null) this.dots[this.near].classList.remove("near");
    this.near = index;
    this.words.hidden = true;
    if (index === null) return;
    this.dots[index].classList.add("near");
    this.data().then((data) => {
      if (this.near === index) this.tell(data, index);
    });
  }

  tell(data, index) {
    const row = data.rows[Number(this.dots[index].dataset.row)];
    const of = Object.fromEntries(data.columns.map((name, place) => [name, row[place]]));
    const title = document.createElement("b");
    title.textContent = of.team ?? "An entry";
    const lines = Object.entries(of).filter(([name]) => name !== "team" && !HIDDEN.has(name));
    if (of.penalised) lines.push(["penalised", "yes"]);
    this.words.replaceChildren(
      title,
      ...lines.map(([name, value]) => {
        const line = document.createElement("div");
        line.textContent = `${name.replaceAll("_", " ").replace("fid", "FID")}: ${name === "label" ? value ?? "unlabelled" : inWords(value)}`;
        return line;
      }),
    );
    this.words.hidden = false;
    const [x, y] = this.places()[index];
    const width = this.svg.getBoundingClientRect().width;
    const left = x > width / 2 ? x - this.words.offsetWidth - 10 : x + 10;
    this.words.style.left = `${Math.max(0, Math.min(left, width - this.words.offsetWidth))}px`;
    this.words.style.top = `${Math.max(0, y - this.words.offsetHeight - 8)}px`;
  }
}

for (const svg of document.querySelectorAll("svg[data-source]")) new Figure(svg);
