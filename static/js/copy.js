// Copies the text of an element or field to the clipboard.
"use strict";
(() => {
  const selected = (source) => {
    if (source.select) { source.select(); return; }
    const range = document.createRange();
    range.selectNodeContents(source);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };
  // A page without https or inside a platform's frame may not use the clipboard by itself.
  const copy = async (source) => {
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent);
      return true;
    } catch {
      selected(source);
      return document.execCommand("copy");
    }
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    const source = button && document.getElementById(button.dataset.copy);
    if (!source) return;
    const status = button.parentElement.querySelector(".copied");
    status.textContent = (await copy(source)) ? "Copied" : "Selected: copy it with your keyboard";
    setTimeout(() => { status.textContent = ""; }, 4000);
  });
})();
