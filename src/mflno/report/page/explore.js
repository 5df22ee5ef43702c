// Predictions for the case the reader picks.
const exploreView = (D) => {
  const predictor = surrogateOf(D.model), count = D.time.count, outputs = D.outputs.length;
  const grid = Float64Array.from({ length: count }, (_, i) => D.time.start + i * D.time.step);
  const truths = D.truths ? numbers(D.truths.values) : null;
  const state = {
    place: [...D.start], axes: D.parameters.length > 1 ? [0, 1] : [0], round: D.rounds.length - 1, level: 0.95, output: 0,
    window: [grid[0], grid[count - 1]], run: null,
    real: (axis) => D.parameters[axis].low + ((state.place[axis] + 1) / 2) * (D.parameters[axis].high - D.parameters[axis].low),
  };
  const view = chart("Predicted trajectory with its band", "Move the sliders or the place in the plane to see another case.");
  const width = chart("Half-width of the band over time", "Where in time the surrogate is least sure.");
  const sliders = [], live = make("p", { class: "sr", "aria-live": "polite" });
  const part = (values) => values.subarray(state.output * count, (state.output + 1) * count);
  const curve = () => {
    const found = predictor.predict(state.place), factor = reach(D.radius, state.level), mean = part(found.mean), std = part(found.std);
    return { case: D.parameters.map((_, axis) => state.real(axis)), time: grid, mean, std, lower: mean.map((m, i) => m - factor * std[i]), upper: mean.map((m, i) => m + factor * std[i]) };
  };
  const solved = () => {
    // The run at this very place, where there is one.
    const near = D.runs.findIndex((run) => run.row != null && run.place.every((x, axis) => Math.abs(x - state.place[axis]) < 1e-9));
    return near < 0 ? null : truths.subarray((D.runs[near].row * outputs + state.output) * count, (D.runs[near].row * outputs + state.output + 1) * count);
  };
  const refresh = () => {
    const found = curve(), truth = truths ? solved() : null;
    const share = `${Math.round(100 * state.level)} % band`;
    const series = [{ name: share, colour: "c1", x: grid, lower: found.lower, upper: found.upper }, { name: "prediction", colour: "c1", x: grid, y: found.mean }];
    if (truth) series.push({ name: "the run itself", colour: "c2", x: grid, y: truth, dash: "2 5" });
    view.update({
      height: 360, series, x: { label: D.time.label, range: state.window }, y: { label: D.outputs[state.output] },
      hover: (x) => {
        const i = clamp(Math.round((x - D.time.start) / D.time.step), 0, count - 1);
        return `${D.time.label} ${shown(grid[i], 4)}:  ${D.outputs[state.output]} = ${shown(found.mean[i], 4)}, band ${shown(found.lower[i], 4)} to ${shown(found.upper[i], 4)}`;
      },
      zoomed: (window) => { state.window = window; refresh(); },
    });
    const half = [{ name: `half-width of the ${share}`, colour: "c1", x: grid, y: found.upper.map((each, i) => each - found.mean[i]) }];
    if (truth) half.push({ name: "error of the prediction", colour: "c2", x: grid, y: found.mean.map((each, i) => Math.abs(each - truth[i])), dash: "2 5" });
    width.update({ height: 170, series: half, x: { label: D.time.label, range: state.window }, y: { label: `± ${D.outputs[state.output]}`, zero: true } });
    plane.redraw();
    sliders.forEach((each, axis) => each(axis));
  };
  const later = () => {
    clearTimeout(later.timer);
    later.timer = setTimeout(() => { live.textContent = D.parameters.map((each, axis) => `${each.name} ${shown(state.real(axis), 4)}`).join(", "); }, 400);
  };
  const moved = (place) => { state.place = predictor.snap(place); refresh(); later(); };
  const chosen = (index) => moved([...D.runs[index].place]);
  const plane = planeView(D, state, moved, chosen);
  const controls = make("div", { class: "controls" });
  D.parameters.forEach((axis, index) => {
    const id = fresh("slider"), out = make("output", { for: id });
    const input = make("input", { id, type: "range", min: axis.low, max: axis.high, step: (axis.high - axis.low) / 1000 });
    input.addEventListener("input", () => { const next = [...state.place]; next[index] = (2 * (input.valueAsNumber - axis.low)) / (axis.high - axis.low) - 1; moved(next); });
    sliders.push(() => { input.value = state.real(index); out.textContent = `${short(state.real(index))} ${axis.unit}`.trim(); input.setAttribute("aria-valuetext", out.textContent); });
    controls.append(make("div", { class: "slider" }, make("label", { for: id }, named(axis)), out, input, make("span", { class: "ends", "aria-hidden": "true" }, make("span", {}, short(axis.low)), make("span", {}, short(axis.high)))));
  });
  const bars = make("div", { class: "bar" });
  bars.append(segments("Band", [[0.6827, "68 %"], [0.95, "95 %"]], 0.95, (level) => { state.level = level; refresh(); }));
  if (outputs > 1) bars.append(segments("Output", D.outputs.map((each, i) => [i, each]), 0, (output) => { state.output = output; refresh(); }));
  const shift = (by, zoom) => {
    const full = [grid[0], grid[count - 1]], [a, b] = state.window, centre = (a + b) / 2 + by * (b - a), half = clamp(((b - a) / 2) * zoom, 4 * D.time.step, (full[1] - full[0]) / 2);
    const low = clamp(centre - half, full[0], full[1] - 2 * half);
    state.window = [low, low + 2 * half];
    refresh();
  };
  bars.append(make("span", { class: "grow" }));
  for (const [text, label, by, zoom] of [["‹", "Earlier", -0.5, 1], ["›", "Later", 0.5, 1], ["+", "Zoom in", 0, 0.5], ["−", "Zoom out", 0, 2]])
    bars.append(make("button", { type: "button", "aria-label": label, title: label, onclick: () => shift(by, zoom) }, text));
  const planeBar = make("div", { class: "bar" });
  if (D.rounds.length > 1) planeBar.append(segments("Round", D.rounds.map((each, i) => [i, String(each.number)]), state.round, (round) => { state.round = round; plane.redraw(); }));
  if (D.parameters.length > 2) {
    ["across", "up"].forEach((text, side) => {
      const id = fresh("axis"), pick = make("select", { id });
      D.parameters.forEach((axis, i) => pick.append(make("option", { value: i, selected: state.axes[side] === i }, axis.name)));
      pick.addEventListener("change", () => { const other = state.axes[1 - side]; if (+pick.value === other) { pick.value = state.axes[side]; return; } state.axes[side] = +pick.value; plane.redraw(); });
      planeBar.append(make("label", { for: id, class: "note" }, `${text} `, pick));
    });
  }
  const section = make("section", { "aria-labelledby": "explore" },
    make("h2", { id: "explore" }, "Ask it"),
    make("p", { class: "note" }, D.explain),
    make("div", { class: "explore" },
      make("div", {}, planeBar, plane.host, plane.scale, controls),
      make("div", { class: "card" }, bars, view.host, width.host)),
    make("p", { class: "note", style: "margin-top:12px" }, D.accuracy), live);
  return {
    section, refresh, chosen,
    hook: {
      curve: () => { const found = curve(); return { ...found, time: [...found.time], mean: [...found.mean], std: [...found.std], lower: [...found.lower], upper: [...found.upper] }; },
      set: (real) => moved(real.map((x, axis) => (2 * (x - D.parameters[axis].low)) / (D.parameters[axis].high - D.parameters[axis].low) - 1)),
      score: (round) => { const before = state.round; state.round = round; const map = D.rounds[round].score, found = map ? spline(map.knots, map.sizes, map.values, 1, state.place)[0] : null; state.round = before; return found; },
    },
  };
};
