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

// What happens is told by a stream of events, at which the page is renewed: at most once a second.
// Without a stream, and for what is no event (a try, a message that was submitted), it asks by time.
const kinds = ["verdicts", "responses", "inbox", "notices", "incidents"];
let stream = null;
let due = null;

function soon() {
  due ??= setTimeout(() => {
    due = null;
    renew();
  }, 1000);
}

// A browser keeps few connections to one address: a page that nobody sees gives its own back.
function follow() {
  if (document.hidden) {
    stream?.close();
    stream = null;
  } else if (stream === null) {
    stream = new EventSource("/console/events");
    for (const kind of kinds) stream.addEventListener(kind, soon);
  }
}

if (everySeconds) {
  note(`and again every ${everySeconds} s`);
  setInterval(renew, everySeconds * 1000);
  follow();
  document.addEventListener("visibilitychange", follow);
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
