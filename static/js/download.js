// Starts the download that a page has waited for, once, when its link arrives.
"use strict";
document.addEventListener("htmx:load", (event) => {
  const added = event.detail.elt;
  const link = added.matches("a[data-download]") ? added : added.querySelector("a[data-download]");
  if (link) link.click();
});
