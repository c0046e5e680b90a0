/* The live preview of tau while the slider moves. The page holds every entry with its score when penalised and when
   not, so no request is needed: effectOf(table, tau) returns what a tau does, in the shape of the API's preview. Without
   this script the page does the same with a reload. */
"use strict";

const INTERVALS = 2; /* standard errors */
const PAUSE = 500; /* milliseconds until a change is read aloud */

function isPenalised(line, tau) {
  return tau !== null && !line.exempt && line.distance < tau;
}

/** The board from rank 1 down: each team by its best entry. Entries come in the order in which equal scores rank. */
function boardOf(table, tau) {
  const best = new Map();
  table.entries.forEach((line, order) => {
    if (tau === null && !line.exempt) return;
    const score = isPenalised(line, tau) ? line.penalised : line.free;
    if (score === null) return;
    const other = best.get(line.team);
    if (!other || score < other.score) best.set(line.team, { line, score, order });
  });
  return [...best.values()].sort((one, two) => one.score - two.score || one.order - two.order);
}

function ranksOf(board) {
  return new Map(board.map((each, index) => [each.line.team, index + 1]));
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
  const found = { places: 0, looked: 0, open: 0 };
  for (const { line } of board) {
    if (found.places === places) break;
    found.looked += 1;
    if (line.label === null) found.open += 1;
    if (line.memorising !== true) found.places += 1;
  }
  return found;
}

function confusionOf(table, tau) {
  const found = { true_positives: 0, false_negatives: 0, false_positives: 0, true_negatives: 0 };
  let labelled = false;
  for (const line of table.entries) {
    if (line.memorising === null) continue;
    labelled = true;
    const below = line.distance < tau;
    if (line.memorising) found[below ? "true_positives" : "false_negatives"] += 1;
    else found[below ? "false_positives" : "true_negatives"] += 1;
  }
  return labelled ? found : null;
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

function changesOf(lines) {
  return lines
    .sort((one, two) => one.distance - two.distance || (one.id < two.id ? -1 : 1))
    .map((line) => ({
      submission_id: line.id, team: line.team, memorization_distance: line.distance, label: line.label,
    }));
}

/** The effect of tau, compared with the tau in force. */
function effectOf(table, tau) {
  const places = Math.max(0, ...Object.values(table.medals));
  const before = boardOf(table, table.tau);
  const after = boardOf(table, tau);
  const moves = movesOf(ranksOf(before), ranksOf(after));
  const was = (line) => isPenalised(line, table.tau);
  const is = (line) => isPenalised(line, tau);
  return {
    tau,
    total: table.entries.filter(is).length,
    penalised: changesOf(table.entries.filter((line) => is(line) && !was(line))),
    freed: changesOf(table.entries.filter((line) => was(line) && !is(line))),
    borderline: changesOf(
      table.entries.filter((line) => line.se !== null && Math.abs(line.distance - tau) <= INTERVALS * line.se),
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

const counted = (number) => number.toLocaleString("en-US");
const shortly = (distance) => distance.toFixed(4);

function textsOf(effect) {
  const { confusion, interval, reviews } = effect;
  return {
    tau: shortly(effect.tau),
    penalised: counted(effect.total),
    newly: `+${counted(effect.penalised.length)}`,
    freed: `−${counted(effect.freed.length)}`,
    caught: confusion && counted(confusion.true_positives),
    wronged: confusion && counted(confusion.false_positives),
    moves: counted(effect.moves.length),
    medals: counted(effect.medals.length),
    open: counted(reviews.open),
    looked: counted(reviews.looked),
    borderline: counted(effect.borderline.length),
    low: shortly(interval.low),
    high: interval.high === null ? "any distance" : shortly(interval.high),
  };
}

function spoken(effect, texts) {
  const known = effect.confusion
    ? `, ${texts.caught} memorisers caught, ${texts.wronged} legitimate wronged` : "";
  return `tau ${texts.tau}: ${texts.penalised} penalised${known}, ${texts.medals} medals change`;
}

function itemOf(row, nothing) {
  const item = document.createElement("li");
  const name = document.createElement("bdi");
  name.textContent = row.team;
  const more = document.createElement("span");
  more.className = "quiet";
  if (row.submission_id) {
    const link = document.createElement("a");
    link.href = `/submissions/${encodeURIComponent(row.submission_id)}`;
    link.append(name);
    item.append(link, " ", more);
    more.textContent = shortly(row.memorization_distance) + (row.label ? ` · ${row.label}` : "");
  } else {
    item.append(name, " ", more);
    more.textContent = `${row.before ?? nothing} → ${row.after ?? nothing}`;
  }
  return item;
}

function list(box, rows, shown) {
  box.hidden = rows.length === 0;
  box.querySelector("[data-count]").textContent = counted(rows.length);
  const nothing = box.dataset.list === "medals" ? "none" : "unranked";
  const items = box.open ? rows.slice(0, shown).map((row) => itemOf(row, nothing)) : [];
  box.querySelector("ul").replaceChildren(...items);
  const more = box.querySelector("[data-more]");
  more.hidden = rows.length <= shown;
  more.textContent = `and ${counted(rows.length - shown)} more`;
}

function draw(desk, tau) {
  const slider = desk.querySelector("#slider");
  const x = Math.min(100, 100 * tau / Number(slider.max));
  const text = desk.querySelector("text.tau");
  for (const name of ["x1", "x2"]) desk.querySelector("line.tau").setAttribute(name, `${x}%`);
  desk.querySelector("rect.below").setAttribute("width", `${x}%`);
  text.setAttribute("x", `${x}%`);
  text.setAttribute("dx", x < 60 ? 6 : -6);
  text.setAttribute("text-anchor", x < 60 ? "start" : "end");
  text.textContent = `tau ${shortly(tau)}`;
}

class Desk {
  constructor(desk, table) {
    this.desk = desk;
    this.table = table;
    this.form = document.getElementById("apply-form");
    this.slider = desk.querySelector("#slider");
    this.number = desk.querySelector("#tau");
    this.lists = [...desk.querySelectorAll("[data-list]")];
    this.effect = effectOf(table, Number(this.number.value));
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
    list(box, this.effect[box.dataset.list], Number(this.desk.dataset.shown));
  }

  /** Preview a tau, given as the text that was typed. */
  choose(written, method) {
    const tau = Number(written);
    const { elements } = this.form;
    elements.tau.value = written;
    elements.method.value = method;
    if (this.number.value !== written) this.number.value = written;
    this.slider.value = written;
    this.effect = effectOf(this.table, tau);
    this.show(tau);
    for (const link of document.querySelectorAll(".options [data-choose]")) {
      link.closest("li").classList.toggle("chosen", link.dataset.method === method);
    }
  }

  show(tau) {
    const texts = textsOf(this.effect);
    for (const element of document.querySelectorAll("[data-tau]")) {
      const text = texts[element.dataset.tau];
      if (text && element.textContent !== text) element.textContent = text;
    }
    const words = spoken(this.effect, texts);
    this.slider.setAttribute("aria-valuetext", words);
    for (const box of this.lists) this.fill(box);
    draw(this.desk, tau);
    clearTimeout(this.timer);
    if (document.activeElement === this.slider) return; /* the slider announces its own value */
    this.timer = setTimeout(() => { this.desk.querySelector("[data-tau=said]").textContent = words; }, PAUSE);
  }
}

async function begin(desk) {
  const answer = await fetch(desk.dataset.table, { headers: { Accept: "application/json" } });
  if (!answer.ok) return; /* without data the page works by reloads */
  const made = new Desk(desk, await answer.json());
  made.slider.setAttribute("aria-valuetext", spoken(made.effect, textsOf(made.effect)));
  desk.classList.add("live-desk");
  window.tauDesk = made;
}

for (const desk of document.querySelectorAll("[data-table]")) begin(desk);
