// Highlights the words in which two texts differ. Wraps words in elements but never changes them.
"use strict";

(() => {
  const MAX_CELLS = 9_000_000; // two texts of 3,000 differing words each
  const texts = [...document.querySelectorAll(".compared")];
  const button = document.getElementById("differences");
  if (texts.length !== 2 || !button) return;

  // The smallest parts of a text that are marked: text nodes, and formulas as a whole.
  function leaves(text) {
    const accept = (node) => {
      if (node.nodeType === Node.TEXT_NODE || node.localName === "math") return NodeFilter.FILTER_ACCEPT;
      return NodeFilter.FILTER_SKIP;
    };
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, accept);
    const nodes = [];
    while (walker.nextNode()) {
      if (!walker.currentNode.parentNode.closest("math")) nodes.push(walker.currentNode);
    }
    return nodes;
  }

  const splitText = (text) => text.split(/(\s+)/).filter((part) => part !== "");
  const isWord = (part) => part.trim() !== "";
  const partsOf = (leaf) => (leaf.nodeType === Node.TEXT_NODE ? splitText(leaf.data) : [leaf.textContent]);

  // Returns a word as it is compared: without the punctuation around it, which is not “%” or a minus, and
  // without the capital that may only begin a sentence.
  function bare(word) {
    const inner = word.replace(/^[("'“‘«[{*_]+|[.,;:!?…)"'”’»\]}*_]+$/gu, "") || word;
    return inner.slice(1) === inner.slice(1).toLowerCase() ? inner.toLowerCase() : inner;
  }

  const isProse = (leaf) => leaf.nodeType === Node.TEXT_NODE && !leaf.parentNode.closest("code");
  const bareParts = (leaf) => (isProse(leaf) ? partsOf(leaf).map(bare) : partsOf(leaf));

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

  // The same for near-identical texts of any length: what both begin and end with is common.
  function sharedWords(a, b) {
    let start = 0;
    while (start < Math.min(a.length, b.length) && a[start] === b[start]) start += 1;
    let end = 0;
    const rest = Math.min(a.length, b.length) - start;
    while (end < rest && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
    const middle = [a, b].map((words) => words.slice(start, words.length - end));
    if ((middle[0].length + 1) * (middle[1].length + 1) > MAX_CELLS) return null;
    const common = commonWords(...middle);
    return [a, b].map(
      (words, side) =>
        new Set(
          [...words.keys()].filter(
            (i) => i < start || i >= words.length - end || common[side].has(i - start),
          ),
        ),
    );
  }

  function highlight(content) {
    const element = document.createElement("mark");
    element.append(content);
    return element;
  }

  // Wraps each run of differing words, with the spaces between them, in one mark.
  function marked(parts, isShared) {
    const fragment = document.createDocumentFragment();
    let run = [];
    let gap = "";
    const close = () => {
      if (run.length) fragment.append(highlight(run.join("")));
      fragment.append(gap);
      run = [];
      gap = "";
    };
    for (const part of parts) {
      if (!isWord(part)) {
        if (run.length) gap = part;
        else fragment.append(part);
      } else if (isShared()) {
        close();
        fragment.append(part);
      } else {
        run.push(gap, part);
        gap = "";
      }
    }
    close();
    return fragment;
  }

  function markText(nodes, shared) {
    let index = 0;
    const isShared = () => shared.has(index++);
    for (const node of nodes) {
      if (node.nodeType === Node.TEXT_NODE) node.replaceWith(marked(splitText(node.data), isShared));
      else if (!isShared()) node.replaceWith(highlight(node.cloneNode(true)));
    }
  }

  function unmark() {
    for (const text of texts) {
      for (const element of text.querySelectorAll("mark")) element.replaceWith(...element.childNodes);
      text.normalize();
    }
  }

  function mark() {
    const nodes = texts.map(leaves);
    const words = nodes.map((of) => of.flatMap(partsOf).filter(isWord));
    let shared = sharedWords(...nodes.map((of) => of.flatMap(bareParts).filter(isWord)));
    // Texts that differ in nothing else are compared to the letter.
    if (shared?.every((of, side) => of.size === words[side].length)) shared = sharedWords(...words);
    if (shared === null) return false;
    nodes.forEach((of, side) => markText(of, shared[side]));
    return true;
  }

  const isOn = () => button.getAttribute("aria-pressed") === "true";
  function toggle() {
    if (isOn()) {
      unmark();
      button.setAttribute("aria-pressed", "false");
    } else if (mark()) {
      button.setAttribute("aria-pressed", "true");
    } else {
      button.hidden = true;
      document.getElementById("too-long").hidden = false;
    }
  }

  button.hidden = false;
  button.addEventListener("click", toggle);
  document.addEventListener("tiebreak:differences", () => button.hidden || toggle());
})();
