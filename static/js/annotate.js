// Saves each choice when it is made, keeps what could not be sent, and gives every step a key.
// Without this script the page is a form with a button, and does the same.
"use strict";

(() => {
  const form = document.getElementById("answer");
  if (!form || !window.htmx) return;
  const status = document.getElementById("status");
  const dialog = document.getElementById("keys");
  const isPreview = "preview" in form.dataset;
  const questions = [...form.querySelectorAll("fieldset")];
  const stacked = window.matchMedia("(max-width: 40rem)");

  // --- How long the page was looked at -------------------------------------------------------
  let seen = 0;
  let since = document.hidden ? null : performance.now();
  const visibleMs = () => Math.round(seen + (since === null ? 0 : performance.now() - since));
  document.addEventListener("visibilitychange", () => {
    seen = visibleMs();
    since = document.hidden ? null : performance.now();
  });

  // --- What is not saved yet: kept until the server has confirmed it ---------------------------
  const fieldOf = (question) => question.querySelector("input").name;
  const slot = (question) =>
    ["unsent", form.elements.assignment.value, form.elements.position.value, fieldOf(question)].join(":");
  const unsentIn = (question) => JSON.parse(sessionStorage.getItem(slot(question)) || "null");
  const unsent = () => questions.filter((question) => unsentIn(question) !== null);
  const newKey = () =>
    crypto.randomUUID
      ? crypto.randomUUID()
      : Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16).padStart(8, "0")).join("-");

  // The same choice sent again carries the same key, so that it is the same answer.
  function keep(question, value) {
    const earlier = unsentIn(question);
    if (earlier && earlier.value === value) return earlier;
    const choice = { value, key: newKey(), duration: visibleMs() };
    sessionStorage.setItem(slot(question), JSON.stringify(choice));
    return choice;
  }

  function show(question, value) {
    for (const input of question.querySelectorAll("input")) {
      if (input.type === "radio") input.checked = input.value === value;
      else input.value = value;
    }
  }

  // --- Saving ----------------------------------------------------------------------------------
  let attempts = 0;
  let timer = null;
  let isLeaving = false;

  const SENTENCES = {
    saving: "Saving…",
    offline: "No connection. Your answer waits in this browser and is not saved yet.",
    // An answer may have arrived though its confirmation did not: until then nobody knows.
    unknown: "It is not known yet whether your answer is saved. Trying again…",
    unknown_offline: "No connection. It is not known yet what is saved.",
    held_back: "No connection. Please wait here: the next page comes when it is back.",
    outdated: "Not saved: this page is out of date. Please reload it.",
  };
  function say(state) {
    const line = document.createElement("span");
    line.textContent = SENTENCES[state];
    line.dataset.status = state;
    line.className = state === "saving" ? "" : "alarm";
    status.replaceChildren(line);
  }

  const progress = () => document.getElementById("progress");
  const send = (question) => window.htmx.trigger(question, "resend");

  function sayWhatWaits() {
    const n = unsent().length;
    if (n) progress().dataset.waiting = n;
    if (n && timer === null && navigator.onLine) say("saving");
    else if (n) say(navigator.onLine ? "unknown" : "offline");
  }

  function retrySoon() {
    const wait = Math.min(30, 2 ** attempts);
    attempts += 1;
    clearTimeout(timer);
    timer = setTimeout(retryNow, wait * 1000);
    sayWhatWaits();
  }

  // Only where a retry was waiting: what is on its way already needs no second copy.
  function retryNow() {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    unsent().forEach(send);
  }

  document.addEventListener("htmx:configRequest", (event) => {
    const question = event.target;
    const { parameters } = event.detail;
    const field = fieldOf(question);
    const value = parameters[field];
    if (!value) {
      event.preventDefault();
      return;
    }
    // Only this question travels: a repeated request must not bring back another's old answer.
    for (const other of questions) if (other !== question) delete parameters[fieldOf(other)];
    const choice = keep(question, value);
    parameters.client_key = choice.key;
    parameters.duration_ms = String(choice.duration);
    parameters.layout = stacked.matches ? "stacked" : "side_by_side";
    question.dataset.sending = choice.key;
    say("saving");
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const question = event.target;
    if (!questions.includes(question)) return;
    const code = event.detail.xhr.status;
    if (code === 0 || code === 429 || code >= 500) {
      retrySoon();
      return;
    }
    attempts = 0;
    const kept = unsentIn(question);
    if (kept && kept.key === question.dataset.sending) sessionStorage.removeItem(slot(question));
    if (code < 400) {
      sayWhatWaits();
      leaveIfSaved();
    } else if (code !== 400 && code !== 409) say("outdated");
  });

  // In training, what is held right appears below the choices: it must not stay unseen.
  document.addEventListener("htmx:oobAfterSwap", () => {
    const lessons = document.getElementById("lessons");
    if (lessons && lessons.children.length) lessons.scrollIntoView({ block: "nearest" });
  });

  // What a page says that comes back from the browser's own store may be of long ago.
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted || isPreview) return;
    if (navigator.onLine) location.reload();
    else say("unknown_offline");
  });
  window.addEventListener("offline", () => isPreview || sayWhatWaits());
  window.addEventListener("online", () => {
    retryNow();
    leaveIfSaved();
  });
  window.addEventListener("beforeunload", (event) => {
    if (!isPreview && unsent().length) event.preventDefault();
  });

  // --- Going on and going back -----------------------------------------------------------------
  const nextLink = () => document.querySelector("#next a");

  function leaveIfSaved() {
    if (isLeaving && navigator.onLine && !unsent().length) nextLink()?.click();
  }

  function goOn() {
    if (isPreview || !form.reportValidity()) return;
    isLeaving = true;
    if (unsent().length) retryNow();
    else if (nextLink()) leaveIfSaved();
    else questions.forEach(send);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    goOn();
  });
  // A choice that waits for its turn is kept as well: until it is sent, it is not saved.
  form.addEventListener("change", (event) => {
    isLeaving = false;
    const chosen = event.target;
    if (!isPreview && chosen.type === "radio") keep(chosen.closest("fieldset"), chosen.value);
  });
  // Without a connection the next page would be the browser's own, with nothing on it.
  document.addEventListener("click", (event) => {
    if (navigator.onLine || isPreview || !event.target.closest("#next a, #previous")) return;
    event.preventDefault();
    isLeaving = event.target.closest("#next a") !== null;
    say("held_back");
  });
  // What is typed is kept at once, and sent when the field is left or the page comes back.
  form.addEventListener("input", (event) => {
    const typed = event.target;
    if (!isPreview && typed.type === "number" && typed.checkValidity() && typed.value) {
      keep(typed.closest("fieldset"), typed.value);
    }
  });

  function goBack() {
    document.getElementById("previous")?.click();
  }

  // --- Keys ------------------------------------------------------------------------------------
  const isAnswered = (question) => question.querySelector("input:checked, input[type=number]:valid") !== null;

  // The question that digits answer: where the focus is, else the first that is open.
  let current = null;
  function moveTo(question) {
    current = question;
    for (const each of questions) each.classList.toggle("current", each === question);
  }
  moveTo(questions.find((question) => !isAnswered(question)) || questions[0]);
  form.addEventListener("focusin", (event) => moveTo(event.target.closest("fieldset")));

  function choose(key) {
    const input = current.querySelector(`[data-key="${key}"]`);
    if (!input) return;
    const open = questions.find((question) => question !== current && !isAnswered(question));
    const isNew = !input.checked;
    input.checked = true;
    if (isNew) input.dispatchEvent(new Event("change", { bubbles: true }));
    (open ? open.querySelector("input") : input).focus();
  }

  const showKeys = () => dialog.showModal();
  const KEYS = {
    n: goOn,
    b: goBack,
    p: goBack,
    u: goBack,
    d: () => document.dispatchEvent(new Event("tiebreak:differences")),
    "?": showKeys,
  };
  const keysOn = document.getElementById("keys-on");
  keysOn.checked = localStorage.getItem("tiebreak:keys") !== "off";
  keysOn.addEventListener("change", () => localStorage.setItem("tiebreak:keys", keysOn.checked ? "on" : "off"));
  document.getElementById("show-keys").addEventListener("click", showKeys);
  document.getElementById("hide-keys").addEventListener("click", () => dialog.close());

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("dialog, input[type=number]");
    if (!keysOn.checked || isTyping || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.key === "Enter") {
      if (event.target.closest("a, button")) return;
      event.preventDefault();
      goOn();
    } else if (/^[1-9]$/.test(event.key)) {
      choose(event.key);
    } else {
      KEYS[event.key.toLowerCase()]?.();
    }
  });

  // --- What a reload found unsent is shown and sent again -----------------------------------------
  if (!isPreview) {
    window.addEventListener("load", () => {
      for (const question of unsent()) {
        show(question, unsentIn(question).value);
        send(question);
      }
    });
  }
})();
