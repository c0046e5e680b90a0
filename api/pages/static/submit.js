/* Resumable uploads: tus 1.0.0 in slices, each as long as the connection sends in about two seconds. The service knows
   the offset; this browser stores only the upload's URL, by the file's name, size and date. */
"use strict";

const TUS = "1.0.0";
const SLICE = { first: 256 << 10, least: 64 << 10, most: 16 << 20, seconds: 2 };
const PAUSES = [1, 2, 4, 8, 15, 30];
const SILENCE = 90_000;

const form = document.getElementById("submit");
const part = Object.fromEntries(
  ["file", "note", "drop", "progress", "bar", "figures", "status", "problem", "send", "stop"]
    .map((id) => [id, document.getElementById(id)]),
);
let running = null;

/** The service refused the upload: a retry would not help. */
class Refused extends Error {
  constructor(status, problem) {
    super(problem.title || `The service answered ${status}.`);
    this.status = status;
    this.faults = problem.faults || [];
  }
}

async function ask(method, url, headers = {}, body = null) {
  const silence = AbortSignal.timeout(SILENCE);
  const answer = await fetch(url, {
    method, body,
    headers: { "X-CSRF-Token": form.elements.csrf.value, "Tus-Resumable": TUS, ...headers },
    signal: AbortSignal.any([running.signal, silence]),
  });
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  const slug = (problem.type || "").split(":").pop();
  const passing = answer.status >= 500 || answer.status === 408 || slug === "too-often"
    || slug === "wrong-offset" || slug === "taken-over";
  if (passing) throw new Error(problem.title || `status ${answer.status}`);
  throw new Refused(answer.status, problem);
}

const memory = {
  name: (file) => `kennel-upload/${form.dataset.slug}/${file.name}/${file.size}/${file.lastModified}`,
  read(file) {
    try { return JSON.parse(localStorage.getItem(this.name(file))); } catch { return null; }
  },
  keep(file, upload) {
    try { localStorage.setItem(this.name(file), JSON.stringify(upload)); } catch { /* no storage: a reload starts over */ }
  },
  forget(file) {
    try { localStorage.removeItem(this.name(file)); } catch { /* it was never stored */ }
  },
};

function coded(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

async function begin(file, note) {
  const told = [`filename ${coded(file.name)}`];
  if (note) told.push(`note ${coded(note)}`);
  const headers = { "Upload-Length": String(file.size), "Upload-Metadata": told.join(",") };
  const answer = await ask("POST", form.dataset.uploads, headers);
  const upload = { url: answer.headers.get("Location"), note };
  memory.keep(file, upload);
  return { ...upload, offset: 0 };
}

/** The unfinished upload of this file, with its offset, or a new one. */
async function found(file, note) {
  const upload = memory.read(file);
  if (!upload) return begin(file, note);
  try {
    if (upload.note !== note) {
      await ask("DELETE", upload.url);
    } else {
      const answer = await ask("HEAD", upload.url);
      return { ...upload, offset: Number(answer.headers.get("Upload-Offset")), made: answer.headers.get("Kennel-Submission") };
    }
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401) throw error;
  }
  memory.forget(file);
  return begin(file, note);
}

/** Send the rest of the file; returns the id of the submission. */
async function go(file, note, moved) {
  const upload = await found(file, note);
  let size = SLICE.first;
  let { offset, made } = upload;
  show(offset, file.size);
  while (!made && offset < file.size) {
    const begun = performance.now();
    const headers = { "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(offset) };
    const answer = await ask("PATCH", upload.url, headers, file.slice(offset, offset + size));
    offset = Number(answer.headers.get("Upload-Offset"));
    made = answer.headers.get("Kennel-Submission");
    const seconds = Math.max((performance.now() - begun) / 1000, 0.01);
    size = Math.min(SLICE.most, Math.max(SLICE.least, Math.min(2 * size, size * SLICE.seconds / seconds)) | 0);
    moved();
    show(offset, file.size);
  }
  while (!made) made = await finished(upload.url);
  return made;
}

/** All bytes have arrived, and another tab or an earlier request makes the submission: wait for its id. */
async function finished(url) {
  say("Looking through the zip …");
  const upload = await (await ask("GET", url)).json();
  if (upload.problem) throw new Refused(422, upload.problem);
  if (!upload.submission) await pause(1000);
  return upload.submission;
}

function pause(milliseconds) {
  const { signal } = running;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    addEventListener("online", () => { clearTimeout(timer); resolve(); }, { once: true, signal });
    signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

async function upload(file, note) {
  let tries = 0;
  for (;;) {
    try {
      say("Uploading …");
      return await go(file, note, () => { if (tries) say("Uploading …"); tries = 0; });
    } catch (error) {
      if (error instanceof Refused || running.signal.aborted) throw error;
      const seconds = PAUSES[Math.min(tries++, PAUSES.length - 1)];
      say(`The connection broke. The upload goes on in ${seconds} s, from where it is.`);
      await pause(1000 * seconds);
    }
  }
}

function show(offset, total) {
  const share = offset / total;
  part.progress.hidden = false;
  part.bar.value = share;
  part.figures.textContent = `${Math.floor(100 * share)} % of ${(total / 1e6).toFixed(1)} MB`;
}

function say(text) {
  if (part.status.textContent !== text) part.status.textContent = text;
}

function complain(error) {
  const text = document.createElement("p");
  text.textContent = error.message;
  const list = document.createElement("ul");
  for (const fault of error.faults || []) list.append(Object.assign(document.createElement("li"), { textContent: fault }));
  part.problem.replaceChildren(text, ...(list.children.length ? [list] : []));
  part.problem.hidden = false;
}

function busy(is) {
  part.send.disabled = part.file.disabled = part.note.disabled = is;
  part.stop.hidden = !is;
}

async function start() {
  const file = part.file.files[0];
  if (!file || running) return;
  part.problem.hidden = true;
  if (file.size > Number(form.dataset.most)) {
    complain(new Error("This zip is larger than its images can need."));
    return;
  }
  running = new AbortController();
  busy(true);
  try {
    const made = await upload(file, part.note.value.trim());
    memory.forget(file);
    say("The entry is in.");
    location.assign(`/submissions/${encodeURIComponent(made)}`);
  } catch (error) {
    if (running.signal.aborted) {
      say("Stopped. Upload the same file again to go on from here.");
    } else {
      say("");
      complain(error);
      if (error.status !== 401) memory.forget(file);
    }
  } finally {
    running = null;
    busy(false);
  }
}

form.addEventListener("submit", (event) => { event.preventDefault(); start(); });
part.stop.addEventListener("click", () => running && running.abort());
for (const kind of ["dragenter", "dragover"]) {
  part.drop.addEventListener(kind, (event) => { event.preventDefault(); part.drop.classList.add("over"); });
}
for (const kind of ["dragleave", "drop"]) {
  part.drop.addEventListener(kind, () => part.drop.classList.remove("over"));
}
part.drop.addEventListener("drop", (event) => {
  event.preventDefault();
  if (running || !event.dataTransfer.files.length) return;
  part.file.files = event.dataTransfer.files;
  part.file.dispatchEvent(new Event("change"));
});
part.file.addEventListener("change", () => {
  const file = part.file.files[0];
  part.problem.hidden = true;
  say(file && memory.read(file) ? "This file was begun earlier: its upload goes on from where it was." : "");
});
