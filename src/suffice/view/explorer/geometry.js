// Arrows as cubic Bézier curves, as in drawings (view/curves.py), in pixels of the map at a zoom of 1.

const RADIUS = 24; // radius of a state
const REACH = 0.4; // share of the horizontal distance that handles span
const SLOPE = 0.35; // share of the slope that handles follow
const BOW = 0.22; // bend of an arrow that does not lead to the right
const HEAD = 11; // length of an arrowhead

class Geometry {
  constructor(model) {
    const { source, target } = model.arrows;
    const n = source.length;
    [this.x, this.y] = [Float32Array.from(model.states.x), Float32Array.from(model.states.y)];
    this.curves = new Float32Array(8 * n); // start, two handles, end
    this.boxes = new Float32Array(4 * n); // left, top, right, bottom
    this.heads = new Float32Array(6 * n); // corners of a triangle
    const ways = new Set(source.map((q, i) => q * model.n + target[i]));
    for (let i = 0; i < n; i++) {
      const back = ways.has(target[i] * model.n + source[i]);
      if (model.arrows.curves) this.curves.set(model.arrows.curves[i], 8 * i);
      else this.curves.set(source[i] === target[i] ? this.loop(source[i]) : this.lead(source[i], target[i], back), 8 * i);
      this.measure(i, target[i], source[i] === target[i]);
    }
    this.bounds = this.around(model);
  }

  lead(q, r, back) {
    const [x, y, endX, endY] = [this.x[q], this.y[q], this.x[r], this.y[r]];
    const [dx, dy] = [endX - x, endY - y];
    if (!back && endX > x) {
      const [handleX, handleY] = [REACH * dx, SLOPE * REACH * dy];
      return [x, y, x + handleX, y + handleY, endX - handleX, endY - handleY, endX, endY];
    }
    const [sideX, sideY] = [BOW * dy, -BOW * dx];
    return [x, y, x + dx / 4 + sideX, y + dy / 4 + sideY, endX - dx / 4 + sideX, endY - dy / 4 + sideY, endX, endY];
  }

  loop(q) {
    const at = (right, up) => [this.x[q] + RADIUS * right, this.y[q] - RADIUS * up];
    return [...at(-0.5, 0.85), ...at(-1.8, 3.2), ...at(1.8, 3.2), ...at(0.5, 0.85)];
  }

  at(i, s) {
    const c = this.curves;
    const [a, b, d, e] = [(1 - s) ** 3, 3 * (1 - s) ** 2 * s, 3 * (1 - s) * s * s, s ** 3];
    const k = 8 * i;
    return [a * c[k] + b * c[k + 2] + d * c[k + 4] + e * c[k + 6], a * c[k + 1] + b * c[k + 3] + d * c[k + 5] + e * c[k + 7]];
  }

  // Compute the bounding box of a curve and its arrowhead, which touches the target.
  measure(i, target, isLoop) {
    const k = 8 * i;
    const c = this.curves;
    for (let side = 0; side < 2; side++) {
      this.boxes[4 * i + side] = Math.min(c[k + side], c[k + 2 + side], c[k + 4 + side], c[k + 6 + side]);
      this.boxes[4 * i + 2 + side] = Math.max(c[k + side], c[k + 2 + side], c[k + 4 + side], c[k + 6 + side]);
    }
    let [low, high] = [0.5, 1];
    for (let round = 0; round < 12 && !isLoop; round++) {
      const middle = (low + high) / 2;
      const [x, y] = this.at(i, middle);
      if (Math.hypot(x - this.x[target], y - this.y[target]) > RADIUS + 1.5) low = middle;
      else high = middle;
    }
    const [tipX, tipY] = this.at(i, high);
    const [nearX, nearY] = this.at(i, Math.max(0, high - 0.04));
    const long = Math.hypot(tipX - nearX, tipY - nearY) || 1;
    const [ux, uy] = [(tipX - nearX) / long, (tipY - nearY) / long];
    const [footX, footY, half] = [tipX - HEAD * ux, tipY - HEAD * uy, 0.36 * HEAD];
    this.heads.set([tipX, tipY, footX - half * uy, footY + half * ux, footX + half * uy, footY - half * ux], 6 * i);
  }

  around(model) {
    const bounds = [Infinity, Infinity, -Infinity, -Infinity];
    const add = (x, y, room) => {
      bounds[0] = Math.min(bounds[0], x - room);
      bounds[1] = Math.min(bounds[1], y - room);
      bounds[2] = Math.max(bounds[2], x + room);
      bounds[3] = Math.max(bounds[3], y + room);
    };
    this.x.forEach((x, q) => add(x, this.y[q], 1.6 * RADIUS));
    add(this.x[0] - 2 * RADIUS, this.y[0], 0);
    for (let i = 0; i < this.boxes.length; i += 4) {
      add(this.boxes[i], 0.75 * this.boxes[i + 1] + 0.25 * this.boxes[i + 3], 0);
      add(this.boxes[i + 2], 0.75 * this.boxes[i + 3] + 0.25 * this.boxes[i + 1], 0);
    }
    if (!model.stationary) bounds[1] -= 1.5 * RADIUS; // room for the steps above
    return bounds;
  }

  // The nearest state within a distance of a point, or -1.
  stateAt(x, y, reach) {
    let [best, least] = [-1, reach * reach];
    for (let q = 0; q < this.x.length; q++) {
      const far = (this.x[q] - x) ** 2 + (this.y[q] - y) ** 2;
      if (far < least) [best, least] = [q, far];
    }
    return best;
  }

  // The next state above (-1) or below (+1) in the same column, or -1.
  neighbour(q, way) {
    let [best, least] = [-1, Infinity];
    for (let r = 0; r < this.x.length; r++) {
      const down = way * (this.y[r] - this.y[q]);
      if (Math.abs(this.x[r] - this.x[q]) < 1 && down > 0 && down < least) [best, least] = [r, down];
    }
    return best;
  }
}
