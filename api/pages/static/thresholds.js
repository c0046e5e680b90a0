/* The live preview of tau while the slider moves. The page holds every entry with its score when penalised and when
   not, so no request is needed: impactOf(table, tau) returns what a tau does, in the shape of the API's preview. Without
   this script the page does the same with a reload. */
"use strict";

const BORDERLINE_ERRORS = 2; /* standard errors */
const ANNOUNCE_MS = 500; /* until a screen reader announces a change */

function isPenalised(entry, tau) {
  return tau !== null && !entry.exempt && entry.distance < tau;
}

/** The board from rank 1 down: each team by its best entry. Entries come in the order in which equal scores rank. */
function boardOf(table, tau) {
  const best = new Map();
  table.entries.forEach((entry, order) => {
    if (tau === null && !entry.exempt) return;
    const score = isPenalised(entry, tau) ? entry.penalised : entry.free;
    if (score === null) return;
    const other = best.get(entry.team);
    if (!other || score < other.score) best.set(entry.team, { entry, score, order });
  });
  return [...best.values()].sort((one, two) => one.score - two.score || one.order - two.order);
}

function ranksOf(board) {
  return new Map(board.map((each, index) => [each.entry.team, index + 1]));
}

function medalOf(rank, medals) {
  if (rank === null) return null;
  return ["gold", "silver", "bronze"].find((name) => rank <= medals[name]) ?? null;
}

function movesOf(before, after) {
  const place = (ranks, team) => ranks.get(team) ?? null;
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((team) => ({ team, before: place(before, team), after: place(after, team) }))
    .filter((move) => move.before !== move.after)
    .sort((one, two) => (one.after ?? Infinity) - (two.after ?? Infinity) || one.before - two.before);
}

function reviewsOf(board, places) {
  const reviews = { places: 0, looked: 0, open: 0 };
  for (const { entry } of board) {
    if (reviews.places === places) break;
    reviews.looked += 1;
    if (entry.label === null) reviews.open += 1;
    if (entry.memorising !== true) reviews.places += 1;
  }
  return reviews;
}

function confusionOf(table, tau) {
  const confusion = { true_positives: 0, false_negatives: 0, false_positives: 0, true_negatives: 0 };
  let labelled = false;
  for (const entry of table.entries) {
    if (entry.memorising === null) continue;
    labelled = true;
    const below = entry.distance < tau;
    if (entry.memorising) confusion[below ? "true_positives" : "false_negatives"] += 1;
    else confusion[below ? "false_positives" : "true_negatives"] += 1;
  }
  return labelled ? confusion : null;
}

function intervalOf(table, tau) {
  let low = 0;
  let high = null;
  for (const { distance } of table.entries) {
    if (distance < tau) low = Math.max(low, distance);
    else if (high === null || distance < high) high = distance;
  }
  return { low, high };
}

function changesOf(entries) {
  return entries
    .sort((one, two) => one.distance - two.distance || (one.id < two.id ? -1 : 1))
    .map((entry) => ({
      submission_id: entry.id, team: entry.team, memorization_distance: entry.distance, label: entry.label,
    }));
}

/** The impact of tau, compared with the tau in force. */
function impactOf(table, tau) {
  const places = Math.max(0, ...Object.values(table.medals));
  const before = boardOf(table, table.tau);
  const after = boardOf(table, tau);
  const moves = movesOf(ranksOf(before), ranksOf(after));
  const was = (entry) => isPenalised(entry, table.tau);
  const is = (entry) => isPenalised(entry, tau);
  return {
    tau,
    total: table.entries.filter(is).length,
    penalised: changesOf(table.entries.filter((entry) => is(entry) && !was(entry))),
    freed: changesOf(table.entries.filter((entry) => was(entry) && !is(entry))),
    borderline: changesOf(
      table.entries.filter((entry) => entry.se !== null && Math.abs(entry.distance - tau) <= BORDERLINE_ERRORS * entry.se),
    ),
    moves,
    medals: moves
      .map((move) => ({
        team: move.team, before: medalOf(move.before, table.medals), after: medalOf(move.after, table.medals),
      }))
      .filter((move) => move.before !== move.after),
    reviews: reviewsOf(after, places),
    reviews_before: reviewsOf(before, places),
    confusion: confusionOf(table, tau),
    interval: intervalOf(table, tau),
  };
}

const formatCount = (number) => number.toLocaleString("en-US");
const formatDistance = (distance) => distance.toFixed(4);

function textsOf(impact) {
  const { confusion, interval, reviews } = impact;
  return {
    tau: formatDistance(impact.tau),
    penalised: formatCount(impact.total),
    newly: `+${formatCount(impact.penalised.length)}`,
    freed: `−${formatCount(impact.freed.length)}`,
    caught: confusion && formatCount(confusion.true_positives),
    wronged: confusion && formatCount(confusion.false_positives),
    moves: formatCount(impact.moves.length),
    medals: formatCount(impact.medals.length),
    open: formatCount(reviews.open),
    looked: formatCount(reviews.looked),
    borderline: formatCount(impact.borderline.length),
    low: formatDistance(interval.low),
    high: interval.high === null ? "any distance" : formatDistance(interval.high),
  };
}

function announcementOf(impact, texts) {
  const known = impact.confusion
    ? `, ${texts.caught} memorisers caught, ${texts.wronged} legitimate wronged` : "";
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
    link.href = `/submissions/${encodeURIComponent(row.submission_id)}`;
    link.append(name);
    item.append(link, " ", more);
    more.textContent = formatDistance(row.memorization_distance) + (row.label ? ` · ${row.label}` : "");
  } else {
    item.append(name, " ", more);
    more.textContent = `${row.before ?? nothing} → ${row.after ?? nothing}`;
  }
  return item;
}

function fillList(box, rows, shown) {
  box.hidden = rows.length === 0;
  box.querySelector("[data-count]").textContent = formatCount(rows.length);
  const nothing = box.dataset.list === "medals" ? "none" : "unranked";
  const items = box.open ? rows.slice(0, shown).map((row) => itemOf(row, nothing)) : [];
  box.querySelector("ul").replaceChildren(...items);
  const more = box.querySelector("[data-more]");
  more.hidden = rows.length <= shown;
  more.textContent = `and ${formatCount(rows.length - shown)} more`;
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
  constructor(root, table) {
    this.root = root;
    this.table = table;
    this.form = document.getElementById("apply-form");
    this.slider = root.querySelector("#slider");
    this.number = root.querySelector("#tau");
    this.lists = [...root.querySelectorAll("[data-list]")];
    this.impact = impactOf(table, Number(this.number.value));
    this.timer = null;
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
    for (const box of this.lists) box.addEventListener("toggle", () => this.fill(box));
  }

  fill(box) {
    fillList(box, this.impact[box.dataset.list], Number(this.root.dataset.shown));
  }

  /** Preview a tau, given as the text that was typed. */
  choose(text, method) {
    const tau = Number(text);
    const { elements } = this.form;
    elements.tau.value = text;
    elements.method.value = method;
    if (this.number.value !== text) this.number.value = text;
    this.slider.value = text;
    this.impact = impactOf(this.table, tau);
    this.show(tau);
    for (const link of document.querySelectorAll(".options [data-choose]")) {
      link.closest("li").classList.toggle("chosen", link.dataset.method === method);
    }
  }

  show(tau) {
    const texts = textsOf(this.impact);
    for (const element of document.querySelectorAll("[data-tau]")) {
      const text = texts[element.dataset.tau];
      if (text && element.textContent !== text) element.textContent = text;
    }
    const words = announcementOf(this.impact, texts);
    this.slider.setAttribute("aria-valuetext", words);
    for (const box of this.lists) this.fill(box);
    draw(this.root, tau);
    clearTimeout(this.timer);
    if (document.activeElement === this.slider) return; /* the slider announces its own value */
    this.timer = setTimeout(() => { this.root.querySelector("[data-tau=announcement]").textContent = words; }, ANNOUNCE_MS);
  }
}

async function start(root) {
  const response = await fetch(root.dataset.table, { headers: { Accept: "application/json" } });
  if (!response.ok) return; /* without data the page works by reloads */
  const preview = new ThresholdPreview(root, await response.json());
  preview.slider.setAttribute("aria-valuetext", announcementOf(preview.impact, textsOf(preview.impact)));
  root.classList.add("live-preview");
  window.thresholdPreview = preview;
}

for (const root of document.querySelectorAll("[data-table]")) start(root);
