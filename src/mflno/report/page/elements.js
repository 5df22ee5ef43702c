// Making elements, reading packed numbers, writing numbers for people.
const make = (tag, attributes = {}, ...children) => {
  const found = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) found.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) found.setAttribute(key, value === true ? "" : value);
  }
  found.append(...children.filter((each) => each != null));
  return found;
};
const draw = (tag, attributes = {}, ...children) => {
  const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) if (value != null) found.setAttribute(key, value);
  found.append(...children.filter((each) => each != null));
  return found;
};
const numbers = (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
};
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const shown = (value, digits = 3) => {
  if (value == null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) {
    const [head, power] = value.toExponential(digits - 1).split("e");
    return `${head.replace("-", "−")} × 10${[...String(+power)].map((each) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(each)]).join("")}`;
  }
  const text = size >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(digits);
  return text.replace("-", "−");
};
const short = (value, digits = 4) => shown(value, digits).replace(/(\.\d*?)0+(?=$| )/, "$1").replace(/\.(?=$| )/, "");
const percent = (value) => value == null || !Number.isFinite(value) ? "–" : `${short(100 * value, value < 0.1 ? 2 : 3)} %`;
const duration = (seconds) => {
  if (seconds == null) return "–";
  if (seconds < 1) return `${shown(1000 * seconds, 2)} ms`;
  if (seconds < 120) return `${shown(seconds, 3)} s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s` : `${shown(seconds / 3600, 3)} h`;
};
const named = (axis) => axis.unit ? `${axis.name} (${axis.unit})` : axis.name;
let serial = 0;
const fresh = (stem) => `${stem}-${++serial}`;
const segments = (title, choices, chosen, onpick) => {
  const group = fresh("seg");
  const set = make("span", { class: "set" });
  choices.forEach(([value, text]) => {
    const id = fresh("choice");
    set.append(
      make("input", { type: "radio", name: group, id, checked: value === chosen, onchange: () => onpick(value) }),
      make("label", { for: id }, text),
    );
  });
  return make("fieldset", { class: "seg" }, make("legend", {}, title), set);
};
