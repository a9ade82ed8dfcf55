// Asks before a page is left on which something was typed and not sent.
"use strict";
(() => {
  // What was refused stands on the page and nowhere else.
  const changed = new Set(document.querySelectorAll("form:has(.errorlist)"));
  let sending = null;

  const note = (event) => {
    const form = event.target.form || event.target.closest("form");
    if (form) changed.add(form);
  };
  // Rows added to a form, or taken out of it, are changes too.
  for (const name of ["input", "change", "formset:added", "formset:removed"]) {
    document.addEventListener(name, note);
  }

  // What is sent is not lost; what stands in another form of the page would be.
  document.addEventListener("submit", (event) => {
    sending = event.target;
    setTimeout(() => { sending = null; }, 1000);
  });
  const isUnsaved = () => [...changed].some((form) => form.isConnected && form !== sending);
  window.addEventListener("beforeunload", (event) => {
    if (isUnsaved()) event.preventDefault();
  });

  // A page that waits for a platform looks again by itself, unless somebody is typing in it.
  const seconds = Number(document.documentElement.dataset.lookAgain);
  if (seconds) {
    setInterval(() => { if (!isUnsaved()) window.location.reload(); }, seconds * 1000);
  }
})();
