"use strict";
// Everything here is for comfort: without it the page shows all it has.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const root = document.documentElement;

  // Colours: auto, light, dark; kept where the browser allows it.
  const theme = document.getElementById("theme");
  const choose = (name) => {
    if (name === "auto") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", name);
    for (const button of all("button", theme)) button.setAttribute("aria-pressed", String(button.dataset.theme === name));
    try { localStorage.setItem("draftproof-theme", name); } catch { /* no storage here */ }
  };
  let kept = null;
  try { kept = localStorage.getItem("draftproof-theme"); } catch { /* no storage here */ }
  if (["light", "dark"].includes(kept)) choose(kept);
  theme.addEventListener("click", (event) => { if (event.target.dataset.theme) choose(event.target.dataset.theme); });
  theme.hidden = false;

  // Boxes that scroll sideways can be reached by keyboard, as long as they do.
  const reachable = () => {
    for (const box of all(".scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true);
  reachable();

  // Copy a block of code; where that is not allowed, select it.
  for (const button of all(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const block = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(block);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // A link into a closed part opens it.
  const open = () => {
    let part = location.hash && document.getElementById(location.hash.slice(1));
    while (part) {
      if (part.tagName === "DETAILS") part.open = true;
      part = part.parentElement;
    }
  };
  addEventListener("hashchange", open);
  for (const link of all('a[href^="#"]')) link.addEventListener("click", () => setTimeout(open));
  open();

  // The filter hides whatever is about subjects of another outcome or name.
  const form = document.getElementById("filter");
  if (!form) return;
  const parts = all("[data-outcome]");
  const rows = parts.filter((part) => part.tagName === "TR");
  const shown = document.getElementById("shown");
  const filter = () => {
    const outcome = form.elements.outcome.value;
    const name = form.elements.subject.value.trim().toLowerCase();
    const wanted = new Set();
    for (const row of rows) {
      row.hidden = !((outcome === "all" || row.dataset.outcome === outcome) && row.dataset.subject.includes(name));
      if (!row.hidden) wanted.add(row.dataset.subject);
    }
    for (const part of parts) if (part.tagName !== "TR") part.hidden = !wanted.has(part.dataset.subject);
    for (const section of all("main > section")) {
      const told = all(":scope > article[data-outcome]", section);
      if (told.length) section.hidden = told.every((part) => part.hidden);
    }
    const number = rows.filter((row) => !row.hidden).length;
    shown.textContent = number === rows.length ? "" : `${number} of ${rows.length} subjects shown`;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
})();
