/* Keeps parts of a page up to date while work goes on: every few seconds the page is read again, and each element with
   data-fresh becomes what the element of that name has become. Forms are left alone. Once the page no longer says
   data-busy, it is loaded anew, unless somebody is filling a form in. */
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
