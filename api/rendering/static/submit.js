/* Resumable uploads: tus 1.0.0 in slices that take about two seconds each. The service knows each upload's offset and
   note, and the file's name, size and date. The browser stores the upload's URL until the entry is submitted: the
   response may get lost. */
"use strict";

const TUS = "1.0.0";
const SLICE = { initial: 256 << 10, min: 64 << 10, max: 16 << 20, seconds: 2 };
const RETRY_SECONDS = [1, 2, 4, 8, 15, 30];
const TIMEOUT_MS = 90_000;
const MAX_NAME_LENGTH = 200;

const form = document.getElementById("submit");
const latentFields = ["latent", "distribution", "classes"].map((name) => form.elements[name]).filter(Boolean);
const elements = Object.fromEntries(
  ["file", "note", "drop", "progress", "bar", "figures", "status", "problem", "send", "stop"]
    .map((id) => [id, document.getElementById(id)]),
);
let running = null;

/** The service refused the upload, and a retry would not help. */
class Refused extends Error {
  constructor(status, problem) {
    super(problem.title || `The service responded with status ${status}.`);
    this.status = status;
    this.fromProxy = !problem.type;
    this.faults = problem.faults || [];
  }
}

/** The service can't accept the request now. */
class Temporary extends Error {}

async function request(method, url, headers = {}, body = null) {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, {
    method, body,
    headers: { "X-CSRF-Token": form.elements.csrf.value, "Tus-Resumable": TUS, ...headers },
    signal: running ? AbortSignal.any([running.signal, timeout]) : timeout,
  });
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  const slug = (problem.type || "").split(":").pop();
  const temporary = response.status >= 500 || response.status === 408 || slug === "too-often"
    || slug === "wrong-offset" || slug === "taken-over";
  if (temporary) throw new Temporary(problem.title || `The service responded with status ${response.status}.`);
  throw new Refused(response.status, problem);
}

const savedUploads = {
  key: (file) => `kennel-upload/${form.dataset.slug}/${file.name}/${file.size}/${file.lastModified}`,
  read(file) {
    try { return JSON.parse(localStorage.getItem(this.key(file))); } catch { return null; }
  },
  save(file, upload) {
    try { localStorage.setItem(this.key(file), JSON.stringify(upload)); } catch { /* no storage: the service lists the upload */ }
  },
  remove(file) {
    try { localStorage.removeItem(this.key(file)); } catch { /* it was never stored */ }
  },
};

function base64Of(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** The file and the declared latent space as Upload-Metadata. */
function describe(file) {
  const declared = latentFields.map(({ name, value }) => [name, value.trim()]).filter(([, value]) => value);
  return [["filename", file.name], ["lastmodified", String(file.lastModified)], ...declared]
    .map(([name, value]) => `${name} ${base64Of(value)}`).join(",");
}

function isDescribed(upload, file) {
  return upload.described.replace(/,note .*/, "") === describe(file);
}

async function createUpload(file, note) {
  const metadata = describe(file) + (note ? `,note ${base64Of(note)}` : "");
  const headers = { "Upload-Length": String(file.size), "Upload-Metadata": metadata };
  const response = await request("POST", form.dataset.uploads, headers);
  const url = response.headers.get("Location");
  savedUploads.save(file, { url });
  return { url, offset: 0 };
}

/** The upload of this file that this browser started; null if there is none or the service refused it. */
async function findSavedUpload(file) {
  const saved = savedUploads.read(file);
  if (!saved) return null;
  try {
    const upload = await (await request("GET", saved.url)).json();
    if (upload.state !== "refused" && isDescribed(upload, file)) return upload;
  } catch (error) {
    if (!(error instanceof Refused) || error.status === 401) throw error;
  }
  savedUploads.remove(file);
  return null;
}

/** The upload of this file from this browser, from another browser, or from a program that sends no file date. */
async function findUpload(file) {
  const saved = await findSavedUpload(file);
  if (saved) return saved;
  const { uploads } = await (await request("GET", form.dataset.uploads)).json();
  return uploads.find((upload) => upload.method === "tus" && upload.length === file.size
    && upload.file_name === [...file.name].slice(0, MAX_NAME_LENGTH).join("")
    && (isDescribed(upload, file) || !upload.described.includes("lastmodified ")));
}

/** The unfinished upload of this file with this note, or a new one. */
async function resumeOrCreate(file, note) {
  const upload = await findUpload(file);
  if (!upload) return createUpload(file, note);
  const url = `/api/v1/uploads/${upload.id}`;
  if (upload.note !== note && upload.state === "receiving") {
    await request("PUT", `${url}/note`, { "Content-Type": "application/json" }, JSON.stringify({ note }));
  }
  return { url, offset: upload.offset };
}

/** Send the rest of the file; returns the upload with its submission. */
async function sendRest(file, note, onProgress) {
  const upload = await resumeOrCreate(file, note);
  let size = SLICE.initial;
  let max = SLICE.max;
  let { offset } = upload;
  showProgress(offset, file.size);
  while (offset < file.size) {
    const startedAt = performance.now();
    const headers = { "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(offset) };
    let response;
    try {
      response = await request("PATCH", upload.url, headers, file.slice(offset, offset + size));
    } catch (error) {
      /* A proxy has a smaller limit: keep later slices below this size. */
      if (!(error instanceof Refused && error.status === 413 && error.fromProxy && size > SLICE.min)) throw error;
      max = size = Math.max(SLICE.min, size >> 1);
      continue;
    }
    offset = Number(response.headers.get("Upload-Offset"));
    const seconds = Math.max((performance.now() - startedAt) / 1000, 0.01);
    size = Math.min(max, Math.max(SLICE.min, Math.min(2 * size, size * SLICE.seconds / seconds)) | 0);
    onProgress();
    showProgress(offset, file.size);
  }
  return findSubmitted(upload.url);
}

/** All bytes have arrived. Another tab or an earlier request may still be creating the submission. */
async function findSubmitted(url) {
  for (;;) {
    const upload = await (await request("GET", url)).json();
    if (upload.problem) throw new Refused(422, upload.problem);
    if (upload.submission) return upload;
    announce("Checking the file …");
    await pause(1000);
  }
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
  let attempts = 0;
  for (;;) {
    try {
      announce("Uploading …");
      return await sendRest(file, note, () => { if (attempts) announce("Uploading …"); attempts = 0; });
    } catch (error) {
      if (error instanceof Refused || running.signal.aborted) throw error;
      const seconds = RETRY_SECONDS[Math.min(attempts++, RETRY_SECONDS.length - 1)];
      const reason = error instanceof Temporary ? error.message : "Connection lost.";
      announce(`${reason} The upload resumes in ${seconds} s.`);
      await pause(1000 * seconds);
    }
  }
}

function showProgress(offset, total) {
  const fraction = offset / total;
  elements.progress.hidden = false;
  elements.bar.value = fraction;
  elements.figures.textContent = `${Math.floor(100 * fraction)} % of ${(total / 1e6).toFixed(1)} MB`;
}

function announce(text) {
  if (elements.status.textContent !== text) elements.status.textContent = text;
}

function showProblem(error) {
  const text = document.createElement("p");
  text.textContent = error.message;
  const list = document.createElement("ul");
  for (const fault of error.faults || []) list.append(Object.assign(document.createElement("li"), { textContent: fault }));
  elements.problem.replaceChildren(text, ...(list.children.length ? [list] : []));
  elements.problem.hidden = false;
}

function setBusy(busy) {
  for (const field of [elements.send, elements.file, elements.note, ...latentFields]) field.disabled = busy;
  elements.stop.hidden = !busy;
}

async function start() {
  const file = elements.file.files[0];
  if (!file || running) return;
  elements.problem.hidden = true;
  if (file.size > Number(form.dataset.maxBytes)) {
    showProblem(new Error(`The file is ${(file.size / 1e6).toFixed(1)} MB; the limit is ${(Number(form.dataset.maxBytes) / 1e6).toFixed(1)} MB.`));
    return;
  }
  running = new AbortController();
  setBusy(true);
  try {
    const { submission, repeated } = await upload(file, elements.note.value.trim());
    savedUploads.remove(file);
    announce(repeated ? "This file was submitted earlier." : "Entry submitted.");
    forgetDrafts(new URL(form.action).pathname);
    location.assign(`/submissions/${encodeURIComponent(submission)}${repeated ? "#same-file" : ""}`);
  } catch (error) {
    if (running.signal.aborted) {
      announce("Stopped. Upload the same file again to resume.");
    } else {
      announce("");
      showProblem(error);
    }
  } finally {
    running = null;
    setBusy(false);
  }
}

form.addEventListener("submit", (event) => { event.preventDefault(); start(); });
elements.stop.addEventListener("click", () => running && running.abort());
for (const kind of ["dragenter", "dragover"]) {
  elements.drop.addEventListener(kind, (event) => { event.preventDefault(); elements.drop.classList.add("dragover"); });
}
for (const kind of ["dragleave", "drop"]) {
  elements.drop.addEventListener(kind, () => elements.drop.classList.remove("dragover"));
}
elements.drop.addEventListener("drop", (event) => {
  event.preventDefault();
  if (running || !event.dataTransfer.files.length) return;
  elements.file.files = event.dataTransfer.files;
  elements.file.dispatchEvent(new Event("change"));
});
elements.file.addEventListener("change", async () => {
  const [file] = elements.file.files;
  elements.problem.hidden = true;
  announce("");
  const upload = file && await findUpload(file).catch(() => null);
  if (!upload || running || elements.file.files[0] !== file) return;
  elements.note.value ||= upload.note;
  announce("You started uploading this file earlier. The upload resumes where it stopped.");
});
