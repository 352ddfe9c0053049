// Exact: a few labeled sequences become a transformer that classifies every one of them, stage by stage.

import { el, freshId, short } from "../js/dom.js";
import { Plane } from "../js/plane.js";
import { encodeSequences, parseSequences, SETS, trouble } from "../js/sequences.js";
import { ServerLost } from "../js/server.js";
import { headline } from "../js/welcome.js";
import { pythonString, sentence } from "./models.js";
import { Scrubber } from "./scrubber.js";
import { gather, looks, nearZero, SequenceList, sizesTable, thumbnail } from "./sequence_pictures.js";

const TYPING = 250; // ms of rest before the server is asked
const PATIENCE = 300;
const DRAWN = [[-1.5, -1.5], [1.5, 1.5]]; // the picture of the input shows at least this
const MOST_BYTES = 200_000;
const STYLES = {
  bitwise: "bitwise: exact in float64", two: "two: only two blocks", narrow: "narrow: four units wide",
};
const POOLS = { mean: "their averages (mean)", max: "their extreme tokens (max)" };

export const screen = {
  view: "exact", title: "Exact", key: "4",
  mount: (root, app) => new ExactScreen(root, app),
};

class ExactScreen {
  #asked = null; // text of the request whose answer is shown or awaited
  #request = null;
  #timer = 0;
  #result = null; // the last good answer, with the sequences it is for
  #current = false; // whether it is the answer for what is on the screen
  #wrong = null; // { sequences: numbers, text }

  constructor(root, app) {
    this.app = app;
    this.active = 0;
    this.list = new SequenceList({ onChange: (sequences) => this.#edit(sequences), onChoose: (j) => this.#activate(j) });
    this.scrubber = new Scrubber(app, {
      name: "stage", onChange: (stage) => app.set({ stage }),
      say: (value, last) => `stage ${value} of ${last}${this.#result ? `: ${this.#result.stages[Math.min(value, last)]?.name ?? ""}` : ""}`,
    });
    this.plane = new Plane({
      label: "The sequences", height: 420,
      onPlace: (at) => this.#placed(at), onRemove: (i) => this.#removed(i),
      onPick: (i) => this.app.state.stage === 0 && this.#activate(this.drawn[i].sequence),
    });
    root.append(
      headline(
        "This network is computed, not trained: it gives every sequence its label, and that is proved.",
        "Draw sequences of tokens, give them labels, and go through the stages that tell them apart.",
      ),
      el("div", { class: "exact-grid" }, this.#controls(), this.#picture()),
    );
  }

  #controls() {
    const { app } = this;
    const [set, file, style, pool, error] = ["set", "file", "style", "pool", "exact-error"].map(freshId);
    const options = (names) => Object.entries(names).map(([value, text]) => el("option", { value, text }));
    this.set = el("select", { id: set, onchange: () => this.set.value !== "own" && this.#choose({ set: this.set.value, seqs: null }) },
      options(Object.fromEntries(Object.entries(SETS).map(([name, { text }]) => [name, text]))), el("option", { value: "own", text: "My own" }));
    this.style = el("select", { id: style, onchange: () => app.set({ style: this.style.value }) }, options(STYLES));
    this.pool = el("select", { id: pool, onchange: () => app.set({ pool: this.pool.value }) }, options(POOLS));
    this.file = el("input", { id: file, type: "file", accept: ".json,.jsonl,application/json", onchange: () => this.#load() });
    this.error = el("p", { id: error, class: "field-error", role: "alert" });
    const field = (id, text, node) => el("div", { class: "field" }, el("label", { for: id, text }), node);
    return el("div", { class: "panel controls exact-controls" },
      field(set, "Sequences", this.set), this.list.node, this.error,
      field(file, "or a file: .jsonl, one {\"tokens\", \"label\"} per line", this.file),
      field(style, "Construction", this.style), field(pool, "Sequences are told apart by", this.pool));
  }

  #picture() {
    this.caption = el("span", {});
    this.figure = el("figure", { class: "stage-figure", "aria-label": "The sequences at this stage" }, el("figcaption", {}, this.caption), this.plane.svg);
    this.app.tableToggle(this.figure, () => this.#table());
    this.explanation = el("p", { class: "note stage-note", role: "status" });
    this.strip = el("ol", { class: "stage-strip", "aria-label": "All stages" });
    this.sizes = el("div", { class: "sizes" });
    return el("div", { class: "panel exact-picture" }, this.figure, this.explanation, this.scrubber.node, this.strip, this.sizes);
  }

  // -- what the reader does ------------------------------------------------------------------------------------------

  #edit(sequences) {
    this.app.set({ seqs: sequences, stage: 0 });
    this.render(this.app.state);
  }

  #choose(patch) {
    this.active = 0;
    this.app.set({ ...patch, stage: 0 });
  }

  #activate(j) {
    this.active = j;
    this.render(this.app.state);
  }

  #placed(at) {
    if (this.app.state.stage !== 0) {
      this.app.say("Tokens are added in the picture of the input, stage 0");
      this.explanation.textContent = "Tokens are added at stage 0, the input.";
      return;
    }
    this.list.addToken(at.map((x) => Math.round(x * 100) / 100 || 0));
  }

  #removed(i) {
    const { sequence, token } = this.drawn[i];
    if (this.app.state.stage === 0) this.list.removeToken(sequence, token);
  }

  async #load() {
    const [file] = this.file.files;
    if (!file) return;
    try {
      if (file.size > MOST_BYTES) throw new Error(`the file has ${file.size} bytes, more than ${MOST_BYTES}`);
      this.#choose({ seqs: parseSequences(await file.text()) });
    } catch (error) {
      this.#problem({ sequences: [], text: `${file.name}: ${error.message}` });
    }
    this.file.value = "";
  }

  // -- drawing -----------------------------------------------------------------------------------------------------

  render(state) {
    this.sequences = state.seqs ?? SETS[state.set].sequences;
    this.active = Math.min(this.active, Math.max(0, this.sequences.length - 1));
    this.set.value = state.seqs === null ? state.set : "own";
    this.style.value = state.style;
    this.pool.value = state.pool;
    this.#ask(state);
    this.#draw(state);
  }

  #ask({ style, pool }) {
    const key = JSON.stringify([encodeSequences(this.sequences), style, pool]);
    if (key === this.#asked) return;
    this.#asked = key;
    this.#current = false;
    this.#request?.abort();
    clearTimeout(this.#timer);
    const wrong = trouble(this.sequences);
    this.#problem(wrong);
    if (wrong) return;
    const body = { sequences: this.sequences, style, pool };
    this.#timer = setTimeout(() => this.#send(body), this.#result ? TYPING : 0);
  }

  async #send(body) {
    const request = new AbortController();
    this.#request = request;
    const slow = setTimeout(() => (this.explanation.textContent = "Compiling the sequences…"), PATIENCE);
    try {
      const answer = await this.app.api.post("/api/construct", body, { signal: request.signal });
      if (request.signal.aborted) return;
      this.#result = { ...answer, sequences: body.sequences };
      this.#current = true;
      this.#problem(null);
    } catch (error) {
      if (request.signal.aborted) return;
      if (error instanceof ServerLost) this.#asked = null; // asked again when the server is back
      this.#problem({ sequences: named(error.what ?? ""), text: sentence(error) });
    } finally {
      clearTimeout(slow);
    }
    this.#draw(this.app.state);
  }

  #problem(wrong) {
    this.#wrong = wrong;
    this.error.textContent = wrong ? `${wrong.text}${this.#result ? " The last valid network is shown." : ""}` : "";
  }

  #draw(state) {
    const result = this.#result;
    const last = result ? result.stages.length - 1 : 0;
    const stage = Math.min(state.stage, last);
    this.scrubber.show(stage, last);
    const correct = result && this.#current ? result.correct : [];
    this.list.render(this.sequences, this.active, correct, this.#wrong?.sequences ?? []);
    const shown = stage === 0 ? this.sequences : result.sequences;
    const { clouds, from } = nearZero(stage === 0 ? this.sequences.map(({ tokens }) => tokens) : result.stages[stage].tokens);
    this.drawn = stage === 0
      ? clouds.flatMap((tokens, j) => tokens.map((at, i) => ({ at, sequence: j, token: i, names: [String(j)] })))
      : gather(clouds);
    const atEnd = stage > 0 && stage === last;
    this.plane.draw({
      axes: true, equal: stage === 0, frame: stage === 0 ? DRAWN : [],
      points: this.drawn.map(({ at, sequence, names, count }) => this.#point(shown, at, from, sequence, names, count ?? 1, atEnd)),
    });
    this.plane.label = `${shown.length} sequences at stage ${stage}`;
    this.plane.svg.classList.toggle("is-drawing", stage === 0);
    this.#words(stage, last, from[0]);
    this.strip.replaceChildren(...(result ? result.stages.map((one, k) => this.#thumb(one, k, stage)) : []));
    this.sizes.replaceChildren(...(result ? [sizesTable(result, this.#current)] : []));
  }

  #point(shown, at, from, sequence, names, count, atEnd) {
    const { label } = shown[sequence];
    const { shape, class: className } = looks(shown, label);
    const together = names.length > 1 ? `sequences ${names.join(", ")}` : `sequence ${names[0]}`;
    const dim = this.app.state.stage === 0 && sequence !== this.active ? " is-quiet" : "";
    return {
      at, shape, size: count > 1 ? 7 : 5, class: className + dim, lead: count > 1,
      name: atEnd ? label : names.length > 4 ? `${names.length} sequences` : names.join(", "),
      label: `${together}, ${label}, at ${at.map((x, c) => (from[c] ? String(x + from[c]) : short(x))).join(", ")}${count > 1 ? `, ${count} tokens together` : ""}`,
    };
  }

  #words(stage, last, from) {
    const result = this.#result;
    this.caption.textContent = stage === 0 ? "Stage 0: the input" : `Stage ${stage} of ${last}: ${result.stages[stage].name}`;
    const blocks = stage === 0 ? "" : ` ${blockRange(result.stages[stage])}`;
    const stale = result && !this.#current && stage > 0 ? " This is the last valid network, not that of the current sequences." : "";
    const moved = from ? ` The picture shows x0 − ${from}.` : "";
    const projected = result?.projection && stage > 0 ? ` Shown: ${result.projection}.` : "";
    this.explanation.textContent = stage === 0
      ? "Every mark is a token; the number beside it says which sequence it belongs to, the shape which label it has."
      : `${capital(result.stages[stage].explanation)}.${blocks}${moved}${projected}${stale}`;
  }

  #thumb({ name, tokens }, k, stage) {
    const used = k === 0 ? this.#result.sequences.map((one) => one.tokens) : tokens;
    return el("li", {}, el("button", {
      type: "button", class: "thumb", "aria-current": k === stage ? "step" : null, onclick: () => this.app.set({ stage: k }),
    }, thumbnail(gather(nearZero(used).clouds), this.#result.sequences), el("span", { text: `${k} ${name}` })));
  }

  // -- what the shell asks -----------------------------------------------------------------------------------------

  #table() {
    const stage = Math.min(this.app.state.stage, this.scrubber.last);
    const clouds = stage === 0 ? this.sequences.map(({ tokens }) => tokens) : this.#result.stages[stage].tokens;
    const labels = stage === 0 ? this.sequences : this.#result.sequences;
    return {
      columns: ["stage", "sequence", "label", "token", "x0", "x1"],
      rows: clouds.flatMap((tokens, j) => tokens.map((at, i) => [stage, j, labels[j].label, i, ...at])),
    };
  }

  onKey(event) {
    return this.scrubber.onKey(event);
  }

  announce() {
    const result = this.#result;
    if (!result) return "";
    const right = result.correct.filter(Boolean).length;
    return `${this.caption.textContent}. ${right} of ${result.correct.length} sequences are classified correctly.`;
  }

  exports() {
    const result = this.#result;
    if (!result) return {};
    const { sequences } = result;
    const lines = sequences.map(({ label, tokens }) => JSON.stringify({ tokens, label }));
    return {
      svg: () => this.plane.svg,
      table: () => this.#table(),
      json: () => result,
      python: () => [
        "import hardmax as hx", "",
        `sequences = ${JSON.stringify(sequences.map(({ tokens }) => tokens))}`,
        `labels = [${sequences.map(({ label }) => pythonString(label)).join(", ")}]`,
        `net = hx.construct(sequences, labels, style="${result.style}", pool="${result.pool}")`,
        "print(net.blocks, net.bound, net.width, net.parameters, net(sequences) == labels)", "",
      ].join("\n"),
      command: () => ["cat > sequences.jsonl <<'END'", ...lines, "END", `hardmax construct sequences.jsonl -o network --style ${result.style} --pool ${result.pool}`].join("\n"),
    };
  }

  dispose() {
    this.plane.dispose();
    this.scrubber.pause();
  }
}

/** The numbers in "sequences 0 and 3 hold the same tokens", so that the error can be shown where it is. */
function named(what) {
  const found = /\bsequences? (\d+)(?: and (\d+))?/.exec(what);
  return found ? found.slice(1).filter(Boolean).map(Number) : [];
}

function blockRange({ first, last }) {
  return first === last ? `Block ${first + 1}.` : `Blocks ${first + 1} to ${last + 1}.`;
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}
