/* Polling: fetches the page again every few seconds and replaces each data-refresh element with its new version. Forms
   stay untouched. Reloads the page once the fetched one has no data-busy, unless the reader has begun to fill in a form. */
"use strict";

const POLL_MS = 4000;
let edited = false;

async function refresh() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of document.querySelectorAll("[data-refresh]")) {
    const update = page.querySelector(`[data-refresh="${part.dataset.refresh}"]`);
    if (update && update.innerHTML !== part.innerHTML) part.innerHTML = update.innerHTML;
  }
  if (page.querySelector("[data-busy]")) return;
  clearInterval(timer);
  if (!edited) location.reload();
}

document.addEventListener("input", () => { edited = true; });
const timer = setInterval(() => refresh().catch(() => {}), POLL_MS);
