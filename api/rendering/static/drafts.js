/* Keeps a form's input until the service has accepted the form: through errors, an expired session, a reload and the
   browser's Back button. Never keeps passwords, codes or files. Closing the tab or signing out removes everything. */
"use strict";

{
  const DRAFT = "kennel-draft:";
  const TYPED = "textarea, select, input:not([type=hidden], [type=password], [type=file], [autocomplete=one-time-code])";

  const ENDS = ["/signout", "/account/deletion"];

  /** Forget the drafts of a form's address in all accounts; forget all drafts on sign-out or account deletion. */
  window.forgetDrafts = (path) => {
    const prefix = ENDS.includes(path) ? DRAFT : `${DRAFT}${path}:`;
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
  };

  function forgetTaken() {
    const taken = document.cookie.split("; ").find((cookie) => cookie.startsWith("kennel-taken="));
    if (taken === undefined) return;
    forgetDrafts(decodeURIComponent(taken.split("=")[1]));
    document.cookie = "kennel-taken=; Max-Age=0; Path=/; SameSite=Lax";
  }

  const isBox = (field) => field.type === "checkbox" || field.type === "radio";
  const typedFields = (form) => [...form.elements].filter((field) => field.name && field.matches(TYPED));
  const keyOf = (field) => (isBox(field) ? `${field.name}=${field.value}` : field.name);
  const valueOf = (field) => (isBox(field) ? field.checked : field.value);

  function isChanged(field) {
    if (field.options) return [...field.options].some((option) => option.selected !== option.defaultSelected);
    return isBox(field) ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
  }

  /** Only changed fields: somebody else may change the others in the meantime. */
  function draftOf(form, before) {
    const fields = typedFields(form).filter((field) => isChanged(field) || keyOf(field) in before);
    return Object.fromEntries(fields.map((field) => [keyOf(field), valueOf(field)]));
  }

  function restore(form, values) {
    let restored = false;
    for (const field of typedFields(form)) {
      const value = values[keyOf(field)];
      if (value === undefined || value === valueOf(field) || field.disabled) continue;
      if (isBox(field)) field.checked = value;
      else field.value = value;
      restored = true;
    }
    return restored;
  }

  function keepDraft(form) {
    const path = new URL(form.getAttribute("action") ?? "", location).pathname;
    const key = `${DRAFT}${path}:${document.documentElement.dataset.account ?? ""}`;
    const state = { unsaved: false };
    const stored = () => JSON.parse(sessionStorage.getItem(key) ?? "{}");
    form.addEventListener("input", () => {
      sessionStorage.setItem(key, JSON.stringify(draftOf(form, stored())));
      state.unsaved = true;
    });
    form.addEventListener("submit", () => { state.unsaved = false; });
    if ("warn" in form.dataset) addEventListener("beforeunload", (event) => { if (state.unsaved) event.preventDefault(); });
    if (!restore(form, stored())) return;
    state.unsaved = true;
    form.closest("details")?.setAttribute("open", "");
    form.prepend(noticeOf(() => { forgetDrafts(path); state.unsaved = false; form.reset(); }));
    form.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function noticeOf(discard) {
    const notice = Object.assign(document.createElement("p"), { className: "hint restored", textContent: "Unsaved changes restored. " });
    const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "Discard" });
    button.addEventListener("click", () => { discard(); notice.remove(); });
    notice.setAttribute("role", "status");
    notice.append(button);
    return notice;
  }

  try {
    forgetTaken();
    for (const form of document.forms) if (form.getAttribute("method") === "post" && form.querySelector(TYPED)) keepDraft(form);
  } catch {
    /* No storage: input lasts as long as the page. */
  }
}
