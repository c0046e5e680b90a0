/* Counts down the last hour before a deadline in seconds, with the service's clock: the reader's may be wrong. */
"use strict";

const timers = [...document.querySelectorAll("[data-countdown]")];
const ENDED = { Closes: "Closed", Opens: "Open", in: "over" };

/** Milliseconds by which the service's clock is ahead of this one. The header has whole seconds, rounded down. */
async function clockDifference() {
  try {
    const response = await fetch("/api/v1/health", { cache: "no-store" });
    return Date.parse(response.headers.get("Date")) + 999 - Date.now() || 0;
  } catch {
    return 0;
  }
}

function show(timer, begins, now) {
  const seconds = Math.floor((Date.parse(timer.dataset.countdown) - now) / 1000);
  if (seconds >= 3600) return;
  const left = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  timer.textContent = seconds > 0 ? `${begins === "in" ? "" : `${begins} `}in ${left}` : ENDED[begins];
}

if (timers.length) {
  const begins = timers.map((timer) => timer.textContent.split(" ")[0]);
  clockDifference().then((difference) => setInterval(
    () => timers.forEach((timer, index) => show(timer, begins[index], Date.now() + difference)), 1000,
  ));
}
