// Numbers are replaced while somebody reads them: what the reader has unfolded or folded stays so.
function nameOf(details) {
  const within = details.closest("[aria-labelledby]")?.getAttribute("aria-labelledby") ?? "";
  return `${within} ${details.querySelector("summary").textContent}`;
}

document.addEventListener("htmx:oobBeforeSwap", ({ detail: { target, fragment } }) => {
  const open = new Map([...target.querySelectorAll("details")].map((one) => [nameOf(one), one.open]));
  fragment.querySelectorAll("details").forEach((one) => {
    one.open = open.get(nameOf(one)) ?? one.open;
  });
});
