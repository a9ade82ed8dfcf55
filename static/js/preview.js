// Updates the preview of a step while its form is filled in, and shows it as wide as a phone.
"use strict";
(() => {
  const form = document.getElementById("study_form");
  const buttons = form.querySelectorAll("[data-preview-page]");
  if (!buttons.length) return;
  let shown = buttons[0];
  let timer = 0;

  const show = () => form.requestSubmit(shown);
  form.addEventListener("input", (event) => {
    if (event.target.name === "preview_screen") return;
    clearTimeout(timer);
    timer = setTimeout(show, 800);
  });
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-preview-page]");
    if (!button) return;
    shown = button;
    form.querySelector("[data-full-size]").value = button.value;
  });
})();
