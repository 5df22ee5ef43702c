// Line charts in SVG: axes with round ticks, bands, markers, a hover readout.
const ticks = (low, high, count) => {
  const raw = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= raw) || raw;
  const found = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + 1e-9 * step; x += step) found.push(Math.abs(x) < step * 1e-9 ? 0 : x);
  return found;
};
const logTicks = (low, high) => {
  const found = [], steps = high / low > 300 ? [1] : high / low > 20 ? [1, 3] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const each of steps) { const x = each * 10 ** power; if (x >= low * 0.999 && x <= high * 1.001) found.push(x); }
  return found;
};
const extent = (arrays) => {
  let low = Infinity, high = -Infinity;
  for (const array of arrays) for (const x of array) if (Number.isFinite(x)) { if (x < low) low = x; if (x > high) high = x; }
  return low <= high ? [low, high] : [0, 1];
};
const scaleOf = ([low, high], [first, last], log) => {
  if (log) { const a = Math.log(low), b = Math.log(high); return (x) => first + ((Math.log(Math.max(x, 1e-300)) - a) / (b - a || 1)) * (last - first); }
  return (x) => first + ((x - low) / (high - low || 1)) * (last - first);
};
const MARKS = {
  dot: (x, y) => draw("circle", { cx: x, cy: y, r: 4 }),
  square: (x, y) => draw("rect", { x: x - 3.5, y: y - 3.5, width: 7, height: 7 }),
  diamond: (x, y) => draw("path", { d: `M${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}L${x - 5} ${y}Z` }),
  up: (x, y) => draw("path", { d: `M${x} ${y - 5}L${x + 5} ${y + 4}L${x - 5} ${y + 4}Z` }),
};
const line = (xs, ys, sx, sy) => {
  let text = "", pen = "M";
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isFinite(ys[i])) { pen = "M"; continue; }
    text += `${pen}${sx(xs[i]).toFixed(1)} ${sy(ys[i]).toFixed(1)}`;
    pen = "L";
  }
  return text;
};
const axesOf = (spec, box, sx, sy, xTicks, yTicks) => {
  const group = draw("g", { "aria-hidden": "true" });
  for (const y of yTicks) {
    group.append(draw("line", { class: "grid", x1: box.left, x2: box.right, y1: sy(y), y2: sy(y) }));
    group.append(draw("text", { x: box.left - 7, y: sy(y) + 4, "text-anchor": "end" }, spec.y.percent ? percent(y) : short(y, 4)));
  }
  for (const x of xTicks)
    group.append(draw("text", { x: sx(x), y: box.bottom + 18, "text-anchor": "middle" }, spec.x.percent ? percent(x) : short(x, 5)));
  group.append(draw("path", { class: "axis", d: `M${box.left} ${box.bottom}H${box.right}` }));
  group.append(draw("text", { x: (box.left + box.right) / 2, y: box.bottom + 38, "text-anchor": "middle" }, spec.x.label));
  group.append(draw("text", { x: 0, y: 12 }, spec.y.label));
  return group;
};
const painted = (series, sx, sy) => {
  const colour = `var(--${series.colour})`, group = draw("g");
  if (series.lower) {
    const back = Float64Array.from(series.x).reverse(), under = Float64Array.from(series.lower).reverse();
    group.append(draw("path", { class: "area", fill: colour, d: `${line(series.x, series.upper, sx, sy)}${line(back, under, sx, sy).replace("M", "L")}Z` }));
  }
  if (series.y && series.join !== false)
    group.append(draw("path", { class: "series", stroke: colour, "stroke-dasharray": series.dash, d: line(series.x, series.y, sx, sy) }));
  if (series.mark) series.y.forEach((y, i) => {
    if (!Number.isFinite(y)) return;
    const mark = MARKS[series.mark](sx(series.x[i]), sy(y));
    mark.setAttribute("fill", series.hollow ? "var(--card)" : colour);
    mark.setAttribute("stroke", colour);
    mark.setAttribute("stroke-width", 1.6);
    if (series.tips) mark.append(draw("title", {}, series.tips[i]));
    group.append(mark);
  });
  return group;
};
const legendOf = (all) => {
  const list = make("ul", { class: "legend" });
  for (const series of all.filter((each) => each.name)) {
    const key = draw("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }), colour = `var(--${series.colour})`;
    if (series.lower) key.append(draw("rect", { width: 26, height: 10, rx: 2, fill: colour, class: "area" }));
    if (series.y && series.join !== false) key.append(draw("path", { class: "series", d: "M1 5H25", stroke: colour, "stroke-dasharray": series.dash }));
    if (series.mark) { const mark = MARKS[series.mark](13, 5); mark.setAttribute("fill", series.hollow ? "var(--card)" : colour); mark.setAttribute("stroke", colour); key.append(mark); }
    list.append(make("li", {}, key, series.name));
  }
  return list;
};
const rangesOf = (spec) => {
  let x = spec.x.range || extent(spec.series.map((each) => each.x));
  if (spec.x.log && !spec.x.range) x = [x[0] / 1.25, x[1] * 1.25];
  const values = spec.series.flatMap((each) => [each.y, each.lower, each.upper].filter(Boolean));
  let y = spec.y.range || extent(values);
  if (spec.y.log) y = [Math.max(y[0], 1e-12) / 1.25, y[1] * 1.25];
  else if (!spec.y.range) { const room = 0.06 * (y[1] - y[0] || Math.abs(y[0]) || 1); y = [spec.y.zero ? Math.min(0, y[0]) : y[0] - room, y[1] + room]; }
  return [spec.x.pad ? [x[0] - spec.x.pad, x[1] + spec.x.pad] : x, y];
};
const chart = (title, about) => {
  const host = make("figure", { class: "chart" }), area = make("div"), legend = make("div");
  const readout = make("p", { class: "readout", "aria-hidden": "true" });
  host.append(area, legend);
  let spec = null, frame = null;
  const redraw = () => {
    if (!spec) return;
    const width = Math.max(260, area.clientWidth || 640), height = spec.height || 300;
    const [x, y] = rangesOf(spec), box = { left: spec.margin || 52, right: width - 8, top: 24, bottom: height - 46 };
    const sx = scaleOf(x, [box.left, box.right], spec.x.log), sy = scaleOf(y, [box.bottom, box.top], spec.y.log);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `${title}. ${about || ""}` });
    const clip = fresh("clip");
    svg.append(draw("clipPath", { id: clip }, draw("rect", { x: box.left - 6, y: box.top - 8, width: box.right - box.left + 12, height: box.bottom - box.top + 14 })));
    const xTicks = spec.x.ticks || (spec.x.log ? logTicks(...x) : ticks(...x, Math.max(3, Math.floor(width / 110))));
    svg.append(axesOf(spec, box, sx, sy, xTicks, spec.y.log ? logTicks(...y) : ticks(...y, 4)));
    const inner = draw("g", { "clip-path": `url(#${clip})` });
    for (const series of spec.series) inner.append(painted(series, sx, sy));
    svg.append(inner);
    area.replaceChildren(svg);
    if (spec.legend !== false) legend.replaceChildren(legendOf(spec.series));
    frame = { svg, box, x, sx, sy, inner, width };
    if (spec.hover) hovering();
  };
  const hovering = () => {
    const mark = draw("line", { class: "hover", y1: frame.box.top, y2: frame.box.bottom, visibility: "hidden" });
    const zoom = draw("rect", { class: "zoom", y: frame.box.top, height: frame.box.bottom - frame.box.top, width: 0 });
    frame.svg.append(zoom, mark);
    const at = (event) => {
      const rect = frame.svg.getBoundingClientRect(), px = ((event.clientX - rect.left) / rect.width) * frame.width;
      return [px, frame.x[0] + ((px - frame.box.left) / (frame.box.right - frame.box.left)) * (frame.x[1] - frame.x[0])];
    };
    let from = null;
    frame.svg.onpointermove = (event) => {
      const [px, x] = at(event);
      const inside = px >= frame.box.left && px <= frame.box.right;
      mark.setAttribute("visibility", inside ? "visible" : "hidden");
      mark.setAttribute("x1", px); mark.setAttribute("x2", px);
      readout.textContent = inside ? spec.hover(x) : "";
      if (from != null) { zoom.setAttribute("x", Math.min(px, from[0])); zoom.setAttribute("width", Math.abs(px - from[0])); }
    };
    frame.svg.onpointerdown = (event) => { if (event.pointerType === "mouse" && spec.zoomed) from = at(event); };
    frame.svg.onpointerup = (event) => {
      const to = at(event);
      if (from && Math.abs(to[0] - from[0]) > 8) spec.zoomed([from[1], to[1]].sort((a, b) => a - b));
      from = null;
      zoom.setAttribute("width", 0);
    };
    frame.svg.onpointerleave = () => { mark.setAttribute("visibility", "hidden"); readout.textContent = ""; };
    host.append(readout);
  };
  new ResizeObserver(() => redraw()).observe(area);
  return { host, update: (next) => { spec = next; redraw(); } };
};
