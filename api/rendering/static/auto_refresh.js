/* Polling: the page is fetched again every few seconds, and each element with data-refresh is replaced by the element of
   the same name. Forms are left alone. Once the fetched page has no data-busy, the page is reloaded, unless a form is
   being filled in. */
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
