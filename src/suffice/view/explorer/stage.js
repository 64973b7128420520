// An interactive map: pan and zoom with mouse, touch and keyboard.

const CLOSEST = 4; // largest zoom
const HEAVY = 2500; // arrows in view; with more, a moving map shows a snapshot
const MARGIN = 180; // pixels between the edge and the state to show
const STILL = 110; // milliseconds without movement until the map is repainted

class Camera {
  constructor() { Object.assign(this, { x: 0, y: 0, k: 1, width: 1, height: 1, dots: 1 }); }

  toMap(x, y) { return [this.x + (x - this.width / 2) / this.k, this.y + (y - this.height / 2) / this.k]; }

  toScreen(x, y) { return [(x - this.x) * this.k + this.width / 2, (y - this.y) * this.k + this.height / 2]; }
}

class Stage {
  constructor(model) {
    this.model = model;
    this.geometry = new Geometry(model);
    this.painter = new Painter(model, this.geometry);
    this.camera = new Camera();
    this.look = { selected: -1, hovered: -1, here: -1, trail: [], found: [], alone: [] };
    this.times = []; // milliseconds of each frame, for tests
    this.build();
    new ResizeObserver(() => this.resize()).observe(this.root);
  }

  build() {
    const { title } = this.model;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.tip = make("div", { class: "tip", "aria-hidden": "true", hidden: true });
    const button = (text, label, does) => make("button", { type: "button", title: label, "aria-label": label, click: does }, text);
    this.root = make(
      "div",
      {
        class: "stage", tabindex: "0", role: "application", "aria-roledescription": "map",
        "aria-label": `Map of ${title}. Arrow keys move between states, Enter shows details, plus and minus zoom.`,
      },
      this.canvas,
      make("p", { class: "stage-name" }, title),
      legendOf(this.model),
      make("div", { class: "zoom" },
        button("+", "Zoom in", () => this.zoom(1.4)),
        button("−", "Zoom out", () => this.zoom(1 / 1.4)),
        button("⤢", "Show all", () => this.fit(true))),
      this.tip,
    );
    this.context = this.canvas.getContext("2d");
    this.snapshot = make("canvas");
    this.root.addEventListener("keydown", (event) => this.press(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave"]) {
      this.canvas.addEventListener(kind, (event) => this.point(event));
    }
    this.fingers = new Map();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.root;
    if (!width || !height) return;
    const first = this.camera.width === 1;
    Object.assign(this.camera, { width, height, dots: Math.min(window.devicePixelRatio || 1, 2) });
    for (const canvas of [this.canvas, this.snapshot]) {
      canvas.width = Math.round(width * this.camera.dots);
      canvas.height = Math.round(height * this.camera.dots);
    }
    this.heavy = false;
    if (first) this.fit();
    else this.paintNow();
  }

  // ---- painting

  change(look) {
    Object.assign(this.look, look);
    this.request();
  }

  request(moving = false) {
    if (moving) this.movedAt = performance.now();
    if (!this.waiting) this.waiting = requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.waiting = 0;
    const now = performance.now();
    if (this.glide) this.slide(now);
    const moving = now - (this.movedAt ?? -Infinity) < STILL;
    if (moving && this.heavy) {
      this.paintSnapshot();
      this.request();
    } else this.paintNow();
    this.times.push(performance.now() - now);
    if (this.glide) this.request(true);
  }

  paintNow() {
    this.painter.paint(this.context, this.camera, this.look);
    this.heavy = this.painter.visible.length > HEAVY;
    if (!this.heavy) return;
    const copy = this.snapshot.getContext("2d");
    copy.clearRect(0, 0, this.snapshot.width, this.snapshot.height);
    copy.drawImage(this.canvas, 0, 0);
    this.taken = { ...this.camera };
  }

  // Move the last painting, which is fast for any number of arrows.
  paintSnapshot() {
    const { context, camera, taken } = this;
    const scale = camera.k / taken.k;
    const x = (taken.x - camera.x) * camera.k + (camera.width - taken.width * scale) / 2;
    const y = (taken.y - camera.y) * camera.k + (camera.height - taken.height * scale) / 2;
    context.setTransform(camera.dots, 0, 0, camera.dots, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    context.drawImage(this.snapshot, x, y, taken.width * scale, taken.height * scale);
  }

  // ---- camera

  fit(glide = false) {
    const [left, top, right, bottom] = this.geometry.bounds;
    const { width, height } = this.camera;
    const k = Math.min(1.25, (width - 24) / (right - left), (height - 24) / (bottom - top));
    this.least = Math.min(k, 0.2) / 1.5;
    this.go((left + right) / 2, (top + bottom) / 2, k, glide);
  }

  go(x, y, k, glide = true) {
    if (!glide || calm.matches) {
      Object.assign(this.camera, { x, y, k });
      this.glide = null;
    } else {
      const { x: fromX, y: fromY, k: fromK } = this.camera;
      this.glide = { from: [fromX, fromY, Math.log(fromK)], to: [x, y, Math.log(k)], start: performance.now() };
    }
    this.request(true);
  }

  slide(now) {
    const { from, to, start } = this.glide;
    const done = Math.min(1, (now - start) / 260);
    const eased = 1 - (1 - done) ** 3;
    const [x, y, logK] = from.map((value, i) => value + eased * (to[i] - value));
    Object.assign(this.camera, { x, y, k: Math.exp(logK) });
    if (done === 1) this.glide = null;
  }

  // Zoom around a point of the screen.
  zoom(factor, x = this.camera.width / 2, y = this.camera.height / 2) {
    const { camera } = this;
    this.glide = null;
    const k = Math.min(CLOSEST, Math.max(this.least, camera.k * factor));
    const [mapX, mapY] = camera.toMap(x, y);
    camera.x = mapX - (x - camera.width / 2) / k;
    camera.y = mapY - (y - camera.height / 2) / k;
    camera.k = k;
    this.request(true);
  }

  pan(right, down) {
    this.glide = null;
    this.camera.x -= right / this.camera.k;
    this.camera.y -= down / this.camera.k;
    this.request(true);
  }

  // Zoom and move just enough to make a state readable.
  show(q) {
    const { camera, geometry } = this;
    if (camera.k * RADIUS < 9) {
      this.go(geometry.x[q], geometry.y[q], 0.75);
      return;
    }
    const room = Math.min(MARGIN, camera.width / 4, camera.height / 4);
    const beyond = (at, size) => Math.min(0, at - room) + Math.max(0, at - size + room);
    const [x, y] = camera.toScreen(geometry.x[q], geometry.y[q]);
    const [right, down] = [beyond(x, camera.width), beyond(y, camera.height)];
    if (right || down) this.go(camera.x + right / camera.k, camera.y + down / camera.k, camera.k);
  }

  // ---- mouse, touch and keys

  wheel(event) {
    event.preventDefault();
    const { left, top } = this.canvas.getBoundingClientRect();
    const turned = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    if (event.shiftKey) this.pan(-turned, 0);
    else this.zoom(Math.exp(-turned * (event.ctrlKey ? 0.01 : 0.0018)), event.clientX - left, event.clientY - top);
  }

  point(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const place = [event.clientX - left, event.clientY - top];
    if (event.type === "pointerdown") {
      this.canvas.setPointerCapture(event.pointerId);
      this.fingers.set(event.pointerId, place);
      this.travelled = this.fingers.size > 1 ? Infinity : 0;
    } else if (event.type === "pointermove" && this.fingers.has(event.pointerId)) this.drag(event.pointerId, place);
    else if (event.type === "pointermove") this.hover(this.under(place), place);
    else {
      if (event.type === "pointerup" && this.travelled < 5) this.click(place);
      this.fingers.delete(event.pointerId);
      if (event.type === "pointerleave") this.hover(-1);
    }
  }

  drag(finger, place) {
    const before = this.fingers.get(finger);
    const other = [...this.fingers].find(([id]) => id !== finger)?.[1];
    this.travelled += Math.hypot(place[0] - before[0], place[1] - before[1]);
    this.fingers.set(finger, place);
    if (!other) {
      if (this.travelled >= 5) this.pan(place[0] - before[0], place[1] - before[1]);
      return;
    }
    const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]);
    this.pan((place[0] - before[0]) / 2, (place[1] - before[1]) / 2);
    this.zoom(apart(place) / (apart(before) || 1), (place[0] + other[0]) / 2, (place[1] + other[1]) / 2);
  }

  under([x, y]) {
    const { camera } = this;
    return this.geometry.stateAt(...camera.toMap(x, y), Math.max(RADIUS, 12 / camera.k));
  }

  click(place) {
    this.root.focus({ preventScroll: true });
    const q = this.under(place);
    notify("select", this.model.number, q, { show: false });
  }

  hover(q, place) {
    if (q !== this.look.hovered) {
      this.canvas.classList.toggle("over", q >= 0);
      this.tip.hidden = q < 0;
      if (q >= 0) this.tip.replaceChildren(...summary(this.model, q));
      if (!this.heavy) this.change({ hovered: q });
    }
    if (q < 0) return;
    const left = Math.min(place[0] + 14, this.camera.width - 240);
    this.tip.style.transform = `translate(${left}px, ${Math.min(place[1] + 14, this.camera.height - 80)}px)`;
  }

  press(event) {
    if (event.target !== this.root || event.ctrlKey || event.metaKey || event.altKey) return;
    const pans = { ArrowRight: [-80, 0], ArrowLeft: [80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
    const does = {
      "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), "0": () => this.fit(true),
      Home: () => notify("select", this.model.number, 0), Escape: () => notify("select", this.model.number, -1),
      Enter: () => notify("read"),
    };
    if (pans[event.key] && event.shiftKey) this.pan(...pans[event.key]);
    else if (pans[event.key]) notify("select", this.model.number, this.beside(event.key));
    else if (does[event.key]) does[event.key]();
    else return;
    event.preventDefault();
  }

  // The state that a key selects: along the most frequent arrow, or up and down the column.
  beside(key) {
    const q = this.look.selected;
    if (q < 0) return 0;
    const { source, target, count } = this.model.arrows;
    if (key === "ArrowUp" || key === "ArrowDown") {
      const next = this.geometry.neighbour(q, key === "ArrowUp" ? -1 : 1);
      return next < 0 ? q : next;
    }
    const [ends, arrows] = key === "ArrowRight" ? [target, this.model.leaving(q)] : [source, this.model.arriving(q)];
    const ways = arrows.filter((i) => source[i] !== target[i]).sort((i, j) => count[j] - count[i] || i - j);
    return ways.length ? ends[ways[0]] : q;
  }
}

// Legend of colours and lines.
function legendOf(model) {
  const [low, high] = model.range.map(shortNumber);
  const sign = (look) => make("i", { class: look });
  return make("div", { class: "legend" },
    make("span", {}, sign(""), low === high ? `value ${low}` : `value ${low} to ${high}`),
    model.hasPlan ? make("span", {}, sign("arrow"), "planned") : null,
    make("span", {}, sign("arrow thick"), "frequent"),
    model.over.size ? make("span", {}, sign("pale"), "ended") : null);
}

// Summary of a state for the tooltip.
function summary(model, q) {
  const planned = model.plannedIn(q);
  const lines = [make("b", {}, `State ${model.name(q)}`), make("div", {}, model.common(q)), make("div", {}, model.frequency(q))];
  if (model.over.has(q)) return [...lines, make("div", {}, "the episode has ended")];
  const does = !model.hasPlan || q === 0 ? "" : planned === BEHAVE ? ", plan: as logged" : `, plan: ${model.actions[planned]}`;
  return [...lines, make("div", {}, `value ${shortNumber(model.values[q])}${does}`)];
}
