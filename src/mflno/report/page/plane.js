// The parameter plane: spread as colour, runs by round, a place the reader moves.
const STOPS = [[68, 1, 84], [71, 45, 123], [59, 82, 139], [44, 114, 142], [33, 145, 140], [40, 174, 128], [94, 201, 98], [173, 220, 48], [253, 231, 37]];
const colourOf = (share) => {
  const at = clamp(share, 0, 1) * (STOPS.length - 1), i = Math.min(Math.floor(at), STOPS.length - 2);
  return STOPS[i].map((each, k) => Math.round(each + (at - i) * (STOPS[i + 1][k] - each)));
};
const ROUNDS = ["#10202d", "#a8324a", "#0b5cad", "#8a4b08", "#5b3a9e", "#00684d", "#7a2e6e", "#444c55"];
const planeView = (D, state, moved, chosen) => {
  const host = make("div", { class: "plane" }), canvas = make("canvas", { "aria-hidden": "true" }), shell = make("div");
  const scale = make("div", { class: "scale" }), ramp = make("canvas", { width: 128, height: 1, "aria-hidden": "true" });
  const flat = D.parameters.length === 1;
  const lowest = make("span"), highest = make("span");
  scale.append(make("span", {}, "σ"), lowest, ramp, highest);
  const brush = ramp.getContext("2d");
  for (let i = 0; i < 128; i++) { brush.fillStyle = `rgb(${colourOf(i / 127)})`; brush.fillRect(i, 0, 1, 1); }
  host.append(canvas, shell);
  const SIDE = 56;
  const score = (place) => {
    const map = D.rounds[state.round].score;
    return map ? Math.max(0, spline(map.knots, map.sizes, map.values, 1, place)[0]) : NaN;
  };
  for (const round of D.rounds) if (round.score) round.score.values = numbers(round.score.weights);
  let drawn = "";
  const heat = () => {
    const others = state.place.filter((_, axis) => !state.axes.includes(axis));
    const key = [state.round, ...state.axes, ...others].join();
    if (key === drawn) return;
    drawn = key;
    const across = SIDE, down = flat ? 1 : SIDE, values = new Float64Array(across * down);
    canvas.width = across; canvas.height = down;
    const place = [...state.place];
    for (let j = 0; j < down; j++) for (let i = 0; i < across; i++) {
      place[state.axes[0]] = -1 + (2 * i) / (across - 1);
      if (!flat) place[state.axes[1]] = 1 - (2 * j) / (down - 1);
      values[j * across + i] = score(place);
    }
    const [low, high] = extent([values]), image = new ImageData(across, down);
    values.forEach((each, i) => {
      const [r, g, b] = Number.isFinite(each) ? colourOf((each - low) / (high - low || 1)) : [128, 138, 148];
      image.data.set([r, g, b, 255], 4 * i);
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
    lowest.textContent = shown(low, 2); highest.textContent = `${shown(high, 2)} ${D.unit || ""}`;
    scale.style.visibility = Number.isFinite(score(state.place)) ? "visible" : "hidden";
  };
  const redraw = () => {
    const width = Math.max(220, host.clientWidth || 360), left = 44, height = flat ? 96 : width - left + 44;
    const box = { left, right: width - 6, top: 6, bottom: height - 40 };
    const sx = scaleOf([-1, 1], [box.left, box.right]), sy = flat ? () => (box.top + box.bottom) / 2 : scaleOf([-1, 1], [box.bottom, box.top]);
    const [a, b] = state.axes.map((axis) => D.parameters[axis]);
    Object.assign(canvas.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.right - box.left}px`, height: `${box.bottom - box.top}px` });
    heat();
    const told = state.axes.map((axis) => `${D.parameters[axis].name} = ${shown(state.real(axis), 4)}`).join(", ");
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: "application", "aria-roledescription": "parameter plane", "aria-label": `Parameter plane: ${told}. Arrow keys move the case, with shift ten times further.` });
    const physical = (axis, x) => axis.low + ((x + 1) / 2) * (axis.high - axis.low), scaled = (axis, x) => (2 * (x - axis.low)) / (axis.high - axis.low) - 1;
    for (const x of ticks(a.low, a.high, 4)) svg.append(draw("text", { x: sx(scaled(a, x)), y: box.bottom + 17, "text-anchor": "middle" }, short(x)));
    svg.append(draw("text", { class: "title", x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle" }, named(a)));
    if (!flat) {
      for (const y of ticks(b.low, b.high, 4)) svg.append(draw("text", { x: box.left - 6, y: sy(scaled(b, y)) + 4, "text-anchor": "end" }, short(y)));
      svg.append(draw("text", { class: "title", transform: `translate(11 ${(box.top + box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, named(b)));
    }
    const [x, y] = [sx(state.place[state.axes[0]]), flat ? sy() : sy(state.place[state.axes[1]])];
    svg.append(draw("path", { class: "cross", d: `M${x} ${box.top}V${box.bottom}${flat ? "" : `M${box.left} ${y}H${box.right}`}`, opacity: 0.55 }));
    const order = D.rounds.map((each) => each.number);
    D.runs.forEach((run, i) => {
      const when = order.indexOf(run.round), coming = when === state.round + 1;
      if (!run.top || when > state.round + 1) return;
      const px = sx(run.place[state.axes[0]]), py = flat ? sy() : sy(run.place[state.axes[1]]), failed = run.state === "failed";
      const pick = draw("g", { class: coming ? "pick next" : "pick" },
        draw("circle", { cx: px, cy: py, r: 8.5, fill: coming ? "#ffffff30" : failed ? "#5f6b76" : ROUNDS[Math.max(run.round, 0) % ROUNDS.length] }),
        draw("text", { x: px, y: py + 3.5 }, failed ? "×" : run.round < 0 ? "•" : String(run.round)),
        draw("title", {}, `Run ${run.name}: ${run.text}`));
      pick.addEventListener("pointerdown", (event) => { event.stopPropagation(); chosen(i); });
      svg.append(pick);
    });
    svg.append(draw("circle", { class: "ring-edge", cx: x, cy: y, r: 12 }), draw("circle", { class: "ring", cx: x, cy: y, r: 12 }));
    const go = (event) => {
      const rect = svg.getBoundingClientRect(), px = ((event.clientX - rect.left) / rect.width) * width, py = ((event.clientY - rect.top) / rect.height) * height;
      const next = [...state.place];
      next[state.axes[0]] = clamp((2 * (px - box.left)) / (box.right - box.left) - 1, -1, 1);
      if (!flat) next[state.axes[1]] = clamp(1 - (2 * (py - box.top)) / (box.bottom - box.top), -1, 1);
      moved(next);
    };
    svg.onpointerdown = (event) => { host.dragging = true; event.preventDefault(); host.querySelector("svg").focus({ preventScroll: true }); go(event); };
    svg.onkeydown = (event) => {
      const step = event.shiftKey ? 0.2 : 0.02, next = [...state.place];
      const turn = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] }[event.key];
      if (!turn) return;
      event.preventDefault();
      const axis = state.axes[flat ? 0 : turn[0]];
      next[axis] = clamp(next[axis] + turn[1] * step, -1, 1);
      moved(next);
    };
    host.go = go;
    const focused = shell.contains(document.activeElement);
    shell.replaceChildren(svg);
    if (focused) svg.focus({ preventScroll: true });
  };
  addEventListener("pointermove", (event) => { if (host.dragging) host.go(event); });
  addEventListener("pointerup", () => { host.dragging = false; });
  new ResizeObserver(() => redraw()).observe(host);
  return { host, scale, redraw };
};
