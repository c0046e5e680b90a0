/* Keyboard shortcuts of review pages: a letter or digit chooses, Enter saves, the right arrow skips. Off while a text
   field has the focus, or if the reviewer has switched them off. Without this script, Tab and Space still work. */
"use strict";

const STORAGE_KEY = "kennel-review-keys-off";
const TEXT_FIELDS = "textarea, select, input:not([type=radio]):not([type=checkbox])";
const PRESSABLE = "a, button, summary";

function shortcutsOn(form) {
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

function openNext() {
  const link = document.querySelector("[data-next]");
  if (link !== null) link.click();
  return link !== null;
}

function handleKey(form, event) {
  const { target } = event;
  if (event.key === "Enter" && event.ctrlKey && form !== null && form.contains(target)) {
    form.requestSubmit();
    return true;
  }
  if (event.ctrlKey || event.altKey || event.metaKey || target.matches(TEXT_FIELDS)) return false;
  if (form !== null && !shortcutsOn(form)) return false;
  if (event.key === "ArrowRight" && !target.matches("input")) return openNext();
  if (form === null) return false;
  if (event.key === "Enter" && !target.matches(PRESSABLE)) {
    form.requestSubmit();
    return true;
  }
  return choose(form, event.key.toLowerCase());
}

function restoreSwitch(form) {
  const box = form.querySelector("[data-switch]");
  try {
    box.checked = localStorage.getItem(STORAGE_KEY) === null;
    box.addEventListener("change", () => {
      if (box.checked) localStorage.removeItem(STORAGE_KEY);
      else localStorage.setItem(STORAGE_KEY, "yes");
    });
  } catch {
    /* No storage: the choice lasts as long as the page. */
  }
}

const form = document.querySelector("form[data-keys]");
if (form !== null) restoreSwitch(form);
document.addEventListener("keydown", (event) => {
  if (handleKey(form, event)) event.preventDefault();
});
