/* Updates the progress of a data release: <div data-release="/api/v1/..."> contains [data-stage] and a <progress>.
   Reloads the page at the end. Without this script, the page shows the state at load time. */
"use strict";

const POLL_MS = 1500;
const STAGES = { tables: "writing the tables", images: "packing the images", storing: "storing the files" };

async function follow(root) {
  const response = await fetch(root.dataset.release, { headers: { Accept: "application/json" } });
  if (response.ok) {
    const state = await response.json();
    if (state.state !== "waiting" && state.state !== "running") {
      location.reload();
      return;
    }
    const text = STAGES[state.stage] ?? "waiting for a worker";
    const stage = root.querySelector("[data-stage]");
    if (stage.textContent !== text) stage.textContent = text;
    const bar = root.querySelector("progress");
    if (state.fraction === null) bar.removeAttribute("value");
    else bar.value = 100 * state.fraction;
  }
  setTimeout(follow, POLL_MS, root);
}

for (const root of document.querySelectorAll("[data-release]")) setTimeout(follow, POLL_MS, root);
