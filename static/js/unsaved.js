// Warns before leaving a page with unsaved changes.
"use strict";
(() => {
  // One that only asks for another page has nothing to save.
  const saves = (form) => form.method !== "get";
  const kept = (form) => [...form.elements].filter((field) => field.name && !field.readOnly
    && !["hidden", "password", "file", "submit", "button"].includes(field.type));
  // A form that was refused counts as changed, because its values are stored nowhere else; one that
  // had a file alone has come back empty.
  const refused = [...document.querySelectorAll("form:has(.errorlist)")].filter(saves);
  const changed = new Set(refused.filter((form) => kept(form).length));
  let sending = null;

  const noteChange = (form) => {
    changed.add(form);
    // What was typed is not skipped.
    for (const skip of form.querySelectorAll("[data-typed]")) {
      [skip.value, skip.textContent] = ["1", skip.dataset.typed];
    }
  };
  const recordChange = (event) => {
    // A choice of how something is shown is stored nowhere.
    if (event.target.closest(".screens")) return;
    const form = event.target.form || event.target.closest("form");
    if (form && saves(form)) noteChange(form);
  };
  // Adding or removing rows of a formset is a change, too.
  for (const name of ["input", "change", "formset:added", "formset:removed"]) {
    document.addEventListener(name, recordChange);
  }

  // The form that is submitted is not lost, but changes in other forms of the page would be.
  document.addEventListener("submit", (event) => {
    // A preview in a frame saves nothing.
    if (event.submitter && event.submitter.formTarget) return;
    sending = event.target;
    setTimeout(() => { sending = null; }, 1000);
  });
  const isUnsaved = () => [...changed].some((form) => form.isConnected && form !== sending);
  window.addEventListener("beforeunload", (event) => {
    if (isUnsaved()) event.preventDefault();
  });

  // A page that waits for a platform reloads by itself, unless it has unsaved changes.
  const seconds = Number(document.documentElement.dataset.reloadSeconds);
  if (seconds) {
    setInterval(() => { if (!isUnsaved()) window.location.reload(); }, seconds * 1000);
  }

  // What is typed stays in this browser until the server said that it is saved: a session may end,
  // the server may fail, a tab may be closed. Passwords and files are never kept.
  const user = document.querySelector("[data-user]")?.dataset.user;
  // A form keeps its key where it is refused, which is at the address that it was sent to.
  const keyOf = (form) => `typed ${user} ${new URL(form.getAttribute("action") || "", location).pathname}`;
  const valueOf = (field) => {
    if (field.type === "checkbox" || field.type === "radio") return field.checked;
    return field.multiple ? [...field.options].map((option) => option.selected) : field.value;
  };
  // Radio buttons share a name, so fields are told apart by their order under it.
  const valuesOf = (form) => {
    const values = {};
    for (const field of kept(form)) (values[field.name] ||= []).push(valueOf(field));
    return values;
  };
  const store = (event) => {
    const form = event.target.form;
    if (!form || !saves(form)) return;
    try { localStorage.setItem(keyOf(form), JSON.stringify(valuesOf(form))); } catch { /* it is full */ }
  };
  document.addEventListener("input", store);
  document.addEventListener("change", store);

  const putBack = (form, values) => {
    for (const section of form.querySelectorAll(".rows[data-prefix]")) {
      const isNew = (name) => name.startsWith(`${section.dataset.prefix}-`) && !form.elements[name];
      for (let i = 0; i < 50 && Object.keys(values).some(isNew); i += 1) {
        section.querySelector("[data-add]")?.click();
      }
    }
    const taken = {};
    for (const field of kept(form)) {
      const value = values[field.name]?.[taken[field.name] ??= 0];
      taken[field.name] += 1;
      if (value === undefined) continue;
      if (typeof value === "boolean") field.checked = value;
      else if (Array.isArray(value)) [...field.options].forEach((o, i) => { o.selected = value[i]; });
      else field.value = value;
    }
    noteChange(form);
  };
  document.addEventListener("submit", (event) => {
    sessionStorage.setItem("sent", keyOf(event.target));
  });
  if (document.querySelector("main .success, .messagelist .success")) {
    localStorage.removeItem(sessionStorage.getItem("sent"));
  }
  for (const form of [...document.forms].filter(saves)) {
    const stored = localStorage.getItem(keyOf(form));
    if (!stored) continue;
    if (stored === JSON.stringify(valuesOf(form))) {
      localStorage.removeItem(keyOf(form));
      continue;
    }
    // The page has it all: it was refused, or answers what was sent, which may have filled in more.
    if (form.querySelector(".errorlist") || "answers" in form.dataset) continue;
    const note = document.createElement("p");
    note.setAttribute("role", "status");
    note.dataset.draft = "";
    note.append("What you typed here before is not in this form. ");
    const bringBack = () => putBack(form, JSON.parse(stored));
    for (const [text, act] of [["Bring it back", bringBack], ["Discard it", () => {}]]) {
      const button = document.createElement("button");
      [button.type, button.textContent] = ["button", text];
      button.addEventListener("click", () => {
        localStorage.removeItem(keyOf(form));
        note.remove();
        act();
      });
      note.append(button, " ");
    }
    form.prepend(note);
  }
})();
