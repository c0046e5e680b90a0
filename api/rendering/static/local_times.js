/* Adds the reader's local time to times in UTC if the two differ. */
"use strict";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const format = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

const notes = [...document.querySelectorAll("[data-zone]")];
const whose = notes.length ? "" : " your time";

for (const time of document.querySelectorAll("time[data-zoned]")) {
  const moment = new Date(time.dateTime);
  if (moment.getTimezoneOffset() === 0) continue;
  const local = Object.assign(document.createElement("span"), { className: "muted", textContent: ` (${format.format(moment)}${whose})` });
  time.after(local);
  for (const note of notes) {
    note.textContent = `Times are in UTC; times in brackets are in ${zone}.`;
    note.hidden = false;
  }
}
