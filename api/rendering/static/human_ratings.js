/* Human ratings: fetches images in batches ahead of the current one and sends a few ratings at a time.
   <section data-items="/api/v1/.../items" data-kind data-item data-csrf> contains the picture and the form. Without this
   script, the form sends one rating and loads the next page. The last rating can be undone until it is sent. */
"use strict";

const PREFETCHED = 12;
const MAX_UNSENT = 5;
const IDLE_MS = 4000;
const RETRY_MS = 3000;

const root = document.querySelector(".rating");
const form = root.querySelector("form");
const picture = root.querySelector(".picture");
const queue = [];
let unsent = []; /* { item, value } */
let current = { id: Number(root.dataset.item) };
let rated = Number(root.querySelector("[data-count]").textContent);
let exchanging = false;
let exhausted = false;
let closed = false;
let timer = 0;

function headers() {
  const fields = { "Content-Type": "application/json", Accept: "application/json" };
  if (root.dataset.csrf) fields["X-CSRF-Token"] = root.dataset.csrf;
  return fields;
}

function announce(text) {
  root.querySelector("[data-announcement]").textContent = text;
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

async function decode(item) {
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
  return Object.fromEntries(rated.map((rating) => [rating.item.id, rating.value]));
}

function post(fields, keepalive = false) {
  const body = JSON.stringify({ kind: root.dataset.kind, ...fields });
  return fetch(root.dataset.items, { method: "POST", headers: headers(), body, keepalive });
}

/* Sends the waiting ratings and fetches more items; keeps ratings after a failure and sends them again. */
async function exchange() {
  if (exchanging || closed) return;
  exchanging = true;
  clearTimeout(timer);
  const sent = unsent;
  unsent = [];
  const held = [...(current ? [current.id] : []), ...queue.map((item) => item.id)];
  const more = exhausted ? 0 : Math.max(0, PREFETCHED - queue.length);
  try {
    const response = await post({ ratings: byItem(sent), at_hand: held, more });
    if (response.status >= 400 && response.status < 500 && response.status !== 429) {
      location.reload(); /* the study or the session has ended: the reloaded page explains it */
      return;
    }
    if (!response.ok) throw new Error(response.statusText);
    const batch = await response.json();
    exhausted = exhausted || (more > 0 && batch.items.length === 0);
    for (const item of batch.items) queue.push(await decode(item));
    exchanging = false;
    if (!current) advance();
  } catch (error) {
    unsent = [...sent, ...unsent];
    exchanging = false;
    announce("No connection; trying again.");
    timer = setTimeout(exchange, RETRY_MS);
  }
}

function show(item) {
  current = item;
  if (item.canvas) picture.replaceChildren(item.canvas);
}

function advance() {
  current = queue.shift() ?? null;
  if (current) {
    show(current);
  } else if (exhausted) {
    finish();
  } else {
    picture.replaceChildren();
    exchange();
  }
}

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}

/* Reloads the page once all ratings are sent. */
async function finish() {
  while (exchanging || unsent.length) {
    if (exchanging) {
      await pause(50);
    } else {
      await exchange();
      if (unsent.length) await pause(RETRY_MS);
    }
  }
  location.reload();
}

/* Sends waiting ratings when the reader leaves; the service counts a repeated rating once. */
function leave() {
  if (unsent.length && !closed) post({ ratings: byItem(unsent) }, true).catch(() => {});
}

function rate(value) {
  if (!current) return;
  if (!current.canvas) current.canvas = picture.firstElementChild; /* the first image is in the page itself */
  unsent.push({ item: current, value });
  rated += 1;
  flash(value);
  root.querySelector("[data-count]").textContent = rated;
  announce(`Rated ${value}. Next.`);
  advance();
  clearTimeout(timer);
  if (unsent.length > MAX_UNSENT || queue.length < PREFETCHED / 2) exchange();
  else timer = setTimeout(exchange, IDLE_MS);
}

function undo() {
  const last = unsent.pop();
  if (!last) {
    announce("The last rating has already been sent.");
    return;
  }
  if (current) queue.unshift(current);
  show(last.item);
  rated -= 1;
  root.querySelector("[data-count]").textContent = rated;
  announce(`Undone: ${last.value}.`);
}

function flash(value) {
  const button = form.querySelector(`button[value="${value}"]`);
  button.classList.add("pressed");
  setTimeout(() => button.classList.remove("pressed"), 120);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  rate(Number(event.submitter.value));
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.key >= "1" && event.key <= "5") rate(Number(event.key));
  else if (event.key.toLowerCase() === "z") undo();
});
document.addEventListener("submit", (event) => {
  if (event.target === form) return;
  leave(); /* the next page may belong to another rater */
  closed = true;
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") leave();
});
exchange();
