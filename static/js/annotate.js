// Saves each answer as soon as it is chosen, stores unsent answers in the browser, and adds
// keyboard shortcuts. Without this script, the page is a plain form with the same effect.
"use strict";

(() => {
  const form = document.getElementById("answer");
  if (!form || !window.htmx) return;
  const status = document.getElementById("status");
  const dialog = document.getElementById("keys");
  const isPreview = "preview" in form.dataset;
  const questions = [...form.querySelectorAll("fieldset")];
  const stacked = window.matchMedia("(max-width: 40rem)");

  // A browser may deny storage inside another site's frame. What is stored then lasts as long as the page.
  function storageOrMemory(name) {
    try {
      return window[name];
    } catch {
      const stored = new Map();
      return {
        getItem: (key) => stored.get(key) ?? null,
        setItem: (key, value) => stored.set(key, value),
        removeItem: (key) => stored.delete(key),
      };
    }
  }
  const sessionStore = storageOrMemory("sessionStorage");
  const localStore = storageOrMemory("localStorage");

  // Chrome marks a page that it translates, Edge what it translates in it, and others change its language.
  const page = document.documentElement;
  const language = page.lang;
  const isTranslated = () =>
    /\btranslated-/.test(page.className) || page.lang !== language || document.querySelector("[_msttexthash]") !== null;

  // --- How long the page was visible ---------------------------------------------------------
  let visibleBefore = 0;
  let visibleSince = document.hidden ? null : performance.now();
  const visibleMs = () =>
    Math.round(visibleBefore + (visibleSince === null ? 0 : performance.now() - visibleSince));
  document.addEventListener("visibilitychange", () => {
    visibleBefore = visibleMs();
    visibleSince = document.hidden ? null : performance.now();
  });

  // --- Unsaved answers, stored until the server confirms them -----------------------------------
  const fieldOf = (question) => question.querySelector("input").name;
  const reasonOf = (question) => question.querySelector("textarea");
  // A long scale has a number field, and radio buttons of the same name for answers that are no label.
  function valueOf(question) {
    const chosen = question.querySelector("input:checked") || question.querySelector("input[type=number]");
    return chosen && chosen.checkValidity() ? chosen.value : "";
  }
  // Browsers drop a comma from a number, unless their language writes one: 2,5 would become 25 unseen.
  const writesComma = (1.5).toLocaleString(navigator.language).includes(",");
  form.addEventListener("beforeinput", (event) => {
    if (writesComma || event.target.type !== "number" || event.data !== ",") return;
    event.preventDefault();
    document.execCommand("insertText", false, ".");
  });
  const NO_LABEL = ",";
  const BROKEN = `${NO_LABEL}broken`;
  // Say what a required reason lacks, as the server would, so that only complete answers are sent.
  function lacksReason(question) {
    const reason = reasonOf(question);
    if (!reason) return false;
    const least = Number(reason.dataset.least);
    const isShort = !valueOf(question).startsWith(NO_LABEL) && reason.value.trim().length < least;
    reason.setCustomValidity(isShort ? `Please give a reason of at least ${least} characters.` : "");
    return isShort;
  }
  const storageKey = (question) =>
    ["unsent", form.elements.assignment.value, form.elements.position.value, fieldOf(question)].join(":");
  const unsentAnswer = (question) => JSON.parse(sessionStore.getItem(storageKey(question)) || "null");
  const unsent = () => questions.filter((question) => unsentAnswer(question) !== null);
  const newKey = () =>
    crypto.randomUUID
      ? crypto.randomUUID()
      : Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16).padStart(8, "0")).join("-");

  // A repeated request has the same key, so that the server recognises the same answer.
  function store(question) {
    const earlier = unsentAnswer(question);
    const value = valueOf(question);
    const reason = reasonOf(question)?.value;
    if (earlier && earlier.value === value && earlier.reason === reason) return earlier;
    const answer = { value, reason, key: newKey(), duration: visibleMs() };
    sessionStore.setItem(storageKey(question), JSON.stringify(answer));
    return answer;
  }

  function show(question, { value, reason }) {
    for (const input of question.querySelectorAll("input")) {
      if (input.type === "radio") input.checked = input.value === value;
      else input.value = value.startsWith(NO_LABEL) ? "" : value;
    }
    if (reason !== undefined) reasonOf(question).value = reason;
  }

  // --- Saving ----------------------------------------------------------------------------------
  let attempts = 0;
  let timer = null;
  let isLeaving = false;

  const SENTENCES = {
    saving: "Saving…",
    offline: "No connection. Your answer is stored in this browser but not saved yet.",
    // The server may have saved an answer although its confirmation was lost.
    unknown: "Your answer may not be saved yet. Trying again…",
    stale: "No connection. This page may be out of date.",
    uncommented: "Your comment was not saved. Please try again.",
    blocked: "No connection. Please wait. The next page opens when you are online again.",
    outdated: "Your answer was not saved, because this page is out of date. Please reload it.",
    reason: "Your answer will be saved once you have given a reason.",
  };
  function showStatus(state, where = status) {
    const line = document.createElement("span");
    line.textContent = SENTENCES[state];
    line.dataset.status = state;
    line.className = state === "saving" ? "" : "alarm";
    where.replaceChildren(line);
  }

  const progress = () => document.getElementById("progress");
  const send = (question) => window.htmx.trigger(question, "resend");

  function showUnsent() {
    const n = unsent().length;
    if (n) progress().dataset.waiting = n;
    if (n && timer === null && navigator.onLine) showStatus("saving");
    else if (n) showStatus(navigator.onLine ? "unknown" : "offline");
  }

  function retrySoon() {
    const wait = Math.min(30, 2 ** attempts);
    attempts += 1;
    clearTimeout(timer);
    timer = setTimeout(retryNow, wait * 1000);
    showUnsent();
  }

  // Does nothing unless a retry is pending, because requests in progress must not be sent twice.
  function retryNow() {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    unsent().forEach(send);
  }

  document.addEventListener("htmx:configRequest", (event) => {
    const question = event.target;
    if (!questions.includes(question)) return;
    const { parameters } = event.detail;
    const value = valueOf(question);
    if (!value || lacksReason(question)) {
      event.preventDefault();
      if (value) showStatus("reason");
      else question.querySelector("input:invalid")?.reportValidity();
      return;
    }
    question.dataset.sent = value;
    parameters[fieldOf(question)] = value;
    // Send this question only: a repeated request must not restore another question's old answer.
    for (const other of questions) if (other !== question) delete parameters[fieldOf(other)];
    const answer = store(question);
    parameters.client_key = answer.key;
    parameters.duration_ms = String(answer.duration);
    parameters.layout = (stacked.matches ? "stacked" : "side_by_side") + (isTranslated() ? "_translated" : "");
    question.dataset.sending = answer.key;
    showStatus("saving");
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
    const stored = unsentAnswer(question);
    if (stored && stored.key === question.dataset.sending) sessionStore.removeItem(storageKey(question));
    if (code < 400) {
      // What is broken is so for every question, unless another answer to it is on its way.
      if (question.dataset.sent === BROKEN) {
        for (const other of questions) if (unsentAnswer(other) === null) show(other, { value: BROKEN });
      }
      showUnsent();
      continueIfSaved();
    } else if (code !== 400 && code !== 409) showStatus("outdated");
  });

  // In training, feedback appears below the choices, possibly outside the visible area.
  document.addEventListener("htmx:oobAfterSwap", () => {
    const feedback = document.getElementById("feedback");
    if (feedback?.children.length) feedback.scrollIntoView({ block: "nearest" });
  });

  // A page that the browser restores from its back/forward cache may be out of date.
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted || isPreview) return;
    if (navigator.onLine) location.reload();
    else showStatus("stale");
  });
  window.addEventListener("offline", () => isPreview || showUnsent());
  window.addEventListener("online", () => {
    retryNow();
    continueIfSaved();
  });
  window.addEventListener("beforeunload", (event) => {
    const isUnsaved = (question) => lacksReason(question) && reasonOf(question).value !== reasonOf(question).defaultValue;
    if (!isPreview && (unsent().length || questions.some(isUnsaved) || isCommentUnsaved())) event.preventDefault();
  });

  // --- Comment ---------------------------------------------------------------------------------
  const comment = document.getElementById("comment");
  const isCommentUnsaved = () => comment !== null && comment.elements.comment.value !== comment.elements.comment.defaultValue;
  comment?.addEventListener("htmx:afterRequest", ({ detail }) => {
    const code = detail.xhr.status;
    if (code >= 200 && code < 400) comment.elements.comment.defaultValue = detail.requestConfig.parameters.comment;
    else if (code !== 400 && code !== 409) showStatus("uncommented", document.getElementById("comment-status"));
  });

  // --- Next and previous -------------------------------------------------------------------------
  const nextLink = () => document.querySelector("#next a");
  const previousLink = () => document.getElementById("previous");
  let wayOut = nextLink;

  function continueIfSaved() {
    if (isLeaving && navigator.onLine && !unsent().length) wayOut()?.click();
  }

  function goNext() {
    questions.forEach(lacksReason);
    for (const number of form.querySelectorAll("input[type=number]")) {
      number.required = number.closest("fieldset").querySelector("input:checked") === null;
    }
    if (isPreview || !form.reportValidity()) return;
    isLeaving = true;
    wayOut = nextLink;
    if (unsent().length) retryNow();
    else if (nextLink()) continueIfSaved();
    else questions.forEach(send);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    goNext();
  });
  // Store a choice at once, because its request may have to wait for earlier ones.
  form.addEventListener("change", (event) => {
    isLeaving = false;
    const question = event.target.closest("fieldset");
    if (!question) return;
    if (event.target.type === "radio" && event.target.value.startsWith(NO_LABEL)) show(question, event.target);
    if (!isPreview && valueOf(question) && !lacksReason(question)) store(question);
  });
  // Without a connection, following a link would show the browser's error page. With one, a reason that
  // was just typed is sent first.
  document.addEventListener("click", (event) => {
    if (isPreview || !event.target.closest("#next a, #previous")) return;
    if (navigator.onLine && !unsent().length) return;
    event.preventDefault();
    const isNext = event.target.closest("#next a") !== null;
    isLeaving = isNext || navigator.onLine;
    wayOut = isNext ? nextLink : previousLink;
    if (!navigator.onLine) showStatus("blocked");
  });
  // Store typed numbers at once; they are sent when the field loses focus or the page is reloaded.
  form.addEventListener("input", (event) => {
    const question = event.target.closest("fieldset");
    if (!question) return;
    // To set the number again would destroy a decimal that is being typed.
    if (event.target.type === "number") for (const chosen of question.querySelectorAll("input:checked")) chosen.checked = false;
    const isTyped = event.target.type !== "radio";
    if (!isPreview && isTyped && valueOf(question) && !lacksReason(question)) store(question);
  });

  function goPrevious() {
    previousLink()?.click();
  }

  // --- Keyboard shortcuts ------------------------------------------------------------------------
  const isAnswered = (question) => valueOf(question) !== "" && !lacksReason(question);

  // The question that digit keys answer: the focused question, or else the first unanswered one.
  let current = null;
  function setCurrent(question) {
    current = question;
    for (const other of questions) other.classList.toggle("current", other === question);
  }
  setCurrent(questions.find((question) => !isAnswered(question)) || questions[0]);
  form.addEventListener("focusin", (event) => setCurrent(event.target.closest("fieldset")));

  function choose(key) {
    const input = current.querySelector(`[data-key="${key}"]`);
    if (!input) return;
    const unanswered = questions.find((question) => question !== current && !isAnswered(question));
    const isNew = !input.checked;
    input.checked = true;
    if (isNew) input.dispatchEvent(new Event("change", { bubbles: true }));
    const next = lacksReason(current) ? reasonOf(current) : unanswered?.querySelector("input");
    (next || input).focus();
  }

  // Both texts scroll together by most of a panel, each at most to its own end.
  function scrollTexts(direction) {
    for (const panel of document.querySelectorAll(".work article")) {
      panel.scrollBy(0, direction * panel.clientHeight * 0.85);
    }
  }

  const showKeys = () => dialog.showModal();
  const KEYS = {
    j: () => scrollTexts(1),
    k: () => scrollTexts(-1),
    n: goNext,
    b: goPrevious,
    p: goPrevious,
    u: goPrevious,
    d: () => document.dispatchEvent(new Event("tiebreak:differences")),
    "?": showKeys,
  };
  const keysOn = document.getElementById("keys-on");
  keysOn.checked = localStore.getItem("tiebreak:keys") !== "off";
  keysOn.addEventListener("change", () => localStore.setItem("tiebreak:keys", keysOn.checked ? "on" : "off"));
  document.getElementById("show-keys").addEventListener("click", showKeys);
  document.getElementById("hide-keys").addEventListener("click", () => dialog.close());

  // Keys count by their sign or, on keyboards that have other signs there, by their place.
  function keyOf(event) {
    const sign = event.key.toLowerCase();
    if (sign in KEYS || /^[0-9x]$/.test(sign) || event.key.length > 1 || event.shiftKey) return sign;
    return event.code.replace(/^(Key|Digit|Numpad)/, "").toLowerCase();
  }

  document.addEventListener("keydown", (event) => {
    const key = keyOf(event);
    const isTyping = event.target.closest("dialog, input[type=number], textarea");
    if (!keysOn.checked || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.repeat && !/^[jk]$/.test(key)) return;
    if (key === "enter") {
      if (event.target.closest("a, button, summary")) return;
      event.preventDefault();
      goNext();
    } else if (/^[0-9x]$/.test(key)) {
      event.preventDefault(); // the key would be typed into a reason that gets the focus
      choose(key);
    } else {
      KEYS[key]?.();
    }
  });

  // --- A source above the texts that does not fit its box ------------------------------------------
  const source = document.querySelector(".source");
  const more = document.querySelector(".more");
  const boxed = window.matchMedia("(max-width: 60rem)");
  // A source is open where it is met first, because what it asks may stand at its end. When it comes
  // again, its box folds; where the button would hide as much as is left, the box grows instead.
  const isKnown = source && sessionStore.getItem("source") === source.textContent;
  function showMore() {
    if (boxed.matches && !isKnown) return showWhole();
    more.hidden = true;
    source.classList.remove("whole");
    const rest = boxed.matches ? source.scrollHeight - source.clientHeight : 0;
    more.hidden = rest <= 0;
    if (rest > 0 && rest <= 2 * more.offsetHeight) showWhole();
  }
  function showWhole() {
    more.hidden = true;
    source.classList.add("whole");
  }
  if (source) {
    showMore();
    sessionStore.setItem("source", source.textContent);
    boxed.addEventListener("change", showMore);
    document.fonts.ready.then(showMore);
    more.firstElementChild.addEventListener("click", () => {
      showWhole();
      source.focus({ preventScroll: true });
    });
  }

  // --- Once the page has loaded, send what has not been sent --------------------------------------
  const isChanged = (input) =>
    input.type === "radio" ? input.checked && !input.defaultChecked : input.value !== input.defaultValue && input.checkValidity();

  // On a slow connection, people answer before this script runs.
  function storeEarlyAnswers() {
    for (const question of questions) {
      const isGiven = [...question.querySelectorAll("input, textarea")].some(isChanged);
      if (isGiven && isAnswered(question)) store(question);
    }
  }

  if (!isPreview) {
    storeEarlyAnswers();
    window.addEventListener("load", () => {
      for (const question of unsent()) {
        show(question, unsentAnswer(question));
        send(question);
      }
    });
  }
})();
