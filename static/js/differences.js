// Highlights the words in which two texts differ. Wraps words in elements but never changes them.
"use strict";

(() => {
  const MAX_CELLS = 9_000_000; // two texts of 3,000 words each
  const texts = [...document.querySelectorAll(".compared")];
  const originals = texts.map((element) => element.textContent);
  let marked = false;

  const splitText = (text) => text.split(/(\s+)/).filter((part) => part !== "");
  const isWord = (part) => part.trim() !== "";

  // Returns the indices of the words of `a` and of `b` in a longest common subsequence.
  function commonWords(a, b) {
    const width = b.length + 1;
    const lengths = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        lengths[i * width + j] =
          a[i] === b[j]
            ? lengths[(i + 1) * width + j + 1] + 1
            : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
      }
    }
    const inA = new Set();
    const inB = new Set();
    for (let i = 0, j = 0; i < a.length && j < b.length; ) {
      if (a[i] === b[j]) {
        inA.add(i++);
        inB.add(j++);
      } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
        i += 1;
      } else {
        j += 1;
      }
    }
    return [inA, inB];
  }

  // Wraps each run of differing words, with the spaces between them, in one mark.
  function wrap(element, parts, shared) {
    const fragment = document.createDocumentFragment();
    let run = [];
    let gap = "";
    const close = () => {
      if (run.length) {
        const highlight = document.createElement("mark");
        highlight.textContent = run.join("");
        fragment.append(highlight);
      }
      fragment.append(gap);
      run = [];
      gap = "";
    };
    let index = 0;
    for (const part of parts) {
      if (!isWord(part)) {
        if (run.length) gap = part;
        else fragment.append(part);
      } else if (shared.has(index++)) {
        close();
        fragment.append(part);
      } else {
        run.push(gap, part);
        gap = "";
      }
    }
    close();
    element.replaceChildren(fragment);
  }

  function mark() {
    const parts = originals.map(splitText);
    const [a, b] = parts.map((tokens) => tokens.filter(isWord));
    if ((a.length + 1) * (b.length + 1) > MAX_CELLS) return false;
    commonWords(a, b).forEach((shared, side) => wrap(texts[side], parts[side], shared));
    return true;
  }

  document.addEventListener("tiebreak:differences", () => {
    if (texts.length !== 2) return;
    if (marked) texts.forEach((element, side) => (element.textContent = originals[side]));
    marked = !marked && mark();
  });
})();
