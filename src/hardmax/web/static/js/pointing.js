// Hands on the cloud: from pixels to tokens and back, and how tokens are dragged, added and turned, with the pointer or
// from the keyboard.

const NUDGE = 12; // pixels by which an arrow key moves a token; with Shift a quarter of it
const [REACH, TOUCH_REACH] = [14, 22]; // pixels from a token at which it is grasped
const TURN_SPEED = 0.5; // degrees for each pixel
const RADIAN = Math.PI / 180;

/** Where the cloud is drawn: a window on the plane, or an orthographic look at space. The y axis points up; in space z
 * points up. */
export class View {
  constructor() {
    Object.assign(this, { width: 600, height: 450, scale: 200, center: [0, 0], d: 2 });
    this.turnTo([-32, 18]);
  }

  resize(width, height) {
    Object.assign(this, { width: Math.max(width, 1), height: Math.max(height, 1) });
  }

  /** Yaw and pitch in degrees, for clouds in space. */
  turnTo([yaw, pitch]) {
    const [cy, sy, cp, sp] = [
      Math.cos(yaw * RADIAN), Math.sin(yaw * RADIAN), Math.cos(pitch * RADIAN), Math.sin(pitch * RADIAN),
    ];
    this.right = [cy, sy, 0];
    this.up = [-sy * sp, cy * sp, cp];
    this.toward = [sy * cp, -cy * cp, sp];
  }

  /** Choose center and scale so that all points and the origin are seen, with a margin at the border. */
  fit(coords, d) {
    const margin = Math.min(44, 0.13 * Math.min(this.width, this.height));
    this.d = d;
    if (d === 3) { // a ball around the origin: turning must not change the scale
      let far = 0;
      for (let i = 0; i < coords.length; i += 3) far = Math.max(
        far, Math.hypot(coords[i], coords[i + 1], coords[i + 2]),
      );
      this.center = [0, 0];
      this.scale = (Math.min(this.width, this.height) / 2 - margin * 0.6) / (far || 1);
      return;
    }
    let [left, right, low, high] = [0, 0, 0, 0];
    for (let i = 0; i < coords.length; i += 2) {
      left = Math.min(left, coords[i]);
      right = Math.max(right, coords[i]);
      low = Math.min(low, coords[i + 1]);
      high = Math.max(high, coords[i + 1]);
    }
    const [w, h] = [right - left, high - low];
    this.center = [(left + right) / 2, (low + high) / 2];
    const across = w > 0 ? (this.width - 2 * margin) / w : Infinity;
    const along = h > 0 ? (this.height - 2 * margin) / h : Infinity;
    const scale = Math.min(across, along);
    this.scale = Number.isFinite(scale) ? Math.max(scale, 1e-9) : 100;
  }

  /** Coordinates in the plane of the screen, in units of the tokens. */
  flat(x, y, z) {
    if (this.d === 2) return [x, y];
    return [
      x * this.right[0] + y * this.right[1],
      x * this.up[0] + y * this.up[1] + z * this.up[2],
    ];
  }

  /** How near a point of space is to the eye. */
  depth(x, y, z) {
    return x * this.toward[0] + y * this.toward[1] + z * this.toward[2];
  }

  /** Token at index i of `coords` -> pixels. */
  pixel(coords, i) {
    const at = i * this.d;
    return this.place(coords[at], coords[at + 1], this.d === 3 ? coords[at + 2] : 0);
  }

  place(x, y, z = 0) {
    const [u, v] = this.flat(x, y, z);
    return [this.width / 2 + (u - this.center[0]) * this.scale, this.height / 2 - (v - this.center[1]) * this.scale];
  }

  /** Pixels -> the point there; in space the one at the depth of `near`. */
  unplace(px, py, near = [0, 0, 0]) {
    const u = this.center[0] + (px - this.width / 2) / this.scale;
    const v = this.center[1] - (py - this.height / 2) / this.scale;
    if (this.d === 2) return [u, v];
    const w = this.depth(...near);
    return [0, 1, 2].map((c) => u * this.right[c] + v * this.up[c] + w * this.toward[c]);
  }
}

export class Pointing {
  constructor(scene) {
    this.scene = scene;
    this.moving = -1; // the token that the arrow keys move
    this.grip = null;
    const { svg } = scene;
    svg.addEventListener("pointerdown", (event) => this.#down(event));
    svg.addEventListener("pointermove", (event) => this.#move(event));
    svg.addEventListener("pointerup", (event) => this.#up(event));
    svg.addEventListener("pointercancel", (event) => this.#up(event));
    svg.addEventListener("touchstart", (event) => this.#touch(event), { passive: false });
    svg.addEventListener("dblclick", (event) => this.#add(event));
    svg.addEventListener("keydown", (event) => this.#key(event));
    svg.addEventListener("pointerleave", () => scene.tip.over(-1));
    // On the element around it: an <svg> that listens to the focus becomes a tab stop of its own.
    svg.parentElement.addEventListener("focusin", (event) => this.#focused(event));
    svg.parentElement.addEventListener("focusout", () => this.#rest());
  }

  get options() { return this.scene.options; }

  get editable() { return this.options.editable !== false; }

  #at(event) {
    const box = this.scene.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #coordinates(i) {
    const { coords, d } = this.scene.picture;
    return Array.from(coords.subarray(i * d, (i + 1) * d));
  }

  /** A finger on a token (or on a cloud in space) does not scroll the page; elsewhere it does. */
  #touch(event) {
    this.options.upToDate?.();
    const { picture } = this.scene;
    if (!picture || event.touches.length > 1) return;
    if (picture.d === 3 || this.scene.tokenAt(...this.#at(event.touches[0]), TOUCH_REACH) >= 0) event.preventDefault();
  }

  #down(event) {
    this.options.upToDate?.();
    if (event.button !== 0 || !this.scene.picture) return;
    this.scene.tip.hide();
    const [x, y] = this.#at(event);
    const token = this.scene.tokenAt(x, y, event.pointerType === "touch" ? TOUCH_REACH : REACH);
    if (token >= 0) {
      event.preventDefault();
      this.scene.focusToken(token);
      this.options.onSelect?.(token);
      const [tx, ty] = this.scene.positions.subarray(2 * token, 2 * token + 2);
      this.grip = { token, dx: tx - x, dy: ty - y, x, y, dragging: false };
      this.scene.svg.setPointerCapture(event.pointerId);
    } else if (this.scene.picture.d === 3) {
      event.preventDefault();
      this.grip = { token: -1, x, y, turn: [...this.scene.picture.turn] };
      this.scene.svg.setPointerCapture(event.pointerId);
    } else {
      this.options.onSelect?.(-1);
    }
  }

  #move(event) {
    const [x, y] = this.#at(event);
    const { grip, scene } = this;
    if (!grip) {
      const over = scene.picture ? scene.tokenAt(x, y, REACH) : -1;
      scene.svg.classList.toggle("over-token", this.editable && over >= 0);
      if (event.pointerType !== "touch") scene.tip.over(over);
      return;
    }
    if (grip.token < 0) {
      const yaw = grip.turn[0] - (x - grip.x) * TURN_SPEED;
      const pitch = Math.max(-90, Math.min(90, grip.turn[1] + (y - grip.y) * TURN_SPEED));
      this.options.onTurn?.([Math.round(((yaw + 540) % 360 + 360) % 360 - 180), Math.round(pitch)]);
      return;
    }
    if (!this.editable) return;
    if (!grip.dragging && Math.hypot(x - grip.x, y - grip.y) < 3) return;
    const point = scene.view.unplace(x + grip.dx, y + grip.dy, this.#coordinates(grip.token));
    if (!grip.dragging) {
      scene.tip.hide(); // it would be laid out again in every frame
      this.options.onDrag?.(grip.token, point, "start");
    }
    grip.dragging = true;
    scene.svg.classList.add("dragging");
    this.options.onDrag?.(grip.token, point, "move");
  }

  #up() {
    const { grip } = this;
    this.grip = null;
    this.scene.svg.classList.remove("dragging");
    if (grip?.dragging) this.options.onDrag?.(grip.token, this.#coordinates(grip.token), "end");
    else if (grip?.token >= 0) this.options.onClick?.(grip.token);
  }

  #add(event) {
    this.options.upToDate?.();
    if (!this.editable || !this.scene.picture) return;
    const [x, y] = this.#at(event);
    if (this.scene.tokenAt(x, y, REACH) < 0) this.options.onAdd?.(this.scene.view.unplace(x, y));
  }

  #focused(event) {
    const token = Number(event.target.dataset?.token ?? -1);
    if (token < 0) return;
    this.scene.focus = token;
    this.options.onSelect?.(token);
    if (event.target.matches(":focus-visible")) this.scene.tip.over(token);
  }

  #rest() {
    this.scene.tip.hide();
    if (this.moving < 0) return;
    this.moving = -1;
    this.scene.draw(this.scene.picture);
  }

  #key(event) {
    this.options.upToDate?.();
    if (event.ctrlKey || event.metaKey || event.altKey || !this.scene.picture) return;
    const token = Number(event.target.dataset?.token ?? -1);
    if (event.key === "Escape" && this.moving < 0 && this.scene.tip.hide()) {
      event.stopPropagation();
      return;
    }
    const done = this.moving >= 0 ? this.#keyMoving(event) : this.#keyWalking(event, token);
    if (done) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  #keyWalking(event, token) {
    const list = this.scene.elements;
    const at = Math.max(0, list.indexOf(token));
    const go = (place) => {
      this.scene.focusToken(list[(place + list.length) % list.length]);
      return true;
    };
    const leader = (by) => {
      const { shape } = this.scene.picture;
      for (let s = 1; s <= list.length; s += 1) {
        const place = (at + by * s + list.length * s) % list.length;
        if (shape[list[place]] === "star") return go(place);
      }
      return true;
    };
    switch (event.key) {
      case "ArrowRight": return list.length > 0 && go(at + 1);
      case "ArrowLeft": return list.length > 0 && go(at - 1);
      case "ArrowDown": return leader(1);
      case "ArrowUp": return leader(-1);
      case "Home": return list.length > 0 && go(0);
      case "End": return list.length > 0 && go(-1);
      case "m": case "M":
        if (!this.editable || token < 0) return false;
        this.moving = token;
        this.options.onMoving?.(token, true);
        this.scene.draw(this.scene.picture);
        return true;
      case "n": case "N":
        if (!this.editable) return false;
        this.options.onAdd?.(null);
        return true;
      case "Delete": case "Backspace":
        if (!this.editable || token < 0) return false;
        this.options.onDelete?.(token);
        return true;
      default: return false;
    }
  }

  #keyMoving(event) {
    const stride = event.shiftKey ? NUDGE / 4 : NUDGE;
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step) {
      const token = this.moving;
      const [x, y] = this.scene.positions.subarray(2 * token, 2 * token + 2);
      this.options.onNudge?.(token, this.scene.view.unplace(
        x + step[0] * stride, y + step[1] * stride, this.#coordinates(token),
      ));
      return true;
    }
    if (["m", "M", "Enter", "Escape"].includes(event.key)) {
      const token = this.moving;
      this.moving = -1;
      this.options.onMoving?.(token, false);
      this.scene.draw(this.scene.picture);
      return true;
    }
    return false;
  }
}
