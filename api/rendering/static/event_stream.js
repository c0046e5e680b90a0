/* Updates a submission's page from server-sent events. <section data-events="/api/v1/..."> names the stream.
   Elements show parts of the state: data-live="status", "stage", "fraction" (a <progress>), "position", "estimate".
   Some elements are visible only in certain states: data-live-for="position" with a queue position, data-live-for="cancel" while
   the entry can be cancelled, data-live-for="paused" while scoring is paused. Reloads the page after the final status. Without
   this script, the page shows the state at load time. */
"use strict";

const MINUTE = 60;

/** For example "about 4 min". */
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
      element.textContent = text; /* a screen reader may announce every write, so only write changes */
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
