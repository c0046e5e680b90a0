/* The secret of a link is the fragment of its address, which browsers send to no server: this puts it into the form.
   <div data-link-secret> holds the field, which is not shown then; <form data-send> is sent at once. */
"use strict";

const place = document.querySelector("[data-link-secret]");

function takeSecret() {
  const secret = location.hash.slice(1);
  if (!/^[\w-]{20,100}$/.test(secret)) return; /* "#main", say */
  const field = place.querySelector("input");
  field.value = secret;
  place.hidden = true;
  for (const each of document.querySelectorAll("[data-without-link]")) each.hidden = true;
  if ("send" in field.form.dataset) field.form.requestSubmit();
}

addEventListener("hashchange", takeSecret);
takeSecret();
