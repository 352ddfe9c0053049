// Tokens glide from layer to layer, unless the reader asked for less motion.

const TIME = 380; // ms

export class Tween {
  constructor(paint) {
    this.paint = paint;
    this.now = new Float64Array(0);
    this.still = window.matchMedia("(prefers-reduced-motion: reduce)");
  }

  /** Go to `target`, gliding if `smooth`. */
  to(target, smooth) {
    this.stop();
    if (!smooth || this.still.matches || this.now.length !== target.length || document.hidden) {
      this.now = target;
      this.paint(target);
      return;
    }
    const from = this.now;
    const start = performance.now();
    const step = (time) => {
      const t = Math.min(1, Math.max(0, (time - start) / TIME));
      const ease = t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) ** 2;
      this.now = t === 1 ? target : from.map((x, i) => x + ease * (target[i] - x));
      this.paint(this.now);
      if (t < 1) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  stop() {
    cancelAnimationFrame(this.frame);
  }
}
