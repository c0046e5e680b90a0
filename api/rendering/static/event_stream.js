/* Updates a submission's page from server-sent events. <section data-events="/api/v1/..."> names the stream; elements
   anywhere on the page show the parts of the state: data-live="status", "stage", "fraction" (a <progress>), "position", "estimate".
   An element with data-live-for="position" is hidden while there is no position, one with data-live-for="cancel" while the entry cannot
   be cancelled, one with data-live-for="paused" unless scoring is paused. After the final status the page is reloaded. Without this script it shows the state of its loading. */
"use strict";

const MINUTE = 60;

/** Seconds in words: "about 4 min". */
function formatDuration(seconds) {
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
  estimate: (state) => formatDuration(state.estimate_seconds),
  paused: (state) => (state.paused ? "paused" : ""),
  cancel: (state) => (state.cancellable ? "possible" : ""),
};

function show(state) {
  for (const element of document.querySelectorAll("[data-live]")) {
    const text = TEXTS[element.dataset.live]?.(state) || "–";
    if (element instanceof HTMLProgressElement) {
      if (state.fraction === null) element.removeAttribute("value");
      else element.value = state.fraction * element.max;
      element.setAttribute("aria-valuetext", text);
    } else if (element.textContent !== text) {
      element.textContent = text; /* only changes: a screen reader may announce it */
    }
  }
  for (const element of document.querySelectorAll("[data-live-for]")) {
    element.hidden = !TEXTS[element.dataset.liveFor]?.(state);
  }
}

function follow(root) {
  const source = new EventSource(root.dataset.events);
  source.onmessage = (event) => {
    const state = JSON.parse(event.data);
    show(state);
    if (state.over) {
      source.close();
      location.reload();
    }
  };
}

for (const root of document.querySelectorAll("[data-events]")) follow(root);
