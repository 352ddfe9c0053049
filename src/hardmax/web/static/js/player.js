// Play, pause, step: moves the layer k that every screen with layers shows.

const LAYER_TIME = 650; // ms a layer stays while playing

export class Player {
  constructor(app) {
    this.app = app;
    this.playing = false;
    this.timer = 0;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    const { k, K } = this.app.state;
    if (k >= K) this.app.set({ k: 0 });
    this.playing = true;
    this.#tick(Math.min(LAYER_TIME, 250));
    this.app.redraw(["playing"]);
  }

  pause(speak = true) {
    if (!this.playing) return;
    clearTimeout(this.timer);
    this.playing = false;
    this.app.redraw(["playing"]);
    if (speak) this.app.announce();
  }

  step(by) {
    this.go(this.app.state.k + by);
  }

  go(k) {
    this.pause(false);
    this.app.set({ k: Math.max(0, Math.min(this.app.state.K, k)) });
    this.app.announce();
  }

  #tick(wait) {
    this.timer = setTimeout(() => {
      const { k, K } = this.app.state;
      if (k < K) this.app.set({ k: k + 1 });
      if (k + 1 >= K) this.pause();
      else this.#tick(LAYER_TIME);
    }, wait);
  }
}
