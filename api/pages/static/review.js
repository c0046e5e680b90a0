/* Keyboard shortcuts of the review desk: a letter or digit chooses, Enter saves, the right arrow skips. Off while a text
   field has the focus, and where the reviewer has switched them off. Without this script Tab and Space do it all. */
"use strict";

const OFF = "kennel-desk-keys-off";
const WRITING = "textarea, select, input:not([type=radio]):not([type=checkbox])";
const PRESSING = "a, button, summary";

function isOn(form) {
  return form.querySelector("[data-switch]").checked;
}

function choose(form, key) {
  for (const input of form.querySelectorAll("[data-key]")) {
    if (!input.dataset.key.split(" ").includes(key)) continue;
    input.checked = true;
    input.focus();
    return true;
  }
  return false;
}

function onward() {
  const link = document.querySelector("[data-next]");
  if (link !== null) link.click();
  return link !== null;
}

function press(form, event) {
  const at = event.target;
  if (event.key === "Enter" && event.ctrlKey && form !== null && form.contains(at)) {
    form.requestSubmit();
    return true;
  }
  if (event.ctrlKey || event.altKey || event.metaKey || at.matches(WRITING)) return false;
  if (form !== null && !isOn(form)) return false;
  if (event.key === "ArrowRight" && !at.matches("input")) return onward();
  if (form === null) return false;
  if (event.key === "Enter" && !at.matches(PRESSING)) {
    form.requestSubmit();
    return true;
  }
  return choose(form, event.key.toLowerCase());
}

function remember(form) {
  const box = form.querySelector("[data-switch]");
  try {
    box.checked = localStorage.getItem(OFF) === null;
    box.addEventListener("change", () => {
      if (box.checked) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, "yes");
    });
  } catch {
    /* No storage: the choice holds for this page. */
  }
}

const form = document.querySelector("form[data-keys]");
if (form !== null) remember(form);
document.addEventListener("keydown", (event) => {
  if (press(form, event)) event.preventDefault();
});
