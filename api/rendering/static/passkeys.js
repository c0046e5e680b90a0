/* Passkeys (WebAuthn): adds one, or uses one as the second step of signing in. */
"use strict";

const API = "/api/v1";

const bytesOf = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
const textOf = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

async function post(path, body, form) {
  const headers = { "Content-Type": "application/json" };
  if (form.elements.csrf) headers["X-CSRF-Token"] = form.elements.csrf.value;
  const response = await fetch(`${API}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = response.status === 204 ? null : await response.json();
  if (!response.ok) throw new Error(answer.title);
  return answer;
}

function withBytes(options) {
  const descriptor = (credential) => ({ ...credential, id: bytesOf(credential.id) });
  return {
    ...options,
    challenge: bytesOf(options.challenge),
    ...(options.user && { user: { ...options.user, id: bytesOf(options.user.id) } }),
    excludeCredentials: (options.excludeCredentials || []).map(descriptor),
    allowCredentials: (options.allowCredentials || []).map(descriptor),
  };
}

function asJson(credential) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (credential.response[name]) response[name] = textOf(credential.response[name]);
  }
  return JSON.stringify({
    id: credential.id, rawId: textOf(credential.rawId), type: credential.type, response,
    clientExtensionResults: credential.getClientExtensionResults(),
  });
}

async function addPasskey(form) {
  const password = form.elements.password ? form.elements.password.value : "";
  const options = await post("/me/second-factors/passkey-options", { password }, form);
  const made = await navigator.credentials.create({ publicKey: withBytes(options) });
  await post("/me/second-factors/passkeys", { name: form.elements.name.value, credential: asJson(made) }, form);
  location.assign("/account/second-factor?done=passkey");
}

async function usePasskey(form) {
  const options = await post("/session/passkey-options", {}, form);
  const used = await navigator.credentials.get({ publicKey: withBytes(options) });
  await post("/session/second-factor", { passkey: asJson(used) }, form);
  const next = new URL(form.dataset.next, location.origin);
  location.assign(next.origin === location.origin ? next : "/");
}

for (const [id, act] of [["add-passkey", addPasskey], ["use-passkey", usePasskey]]) {
  const form = document.getElementById(id);
  if (!form || !window.PublicKeyCredential) continue;
  const alert = form.querySelector("[role=alert]");
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    alert.hidden = true;
    try {
      await act(form);
    } catch (error) {
      alert.textContent = error.name === "NotAllowedError" ? "The request was cancelled or timed out. Try again." : error.message;
      alert.hidden = false;
    }
  });
}
