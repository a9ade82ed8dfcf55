// Warns before leaving a page with unsaved changes.
"use strict";
(() => {
  // A form that was refused counts as changed, because its values are stored nowhere else.
  // One that only asks for another page has nothing to save.
  const saves = (form) => form.method !== "get";
  const changed = new Set([...document.querySelectorAll("form:has(.errorlist)")].filter(saves));
  let sending = null;

  const recordChange = (event) => {
    // A choice of how something is shown is stored nowhere.
    if (event.target.closest(".screens")) return;
    const form = event.target.form || event.target.closest("form");
    if (form && saves(form)) changed.add(form);
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
})();
