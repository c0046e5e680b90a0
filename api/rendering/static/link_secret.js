/* Puts the secret of a link into the form. The secret is the fragment of the address: browsers send it to no server.
   <div data-link-secret> contains the field and becomes hidden; <form data-send> is submitted immediately. */
"use strict";

const place = document.querySelector("[data-link-secret]");

function takeSecret() {
  const secret = location.hash.slice(1);
  if (!/^[\w-]{20,100}$/.test(secret)) return; /* for example "#main" */
  const field = place.querySelector("input");
  field.value = secret;
  place.hidden = true;
  for (const element of document.querySelectorAll("[data-without-link]")) element.hidden = true;
  if ("send" in field.form.dataset) field.form.requestSubmit();
}

addEventListener("hashchange", takeSecret);
takeSecret();
