// The exported surrogate: tensor cubic splines over the box, a few shapes over time.
const basis = (knots, x) => {
  // The four cubic B-splines that are not zero at x, by Cox and de Boor.
  const last = knots.length - 5;
  let span = 3;
  while (span < last && x >= knots[span + 1]) span++;
  const values = [1, 0, 0, 0], left = [0, 0, 0, 0], right = [0, 0, 0, 0];
  for (let degree = 1; degree <= 3; degree++) {
    left[degree] = x - knots[span + 1 - degree];
    right[degree] = knots[span + degree] - x;
    let saved = 0;
    for (let r = 0; r < degree; r++) {
      const share = values[r] / (right[r + 1] + left[degree - r]);
      values[r] = saved + right[r + 1] * share;
      saved = left[degree - r] * share;
    }
    values[degree] = saved;
  }
  return [span - 3, values];
};
const spline = (knots, sizes, weights, rank, place) => {
  // Sum over the 4^P nodes around a place in [-1, 1]^P.
  const parts = place.map((x, axis) => basis(knots[axis], clamp(x, -1, 1)));
  const found = new Float64Array(rank);
  const walk = (axis, row, weight) => {
    if (axis === parts.length) {
      for (let r = 0; r < rank; r++) found[r] += weight * weights[row * rank + r];
      return;
    }
    const [first, values] = parts[axis];
    for (let i = 0; i < 4; i++) walk(axis + 1, row * sizes[axis] + first + i, weight * values[i]);
  };
  walk(0, 0, 1);
  return found;
};
const factors = (packed) => ({
  centre: numbers(packed.centre), shapes: numbers(packed.shapes), weights: numbers(packed.weights), rank: packed.rank,
});
const composed = (part, weights) => {
  const values = Float64Array.from(part.centre), length = values.length;
  for (let r = 0; r < part.rank; r++) {
    const weight = weights[r], offset = r * length;
    for (let i = 0; i < length; i++) values[i] += weight * part.shapes[offset + i];
  }
  return values;
};
const surrogateOf = (model) => {
  if (!model) return null;
  const mean = factors(model.mean), spread = factors(model.spread);
  const rooted = (values) => {
    for (let i = 0; i < values.length; i++) values[i] = Math.max(values[i], 0) ** (1 / model.power);
    return values;
  };
  if (model.kind === "splines") {
    const at = (part, place) => composed(part, spline(model.knots, model.sizes, part.weights, part.rank, place));
    return { snap: (place) => place, predict: (place) => ({ mean: at(mean, place), std: rooted(at(spread, place)) }) };
  }
  const cases = model.cases;
  const nearest = (place) => {
    let best = 0, least = Infinity;
    cases.forEach((each, row) => {
      const gap = each.reduce((sum, x, axis) => sum + (x - place[axis]) ** 2, 0);
      if (gap < least) [best, least] = [row, gap];
    });
    return best;
  };
  const at = (part, row) => composed(part, part.weights.subarray(row * part.rank, (row + 1) * part.rank));
  return {
    snap: (place) => cases[nearest(place)],
    predict: (place) => { const row = nearest(place); return { mean: at(mean, row), std: rooted(at(spread, row)) }; },
  };
};
const reach = (radius, level) => {
  // Half-width of a band in units of the standard deviation, as Prediction.interval.
  const levels = [0, ...radius.map((each) => each[0])], widths = [0, ...radius.map((each) => each[1])];
  if (level >= levels[levels.length - 1]) return widths[widths.length - 1];
  const i = levels.findIndex((each) => each > level);
  return widths[i - 1] + ((widths[i] - widths[i - 1]) * (level - levels[i - 1])) / (levels[i] - levels[i - 1]);
};
