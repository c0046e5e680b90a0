/* Tooltips of figures for the dot under the pointer or selected with the arrow keys. A figure's numbers are fetched on
   first use. Without this script, the figures have no tooltips. */
"use strict";

const MAX_DISTANCE = 18; /* pixels */
const HIDDEN_COLUMNS = new Set(["entry", "penalised"]);

function formatValue(value) {
  if (typeof value !== "number") return value === null ? "none" : String(value);
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toLocaleString("en", { maximumSignificantDigits: 6 });
}

class FigureTooltip {
  constructor(svg) {
    this.svg = svg;
    this.dots = [...svg.querySelectorAll("circle[data-row]")];
    this.order = null;
    this.index = null;
    this.tooltip = document.createElement("div");
    this.tooltip.className = "tooltip";
    this.tooltip.setAttribute("role", "status");
    this.tooltip.hidden = true;
    svg.after(this.tooltip);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("pointermove", (event) => this.showNearest(event));
    svg.addEventListener("pointerleave", () => this.show(null));
    svg.addEventListener("blur", () => this.show(null));
    svg.addEventListener("keydown", (event) => this.move(event));
  }

  loadData() {
    this.loading ??= fetch(this.svg.dataset.source).then((response) => (response.ok ? response.json() : Promise.reject(response)));
    return this.loading;
  }

  positions() {
    const width = this.svg.getBoundingClientRect().width;
    return this.dots.map((dot) => [(parseFloat(dot.getAttribute("cx")) * width) / 100, parseFloat(dot.getAttribute("cy"))]);
  }

  showNearest(event) {
    const box = this.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let nearest = null;
    let smallest = MAX_DISTANCE;
    this.positions().forEach(([left, down], index) => {
      const distance = Math.hypot(left - x, down - y);
      if (distance < smallest) [nearest, smallest] = [index, distance];
    });
    this.show(nearest);
  }

  move(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") this.show(null);
    if (!by) return;
    event.preventDefault();
    const positions = this.positions();
    this.order ??= this.dots.map((_, index) => index).sort((a, b) => positions[a][0] - positions[b][0]);
    const now = this.index === null ? Math.min(0, -by) : this.order.indexOf(this.index);
    this.show(this.order[(now + by + this.order.length) % this.order.length]);
  }

  show(index) {
    if (index === this.index) return;
    if (this.index !== null) this.dots[this.index].classList.remove("near");
    this.index = index;
    this.tooltip.hidden = true;
    if (index === null) return;
    this.dots[index].classList.add("near");
    this.loadData().then((data) => {
      if (this.index === index) this.describe(data, index);
    });
  }

  describe(data, index) {
    const row = data.rows[Number(this.dots[index].dataset.row)];
    const values = Object.fromEntries(data.columns.map((name, column) => [name, row[column]]));
    const title = document.createElement("b");
    title.textContent = values.team ?? "An entry";
    const lines = Object.entries(values).filter(([name]) => name !== "team" && !HIDDEN_COLUMNS.has(name));
    if (values.penalised) lines.push(["penalised", "yes"]);
    this.tooltip.replaceChildren(
      title,
      ...lines.map(([name, value]) => {
        const line = document.createElement("div");
        line.textContent = `${name.replaceAll("_", " ").replace("fid", "FID")}: ${name === "label" ? value ?? "unlabelled" : formatValue(value)}`;
        return line;
      }),
    );
    this.tooltip.hidden = false;
    const [x, y] = this.positions()[index];
    const width = this.svg.getBoundingClientRect().width;
    const left = x > width / 2 ? x - this.tooltip.offsetWidth - 10 : x + 10;
    this.tooltip.style.left = `${Math.max(0, Math.min(left, width - this.tooltip.offsetWidth))}px`;
    this.tooltip.style.top = `${Math.max(0, y - this.tooltip.offsetHeight - 8)}px`;
  }
}

for (const svg of document.querySelectorAll("svg[data-source]")) new FigureTooltip(svg);
