// Adds rows to the forms of a step. Without this script, the same buttons save and add a row.
"use strict";
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-add]");
  if (!button) return;
  const section = button.closest(".rows");
  const total = section.querySelector("[name$='-TOTAL_FORMS']");
  const template = section.querySelector("template");
  const holder = document.createElement("div");
  holder.innerHTML = template.innerHTML.replaceAll("__prefix__", total.value);
  const row = holder.firstElementChild;
  template.before(row);
  total.value = Number(total.value) + 1;
  event.preventDefault();
  row.dispatchEvent(new CustomEvent("formset:added", { bubbles: true }));
  row.querySelector("input:not([type=hidden]), select, textarea").focus();
});
