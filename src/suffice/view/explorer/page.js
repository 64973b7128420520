// Helpers shared by all parts of the page: elements, numbers, events between parts, and colours.

const byId = (id) => document.getElementById(id);

// Create an element. Strings among the children become text, never HTML, so contents of a log cannot run.
function make(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

const minus = (text) => text.replace("-", "−");
const shortNumber = (value) => minus(String(Number(value.toPrecision(4))));
const fullNumber = (count) => count.toLocaleString("en-GB");

function percent(share) {
  if (share === 0 || share === 1) return `${100 * share} %`;
  const digits = share >= 0.0995 && share <= 0.9 ? 0 : share >= 0.01 && share <= 0.99 ? 1 : 2;
  const text = (100 * share).toFixed(digits);
  if (Number(text) === 0) return "< 0.01 %";
  return Number(text) === 100 ? "> 99.99 %" : `${text} %`;
}

const plural = (n, word) => `${fullNumber(n)} ${word}${n === 1 ? "" : "s"}`;

// Events by which parts of the page notify each other.
const listeners = new Map();
const listen = (what, listener) => listeners.set(what, [...(listeners.get(what) ?? []), listener]);
const notify = (what, ...news) => (listeners.get(what) ?? []).forEach((listener) => listener(...news));

// Announce a text to screen readers.
const announce = (text) => { byId("live").textContent = text; };

const calm = matchMedia("(prefers-reduced-motion: reduce)");

// Colours of the style sheet, for drawing on the canvas.
let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["page", "ink", "note", "faint", "line", "rim", "state", "poor", "rich", "planned", "trail", "alone", "found"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function blend(low, high, share) {
  const part = (colour, i) => parseInt(colour.slice(i, i + 2), 16);
  const mixed = [1, 3, 5].map((i) => Math.round(part(low, i) + share * (part(high, i) - part(low, i))));
  return `rgb(${mixed.join(" ")})`;
}
