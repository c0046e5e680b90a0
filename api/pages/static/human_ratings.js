/* Rating without waiting: images are fetched in batches ahead of the one shown, ratings are sent a few at a time.
   <section data-here="/api/v1/.../items" data-kind data-item data-proof> holds the picture and the form; without this
   script the form sends one rating and loads the next page. The last rating can be undone until it is sent. */
"use strict";

const AHEAD = 12;
const SENT_AT = 5;
const IDLE = 4000;
const RETRY = 3000;

const root = document.querySelector(".rate");
const form = root.querySelector("form");
const shown = root.querySelector(".shown");
const queue = [];
let waiting = []; /* rated, not sent yet: { item, value } */
let current = { id: Number(root.dataset.item) };
let rated = Number(root.querySelector("[data-count]").textContent);
let asking = false;
let over = false;
let timer = 0;

function headers() {
  const given = { "Content-Type": "application/json", Accept: "application/json" };
  if (root.dataset.proof) given["X-CSRF-Token"] = root.dataset.proof;
  return given;
}

function say(text) {
  root.querySelector("[data-said]").textContent = text;
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
}

async function drawn(item) {
  const bitmap = await createImageBitmap(new Blob([bytesOf(item.png)], { type: "image/png" }));
  const canvas = document.createElement("canvas");
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext("2d").drawImage(bitmap, 0, 0);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", root.dataset.kind === "realism" ? "A generated image" : "Generated images");
  return { id: item.id, canvas };
}

function byItem(rated) {
  return Object.fromEntries(rated.map((each) => [each.item.id, each.value]));
}

function post(fields, keepalive = false) {
  const body = JSON.stringify({ kind: root.dataset.kind, ...fields });
  return fetch(root.dataset.here, { method: "POST", headers: headers(), body, keepalive });
}

/* Sends the waiting ratings and fetches more items; ratings that could not be sent are kept and sent again. */
async function exchange() {
  if (asking) return;
  asking = true;
  clearTimeout(timer);
  const sent = waiting;
  waiting = [];
  const hand = [...(current ? [current.id] : []), ...queue.map((each) => each.id)];
  const more = over ? 0 : Math.max(0, AHEAD - queue.length);
  try {
    const answer = await post({ ratings: byItem(sent), at_hand: hand, more });
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) {
      location.reload(); /* the study or the session has ended: the reloaded page explains it */
      return;
    }
    if (!answer.ok) throw new Error(answer.statusText);
    const batch = await answer.json();
    over = over || (more > 0 && batch.items.length === 0);
    for (const item of batch.items) queue.push(await drawn(item));
    asking = false;
    if (!current) advance();
  } catch (error) {
    waiting = [...sent, ...waiting];
    asking = false;
    say("No connection; trying again.");
    timer = setTimeout(exchange, RETRY);
  }
}

function show(item) {
  current = item;
  if (item.canvas) shown.replaceChildren(item.canvas);
}

function advance() {
  current = queue.shift() ?? null;
  if (current) {
    show(current);
  } else if (over) {
    finish();
  } else {
    shown.replaceChildren();
    exchange();
  }
}

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}

/* No item is left: the page is reloaded once every rating is sent. */
async function finish() {
  while (asking || waiting.length) {
    if (asking) {
      await pause(50);
    } else {
      await exchange();
      if (waiting.length) await pause(RETRY);
    }
  }
  location.reload();
}

/* On leaving, waiting ratings are sent; the service counts a repeated rating once. */
function leave() {
  if (waiting.length) post({ ratings: byItem(waiting) }, true).catch(() => {});
}

function rate(value) {
  if (!current) return;
  if (!current.canvas) current.canvas = shown.firstElementChild; /* the first image is in the page itself */
  waiting.push({ item: current, value });
  rated += 1;
  flash(value);
  root.querySelector("[data-count]").textContent = rated;
  say(`Rated ${value}. Next.`);
  advance();
  clearTimeout(timer);
  if (waiting.length > SENT_AT || queue.length < AHEAD / 2) exchange();
  else timer = setTimeout(exchange, IDLE);
}

function takeBack() {
  const last = waiting.pop();
  if (!last) {
    say("That one has gone already.");
    return;
  }
  if (current) queue.unshift(current);
  show(last.item);
  rated -= 1;
  root.querySelector("[data-count]").textContent = rated;
  say(`Taken back: it was ${last.value}.`);
}

function flash(value) {
  const button = form.querySelector(`button[value="${value}"]`);
  button.classList.add("struck");
  setTimeout(() => button.classList.remove("struck"), 120);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  rate(Number(event.submitter.value));
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.key >= "1" && event.key <= "5") rate(Number(event.key));
  else if (event.key.toLowerCase() === "z") takeBack();
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") leave();
});
exchange();
