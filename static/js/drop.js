// A file that is dropped anywhere on the page is chosen, as if it were picked in the field.
"use strict";
(() => {
  const zone = document.querySelector("[data-drop]");
  const input = zone && zone.querySelector('input[type="file"]');
  if (!input) return;
  const carriesFiles = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");

  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      zone.classList.add("is-over");
    });
  }
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) zone.classList.remove("is-over");
  });
  document.addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    zone.classList.remove("is-over");
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.focus();
  });
})();
