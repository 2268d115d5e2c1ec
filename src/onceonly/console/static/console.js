// Makes the pages quicker to use. Every page works without it.
"use strict";

const main = document.querySelector("main");

// Live: fetches the page again and puts its content in the place of the old one. Not while nobody
// sees it, and not while somebody types or has opened something in it.
const everySeconds = Number(main.dataset.live);

function isInUse() {
  const focused = document.activeElement;
  return (
    document.hidden ||
    ["INPUT", "TEXTAREA", "SELECT"].includes(focused.tagName) ||
    main.querySelector("details[open]") !== null ||
    String(document.getSelection()) !== ""
  );
}

function placeOf(element) {
  const all = [...main.querySelectorAll("a, button, [tabindex]")];
  return all.indexOf(element);
}

async function renew() {
  if (isInUse()) return;
  let text;
  try {
    const answer = await fetch(location.href, {
      headers: { "x-onceonly-live": "1" },
      redirect: "error",
    });
    if (!answer.ok) return note(`${answer.status}: reload the page`);
    text = await answer.text();
  } catch {
    return note("no answer: the gateway may be stopped");
  }
  if (isInUse()) return;
  const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  const place = placeOf(document.activeElement);
  main.replaceChildren(...fresh.childNodes);
  if (place >= 0) main.querySelectorAll("a, button, [tabindex]")[place]?.focus({ preventScroll: true });
  note(`and again every ${everySeconds} s`);
}

function note(text) {
  const place = main.querySelector("[data-live-note]");
  if (place) place.textContent = `· ${text}`;
}

if (everySeconds) {
  note(`and again every ${everySeconds} s`);
  setInterval(renew, everySeconds * 1000);
}

// Keys: / goes to the query line, j and k go through the rows of a list.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    const line = document.getElementById("q");
    if (line) line.focus();
    else location.assign("/console/messages#q");
  } else if (event.key === "j" || event.key === "k") {
    const rows = [...document.querySelectorAll("[data-row]")];
    const at = rows.indexOf(document.activeElement);
    const next = rows[event.key === "j" ? at + 1 : Math.max(0, at - 1)];
    if (next) next.focus();
  }
});
if (location.hash === "#q") document.getElementById("q")?.focus();
