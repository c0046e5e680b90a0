/* Keeps a submission's page up to date. The page says where its events are: <section data-events="/api/v1/...">, and
   where each part of the state is shown: data-live="status", "stage", "fraction" (a <progress>), "position",
   "estimate". An element with data-live-for="position" is hidden while there is no position. When the last status is
   there, the page is loaded anew. Without this script it shows the state as it was. */
"use strict";

const MINUTE = 60;

/** Seconds in words: "about 4 min". */
function inWords(seconds) {
  if (seconds === null) return "";
  if (seconds < MINUTE) return "less than a minute";
  if (seconds < 90 * MINUTE) return `about ${Math.round(seconds / MINUTE)} min`;
  return `about ${Math.round(seconds / (60 * MINUTE))} hours`;
}

const TEXTS = {
  status: (state) => state.status,
  stage: (state) => state.stage_in_words ?? "",
  fraction: (state) => (state.fraction === null ? "" : `${Math.floor(100 * state.fraction)} %`),
  position: (state) => (state.queue_position === null ? "" : String(state.queue_position)),
  estimate: (state) => inWords(state.estimate_seconds),
};

function show(root, state) {
  for (const element of root.querySelectorAll("[data-live]")) {
    const text = TEXTS[element.dataset.live]?.(state) || "–";
    if (element instanceof HTMLProgressElement) {
      if (state.fraction === null) element.removeAttribute("value");
      else element.value = state.fraction * element.max;
      element.setAttribute("aria-valuetext", text);
    } else if (element.textContent !== text) {
      element.textContent = text; /* only what differs: it may be read aloud */
    }
  }
  for (const element of root.querySelectorAll("[data-live-for]")) {
    element.hidden = !TEXTS[element.dataset.liveFor]?.(state);
  }
}

function follow(root) {
  const source = new EventSource(root.dataset.events);
  source.onmessage = (event) => {
    const state = JSON.parse(event.data);
    show(root, state);
    if (state.over) {
      source.close();
      location.reload();
    }
  };
}

for (const root of document.querySelectorAll("[data-events]")) follow(root);
