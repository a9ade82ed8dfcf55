// Asks for confirmation before leaving a page with unsaved form input.
"use strict";
(() => {
  // The input of a rejected form exists only on this page, so it counts as changed.
  const changed = new Set(document.querySelectorAll("form:has(.errorlist)"));
  let sending = null;

  const markChanged = (event) => {
    const form = event.target.form || event.target.closest("form");
    if (form) changed.add(form);
  };
  // Adding or removing inline rows is a change too.
  for (const name of ["input", "change", "formset:added", "formset:removed"]) {
    document.addEventListener(name, markChanged);
  }

  // Submitting a form saves its own input, but not the input of other forms on the page.
  document.addEventListener("submit", (event) => {
    sending = event.target;
    setTimeout(() => { sending = null; }, 1000);
  });
  const isUnsaved = () => [...changed].some((form) => form.isConnected && form !== sending);
  window.addEventListener("beforeunload", (event) => {
    if (isUnsaved()) event.preventDefault();
  });

  // A page that waits for a platform reloads itself, unless it has unsaved input.
  const seconds = Number(document.documentElement.dataset.reloadSeconds);
  if (seconds) {
    setInterval(() => { if (!isUnsaved()) window.location.reload(); }, seconds * 1000);
  }
})();
