// From tokens to the screen and back: a window on the plane, or an orthographic look at space.

const RADIAN = Math.PI / 180;

/** Where the cloud is drawn. The y axis points up; in space z points up. */
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
