/* The live preview of tau while the slider moves. The server computes the impact (GET thresholds/impact). The numbers
   always belong to the tau in their heading, and are grey while new ones are loading. Without this script, the page
   reloads instead. */
"use strict";

const REQUEST_MS = 100; /* between the starts of two requests */
const ANNOUNCE_MS = 500; /* until a screen reader announces a change */

const formatCount = (number) => number.toLocaleString("en-US");
const formatDistance = (distance) => distance.toFixed(4);

function textsOf(impact) {
  const { counts, reviews } = impact;
  const { confusion, interval } = impact.choice;
  return {
    tau: formatDistance(impact.tau),
    penalised: formatCount(counts.below),
    newly: `+${formatCount(counts.penalised)}`,
    freed: `−${formatCount(counts.freed)}`,
    caught: confusion && formatCount(confusion.true_positives),
    wronged: confusion && formatCount(confusion.false_positives),
    moves: formatCount(counts.moves),
    medals: formatCount(counts.medals),
    prizes: formatCount(counts.prizes),
    open: formatCount(reviews.open),
    looked: formatCount(reviews.looked),
    borderline: formatCount(counts.borderline),
    low: formatDistance(interval.low),
    high: formatDistance(interval.high ?? 2), /* no tau is above 2 */
  };
}

function announcementOf(texts) {
  const known = texts.caught ? `, ${texts.caught} memorisers penalised, ${texts.wronged} wrongly penalised` : "";
  return `tau ${texts.tau}: ${texts.penalised} penalised${known}, ${texts.medals} medals change`;
}

function itemOf(row, nothing) {
  const item = document.createElement("li");
  const name = document.createElement("bdi");
  name.textContent = row.team;
  const more = document.createElement("span");
  more.className = "muted";
  if (row.submission_id) {
    const link = document.createElement("a");
    link.href = `/submissions/${encodeURIComponent(row.submission_id)}/review`;
    link.append(name);
    item.append(link, " ", more);
    more.textContent = formatDistance(row.memorization_distance) + (row.label ? ` · ${row.label}` : "");
  } else {
    item.append(name, " ", more);
    more.textContent = `${row.before ?? nothing} → ${row.after ?? nothing}`;
  }
  return item;
}

function fillList(box, rows, count) {
  box.hidden = count === 0;
  box.querySelector("[data-count]").textContent = formatCount(count);
  box.querySelector("ul").replaceChildren(...rows.map((row) => itemOf(row, box.dataset.none)));
  const more = box.querySelector("[data-more]");
  more.hidden = count <= rows.length;
  more.textContent = `and ${formatCount(count - rows.length)} more`;
}

function draw(root, tau) {
  const slider = root.querySelector("#slider");
  const x = Math.min(100, 100 * tau / Number(slider.max));
  const text = root.querySelector("text.tau");
  for (const name of ["x1", "x2"]) root.querySelector("line.tau").setAttribute(name, `${x}%`);
  root.querySelector("rect.below").setAttribute("width", `${x}%`);
  text.setAttribute("x", `${x}%`);
  text.setAttribute("dx", x < 60 ? 6 : -6);
  text.setAttribute("text-anchor", x < 60 ? "start" : "end");
  text.textContent = `tau ${formatDistance(tau)}`;
}

class ThresholdPreview {
  constructor(root) {
    this.root = root;
    this.form = document.getElementById("apply-form"); /* null while the final board is published */
    this.slider = root.querySelector("#slider");
    this.number = root.querySelector("#tau");
    this.result = root.querySelector("[data-result]");
    this.failure = root.querySelector("[data-failure]");
    this.wanted = null; /* the tau to ask for next */
    this.asking = false;
    this.timer = null;
    this.slider.setAttribute("aria-valuetext", `tau ${formatDistance(Number(this.number.value))}`);
    this.listen();
  }

  listen() {
    this.slider.addEventListener("input", () => this.choose(this.slider.value, "manual"));
    this.number.addEventListener("input", () => {
      if (this.number.value !== "" && this.number.checkValidity()) this.choose(this.number.value, "manual");
    });
    this.number.form.addEventListener("submit", (event) => event.preventDefault());
    for (const link of document.querySelectorAll("[data-choose]")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        this.choose(link.dataset.choose, link.dataset.method);
      });
    }
  }

  /** Preview a tau; text is the input as typed. */
  choose(text, method) {
    const tau = Number(text);
    if (this.form !== null) this.fillForm(text, method);
    if (this.number.value !== text) this.number.value = text;
    this.slider.value = text;
    for (const link of document.querySelectorAll(".options [data-choose]")) {
      link.closest("li").classList.toggle("chosen", link.dataset.method === method);
    }
    draw(this.root, tau);
    this.slider.setAttribute("aria-valuetext", `tau ${formatDistance(tau)}`);
    this.result.setAttribute("aria-busy", "true");
    this.wanted = text;
    if (!this.asking) this.ask();
  }

  fillForm(text, method) {
    const { elements } = this.form;
    elements.tau.value = text;
    elements.method.value = method;
    this.form.querySelector("[data-chosen]").textContent = formatDistance(Number(text));
  }

  /** Request the wanted tau, then the next one that is wanted by then: one request at a time. */
  async ask() {
    this.asking = true;
    while (this.wanted !== null) {
      const asked = this.wanted;
      this.wanted = null;
      const pause = new Promise((resolve) => { setTimeout(resolve, REQUEST_MS); });
      const impact = await this.fetchImpact(asked);
      if (this.wanted === null && impact !== null) this.show(impact);
      await pause;
    }
    this.asking = false;
  }

  /** Null after an error, which the page then shows. */
  async fetchImpact(tau) {
    const { impact, previous, shown } = this.root.dataset;
    const query = new URLSearchParams({ tau, previous, limit: shown });
    let problem = "";
    try {
      const response = await fetch(`${impact}?${query}`, { headers: { Accept: "application/json" } });
      const answer = await response.json();
      if (response.ok) return answer;
      problem = answer.detail ?? response.statusText;
    } catch {
      problem = "The server is not responding.";
    } finally {
      this.failure.hidden = problem === "";
      this.failure.querySelector("span").textContent = problem;
    }
    return null;
  }

  show(impact) {
    const texts = textsOf(impact);
    for (const element of document.querySelectorAll("[data-tau]")) {
      const text = texts[element.dataset.tau];
      if (text && element.textContent !== text) element.textContent = text;
    }
    for (const box of this.root.querySelectorAll("[data-list]")) {
      fillList(box, impact[box.dataset.list], impact.counts[box.dataset.list]);
    }
    this.result.removeAttribute("aria-busy");
    this.announce(announcementOf(texts));
  }

  announce(words) {
    this.slider.setAttribute("aria-valuetext", words);
    clearTimeout(this.timer);
    if (document.activeElement === this.slider) return; /* the slider announces its own value */
    this.timer = setTimeout(() => { this.root.querySelector("[data-tau=announcement]").textContent = words; }, ANNOUNCE_MS);
  }
}

for (const root of document.querySelectorAll("[data-impact]")) {
  new ThresholdPreview(root);
  root.classList.add("live-preview");
}
