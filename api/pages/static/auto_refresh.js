/* Polling: every few seconds the page is fetched again, and each element with data-fresh is replaced by the element of
   the same name. Forms are left alone. Once the fetched page has no data-busy, the page is reloaded, unless a form is
   being filled in. */
"use strict";

const EVERY = 4000;
let touched = false;

async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const now = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-fresh]")) {
    const fresh = now.querySelector(`[data-fresh="${part.dataset.fresh}"]`);
    if (fresh && fresh.innerHTML !== part.innerHTML) part.innerHTML = fresh.innerHTML;
  }
  if (now.querySelector("[data-busy]")) return;
  clearInterval(timer);
  if (!touched) location.reload();
}

document.addEventListener("input", () => { touched = true; });
const timer = setInterval(() => refresh().catch(() => {}), EVERY);
