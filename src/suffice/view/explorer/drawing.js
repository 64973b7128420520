// Painting of a map on a canvas. Only what is in view and large enough at the current zoom is painted.

const THIN = 1.2; // width of the rarest and of the most frequent arrow, in pixels of the map
const THICK = 4.4;
const WIDTHS = 6; // classes of width; arrows of a class are one path, because strokes are slow
const SHADES = 24; // colours of states by value
const SMALLEST = 9; // smallest text, in pixels of the screen
const ALONG = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]; // alternative positions of a label along its arrow
const FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";

class Painter {
  constructor(model, geometry) {
    [this.model, this.geometry] = [model, geometry];
    const { source, count, symbols } = model.arrows;
    const n = source.length;
    this.width = Uint8Array.from(count, (times) => Math.min(WIDTHS - 1, Math.floor(WIDTHS * Math.sqrt(times / model.most))));
    this.kind = Uint8Array.from({ length: n }, (_, i) => {
      if (model.over.has(source[i])) return 0; // pale
      return symbols[i].some((y) => model.action(y) === model.plannedIn(source[i])) ? 2 : 1; // planned, or other
    });
    this.byCount = Array.from({ length: n }, (_, i) => i).sort((i, j) => count[j] - count[i] || i - j);
    this.shade = Uint8Array.from({ length: model.n }, (_, q) => Math.round((SHADES - 1) * model.richness(q)));
  }

  // `look` states what is highlighted: selected, hovered, trail, here, found, alone.
  paint(context, camera, look) {
    [this.context, this.camera, this.look] = [context, camera, look];
    const { width, height, k } = camera;
    context.setTransform(camera.dots, 0, 0, camera.dots, 0, 0);
    context.clearRect(0, 0, width, height);
    this.view = [...camera.toMap(0, 0), ...camera.toMap(width, height)];
    this.visible = this.arrowsInView();
    this.near = k * RADIUS;
    context.lineCap = "butt";
    context.setTransform(camera.dots * k, 0, 0, camera.dots * k, camera.dots * (width / 2 - k * camera.x), camera.dots * (height / 2 - k * camera.y));
    this.paintArrows();
    this.paintTrail();
    this.paintEntry();
    this.paintStates();
    this.paintMarks();
    context.setTransform(camera.dots, 0, 0, camera.dots, 0, 0);
    this.paintLabels();
    this.paintNames();
    this.paintSteps();
  }

  arrowsInView() {
    const [left, top, right, bottom] = this.view;
    const { boxes } = this.geometry;
    const found = [];
    for (let i = 0, k = 0; k < boxes.length; i++, k += 4) {
      if (boxes[k] < right && boxes[k + 2] > left && boxes[k + 1] < bottom && boxes[k + 3] > top) found.push(i);
    }
    return found;
  }

  stateInView(q) {
    const [left, top, right, bottom] = this.view;
    const { x, y } = this.geometry;
    return x[q] > left - RADIUS && x[q] < right + RADIUS && y[q] > top - RADIUS && y[q] < bottom + RADIUS;
  }

  // If a state is selected, arrows that do not touch it are faded.
  paintArrows() {
    const { selected } = this.look;
    const { source, target } = this.model.arrows;
    const groups = new Map();
    for (const i of this.visible) {
      const touches = selected < 0 || source[i] === selected || target[i] === selected;
      const key = 100 * Number(touches) + 10 * this.kind[i] + this.width[i];
      const group = groups.get(key);
      if (group) group.push(i);
      else groups.set(key, [i]);
    }
    const crowd = Math.min(1, Math.max(0.25, 4000 / this.visible.length));
    for (const key of [...groups.keys()].sort((one, other) => one - other)) {
      const [touches, kind, width] = [key >= 100, Math.floor(key / 10) % 10, key % 10];
      const share = (width + 0.5) / WIDTHS;
      this.context.globalAlpha = (touches ? 1 : 0.28) * (selected >= 0 && touches ? 1 : crowd);
      const colour = [colours.faint, colours.line, colours.planned][kind];
      this.strokeArrows(groups.get(key), colour, Math.max(THIN + share * (THICK - THIN), 0.6 / this.camera.k));
    }
    this.context.globalAlpha = 1;
  }

  strokeArrows(arrows, colour, width) {
    const { context, geometry: { curves, heads } } = this;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const i of arrows) {
      const k = 8 * i;
      context.moveTo(curves[k], curves[k + 1]);
      if (this.near < 3) context.lineTo(curves[k + 6], curves[k + 7]); // curvature is invisible at this zoom
      else context.bezierCurveTo(curves[k + 2], curves[k + 3], curves[k + 4], curves[k + 5], curves[k + 6], curves[k + 7]);
    }
    context.stroke();
    if (this.near < 6) return;
    context.beginPath();
    for (const i of arrows) {
      const k = 6 * i;
      context.moveTo(heads[k], heads[k + 1]);
      context.lineTo(heads[k + 2], heads[k + 3]);
      context.lineTo(heads[k + 4], heads[k + 5]);
    }
    context.fill();
  }

  // The path of the replayed episode.
  paintTrail() {
    const { trail } = this.look;
    if (trail.length) this.strokeArrows(trail, colours.trail, Math.max(5, 2 / this.camera.k));
  }

  paintEntry() {
    const { context, geometry: { x, y } } = this;
    const tip = x[0] - RADIUS - 1.5;
    context.strokeStyle = context.fillStyle = colours.line;
    context.lineWidth = THIN;
    context.beginPath();
    context.moveTo(tip - 1.2 * RADIUS, y[0]);
    context.lineTo(tip - HEAD / 2, y[0]);
    context.stroke();
    context.beginPath();
    context.moveTo(tip, y[0]);
    context.lineTo(tip - HEAD, y[0] - 0.36 * HEAD);
    context.lineTo(tip - HEAD, y[0] + 0.36 * HEAD);
    context.fill();
  }

  paintStates() {
    const { context, model, geometry: { x, y } } = this;
    const groups = Array.from({ length: SHADES + 1 }, () => []);
    for (let q = 0; q < model.n; q++) {
      if (this.stateInView(q)) groups[model.over.has(q) ? SHADES : this.shade[q]].push(q);
    }
    const radius = Math.max(RADIUS, 1.6 / this.camera.k);
    groups.forEach((states, shade) => {
      if (!states.length) return;
      context.fillStyle = shade === SHADES ? colours.page : blend(colours.poor, colours.rich, shade / (SHADES - 1));
      context.strokeStyle = shade === SHADES ? colours.faint : colours.rim;
      context.lineWidth = Math.min(2, Math.max(2, 0.5 / this.camera.k));
      context.beginPath();
      for (const q of states) {
        context.moveTo(x[q] + radius, y[q]);
        context.arc(x[q], y[q], radius, 0, 2 * Math.PI);
      }
      context.fill();
      context.stroke();
    });
  }

  // Rings around highlighted states.
  paintMarks() {
    const { look } = this;
    for (const q of look.alone) this.ring(q, colours.alone, 4, [5, 5]);
    for (const q of look.found) this.ring(q, colours.found, 7, [3, 4]);
    if (look.here >= 0) this.ring(look.here, colours.trail, 5, []);
    if (look.hovered >= 0) this.ring(look.hovered, colours.note, 3, []);
    if (look.selected >= 0) this.ring(look.selected, colours.ink, look.here === look.selected ? 10 : 5, []);
  }

  ring(q, colour, room, dashes) {
    if (!this.stateInView(q)) return;
    const { context, geometry: { x, y }, camera: { k } } = this;
    const unit = Math.max(1, 0.8 / k);
    context.strokeStyle = colour;
    context.lineWidth = 3 * unit;
    context.setLineDash(dashes.map((dash) => dash * unit));
    context.beginPath();
    context.arc(x[q], y[q], RADIUS + room * unit, 0, 2 * Math.PI);
    context.stroke();
    context.setLineDash([]);
  }

  // Labels of the selected state's arrows and of the replayed path first, then of the most frequent arrows that fit.
  paintLabels() {
    const { model, camera, look } = this;
    const { source, target, lines } = model.arrows;
    const size = 12.5 * camera.k;
    const touching = look.selected >= 0 ? [...model.leaving(look.selected), ...model.arriving(look.selected)] : [];
    const focus = [...new Set([...touching, ...look.trail])];
    this.context.textAlign = "center";
    this.context.textBaseline = "middle";
    if (this.near < 9) return;
    const taken = this.boxesOfStates();
    const roomy = Boolean(model.arrows.x) && size >= SMALLEST; // every label has a fixed position
    focus.sort((i, j) => model.arrows.count[j] - model.arrows.count[i] || i - j);
    focus.forEach((i) => this.label(i, Math.max(11, size), taken, true, ALONG));
    if (!model.arrows.x && size < SMALLEST) return;
    const shown = new Set(focus);
    const crowd = new Set(this.visible);
    for (const i of this.byCount) {
      if (!crowd.has(i) || shown.has(i) || !lines[i].length) continue;
      const away = look.selected >= 0 && source[i] !== look.selected && target[i] !== look.selected;
      this.context.globalAlpha = away ? 0.5 : 1;
      this.label(i, Math.max(SMALLEST, size), taken, !roomy || focus.length > 0);
    }
    this.context.globalAlpha = 1;
  }

  // Boxes that labels must not cover.
  boxesOfStates() {
    const { model, geometry: { x, y }, camera } = this;
    const boxes = [];
    for (let q = 0; q < model.n; q++) {
      if (!this.stateInView(q)) continue;
      const [atX, atY] = camera.toScreen(x[q], y[q]);
      boxes.push([atX - 0.9 * this.near, atY - 0.9 * this.near, atX + 0.9 * this.near, atY + 0.9 * this.near]);
    }
    return boxes;
  }

  // Paint a label on its arrow; if it would cover something, at another position along it, or not at all.
  label(i, size, taken, polite, along = []) {
    const { context, model, geometry, camera, look } = this;
    const { lines, line_actions: actions, x, y, source } = model.arrows;
    const texts = lines[i].map((number) => model.texts[number]);
    if (!texts.length) return;
    const away = look.selected >= 0 && source[i] !== look.selected;
    const places = [x ? [x[i], y[i]] : geometry.at(i, away ? 0.6 : 0.4), ...along.map((share) => geometry.at(i, share))];
    context.font = `${size}px ${FONT}`;
    const wide = Math.max(...texts.map((text) => context.measureText(text).width)) + 0.5 * size;
    const high = 1.28 * size * texts.length;
    const boxes = places.map((place) => camera.toScreen(...place)).map(([atX, atY]) => [atX - wide / 2, atY - high / 2, atX + wide / 2, atY + high / 2]);
    const hides = (box) => taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1]);
    const box = polite ? boxes.find((each) => !hides(each)) : boxes[0];
    if (!box || box[2] < 0 || box[0] > camera.width || box[3] < 0 || box[1] > camera.height) return;
    taken.push(box);
    context.fillStyle = colours.page;
    context.fillRect(box[0], box[1], wide, high);
    const planned = model.plannedIn(source[i]);
    texts.forEach((text, j) => {
      context.fillStyle = actions[i][j].includes(planned) ? colours.planned : colours.ink;
      context.fillText(text, (box[0] + box[2]) / 2, box[1] + 1.28 * size * (j + 0.53));
    });
  }

  paintNames() {
    const { context, model, geometry: { x, y }, camera } = this;
    if (this.near < 8) return;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let q = 0; q < model.n; q++) {
      if (!this.stateInView(q)) continue;
      const [atX, atY] = camera.toScreen(x[q], y[q]);
      const planned = model.plannedIn(q);
      const action = planned === BEHAVE ? "" : model.actions[planned];
      const fits = action && this.near > 14;
      context.fillStyle = model.over.has(q) ? colours.note : colours.ink;
      context.font = `600 ${0.5 * this.near}px ${FONT}`;
      context.fillText(model.name(q), atX, atY - (fits ? 0.22 * this.near : 0));
      if (!fits) continue;
      context.fillText(this.fitted(action), atX, atY + 0.38 * this.near);
    }
  }

  // Shrink a text until it fits into the circle, then cut it.
  fitted(text) {
    const { context, near } = this;
    const room = 1.7 * near;
    for (const size of [0.42, 0.36, 0.3]) {
      context.font = `${size * near}px ${FONT}`;
      if (context.measureText(text).width <= room) return text;
    }
    let kept = text.length - 1;
    while (kept > 1 && context.measureText(`${text.slice(0, kept)}…`).width > room) kept--;
    return `${text.slice(0, kept)}…`;
  }

  // The number of the step above each column, and "end" above the last.
  paintSteps() {
    const { context, model, geometry, camera } = this;
    if (model.stationary) return;
    const size = Math.min(13, Math.max(10, 0.5 * this.near));
    context.font = `${size}px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    let last = -Infinity;
    const last_t = model.layers.length - 1;
    model.layers.forEach((_, t) => {
      const [x] = camera.toScreen(geometry.x[model.offsets[t]], 0);
      const text = t === 0 ? "step 0" : t === last_t ? "end" : String(t);
      if (x - last < 5 * size) return;
      last = x;
      const wide = context.measureText(text).width + 10;
      context.globalAlpha = 0.85;
      context.fillStyle = colours.page;
      context.fillRect(x - wide / 2, 6, wide, 1.5 * size);
      context.globalAlpha = 1;
      context.fillStyle = colours.note;
      context.fillText(text, x, 6 + 0.78 * size);
    });
  }
}
