// The lessons: six cards, and the panel that shows one beside the page.

import { el, freshId } from "../js/dom.js";
import { cloudOf } from "../js/state.js";

// ---------------------------------------------------------------------------------------------------------------------
// Six lessons: what each says, the state of the page it sets, what to try, one question and its answer.
// Every number below is checked against the package by tests/web/test_lessons.py.

const START = {
  pts: null, d: 2, alpha: 0.5, A: { kind: "I" }, K: 20, k: 0, sel: -1, hide: null, embed: null,
};

// The preset square-ties with its token 4 at (0.5, 0.01) instead of (0.5, 0).
const NUDGED = cloudOf(2, [
  1, 1, -1, 1, -1, -1, 1, -1, 0.5, 0.01, -0.5, 0, 0.357, 0.034, -0.2, 0.33, 0.229, -0.457, -0.324, -0.368,
]);

export const CARDS = [
  {
    title: "What a leader is",
    view: "dyn",
    state: { ...START, preset: "triangle", show: ["arrows", "hull", "leaders"] },
    text: [
      "Every dot is a token. In one layer each token looks at all tokens, itself included, and asks: who reaches furthest in my direction? The measure is the inner product ⟨zᵢ, zⱼ⟩. It then takes a step toward the winner; the arrows show who follows whom.",
      "A token whose winner is itself has nowhere to go. It is a leader, drawn as a star.",
    ],
    tries: [["One layer forward", { k: 1 }], ["Twenty layers forward", { k: 20 }], ["Back to the start", { k: 0 }]],
    ask: "Three of the twelve tokens lead. Will one of them ever move, or stop leading?",
    reveal: [
      "Never. Leading means ⟨zᵢ, zⱼ⟩ < |zᵢ|² for every other token j. The next place of j is a weighted mean of its own place, with a weight above 0, and of places for which ⟨zᵢ, ·⟩ is at most |zᵢ|². So the strict inequality holds again after the layer, and after every later one.",
    ],
  },
  {
    title: "Why the hull shrinks",
    view: "dyn",
    state: { ...START, preset: "random", n: 30, seed: 7, show: ["hull", "leaders", "trails"] },
    text: [
      "A token goes to (z + α m) / (1 + α), where m is the mean of the tokens it follows. That is a weighted mean of points of the cloud, and a mean of points never leaves their convex hull. So the hull of the next layer lies inside the hull of this one: it can shrink, it cannot grow.",
      "The thin line is the initial hull. Step forward and see which of its corners the tokens leave.",
    ],
    tries: [["Start", { k: 0 }], ["One layer forward", { k: 1 }], ["Five layers", { k: 5 }], ["Twenty layers", { k: 20 }], ["Shade the limit", { show: ["hull", "leaders", "limit", "trails"] }]],
    ask: "The hull of these 30 tokens has 8 corners. How many of them are still corners at the end, and which?",
    reveal: [
      "Five: exactly the leaders. A corner that does not lead follows another token, leaves its place, and the hull behind it closes. The area falls from 11.46 to 9.66 in twenty layers; the corners that lead stay forever.",
    ],
  },
  {
    title: "Emerging leaders",
    view: "dyn",
    state: { ...START, preset: "emerging", sel: 1, show: ["arrows", "hull", "leaders"] },
    text: [
      "Leaders do not resign, but new ones can appear. Here two tokens lead at layer 0: token 0, far to the right, and token 2, at the lower left. Token 1, near the middle at (−1/12, 1/12), follows token 3 at (0, 1/4).",
      "Token 3 follows token 0 and runs away to the right.",
    ],
    tries: [["One layer forward", { k: 1, sel: 1 }], ["Back to layer 0", { k: 0, sel: 1 }]],
    ask: "What happens to token 1 once token 3 has left? Step one layer and count the stars.",
    reveal: [
      "Three stars. After one layer token 3 is at (1/3, 5/18) and token 1 at (−1/18, 5/36): in the direction of token 1 nobody reaches further than token 1 itself anymore. It leads from layer 1 on and does not move.",
      "At the start it lay inside the hull; at the end it is one of the three corners of the limit polytope. A hull that shrinks can uncover new corners.",
    ],
  },
  {
    title: "Ties and faces",
    view: "dyn",
    state: { ...START, preset: "square-ties", sel: 4, show: ["arrows", "hull", "leaders"] },
    text: [
      "The four corners of the square lead. Token 4 stands at (0.5, 0), and two corners reach equally far in its direction: ⟨z, (1, 1)⟩ = ⟨z, (1, −1)⟩ = 0.5. In a tie a token follows all winners, that is, their mean.",
    ],
    tries: [["Twenty layers forward", { k: 20, sel: 4 }], ["Start", { k: 0, sel: 4, pts: null }], ["Nudge token 4 up by 0.01", { pts: NUDGED, k: 0, sel: 4 }], ["Nudged, twenty layers", { pts: NUDGED, k: 20, sel: 4 }]],
    ask: "Where does token 4 end? Is that a corner? And where does it end if it is nudged up by 0.01?",
    reveal: [
      "At (1, 0), the middle of the right edge: not a corner, and token 4 is not a leader. It is the point of that edge which is nearest to the origin. Limits that are not corners come from exact ties, and each is such a point of a face.",
      "After the nudge the tie is gone: token 4 follows the corner (1, 1) alone and ends there.",
    ],
  },
  {
    title: "What alpha does",
    view: "dyn",
    state: { ...START, preset: "emerging", show: ["hull", "leaders", "limit", "trails"] },
    text: [
      "Alpha says how long the step is. A token that follows one leader keeps 1/(1 + α) of its distance in every layer: 2/3 for α = 0.5, so after ten layers less than 2 % is left. A larger alpha is faster: 1/3 per layer for α = 2.",
    ],
    tries: [["α = 0.1", { alpha: 0.1, k: 20 }], ["α = 0.5", { alpha: 0.5, k: 20 }], ["α = 2", { alpha: 2, k: 20 }]],
    ask: "Does alpha only set the speed, or can it change where tokens end? Try the three values and count the corners of the limit.",
    reveal: [
      "It can change the end. With α = 0.5 there are three leaders; with α = 0.1 and with α = 2 only two. Token 1 needs token 3 to be gone after one layer. With small steps token 3 is still ahead, and draws token 1 along. With long steps token 1 itself jumps so far that token 3 is ahead of it again.",
      "The same start, a different limit: alpha is part of the model and does more than set its speed.",
    ],
  },
  {
    title: "From words to a verdict",
    view: "text",
    state: { model: "imdb", ex: "halves", text: null, text2: null, review: null, layer: -1, hide: null, embed: null },
    text: [
      "Now the tokens are words and pairs of words. Training has given each of them a place in the plane; the layers do the rest. Words that lead stand still and gather others. In the end the mean of all places is scored by a straight line: logit = b + Σ ⟨v, zᵢ⟩ / (n + n₀). Above 0 the verdict is positive.",
      "So the logit is a plain sum, and each leader's cluster has its part in it. Strong words lead themselves; the words without an opinion gather at a neutral one: “the” leads thirteen others here.",
    ],
    tries: [
      ["Layer 0", { layer: 0 }], ["Last layer", { layer: -1 }],
      ["What if: without “awful”", { text2: "The first hour is brilliant. The last half hour is and ruins everything." }],
      ["Only the text", { text2: null }],
    ],
    ask: "The text calls one half brilliant and the other awful. Which way does the verdict go, and what happens if you drop the word “awful”?",
    reveal: [
      "Negative, with a logit of −2.750: the leaders “is awful”, “awful and” and “awful” alone bring −3.691, “brilliant” and “is brilliant” bring +1.258.",
      "Without “awful” the logit is +0.974 and the verdict positive. The numbers of a sum can be checked with a pencil; whether a human reader would agree with them is another question.",
    ],
  },
];

// ---------------------------------------------------------------------------------------------------------------------
// The lessons: a card beside the page. It sets the page, asks one question, and shows the answer when asked to.

export const lessons = {
  mount: (root, app) => new Lessons(root, app),
};

class Lessons {
  #number = 0;
  #before = null; // what had the focus when the lessons were opened

  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.card = null;
  }

  render({ lesson }) {
    if (lesson === this.#number) return;
    if (this.#number === 0) this.#before = document.activeElement;
    this.#number = lesson;
    if (lesson === 0) this.#close();
    else this.#open(lesson);
  }

  #open(number) {
    const card = CARDS[number - 1];
    const [title, answer] = [freshId("lesson"), freshId("answer")];
    const shown = el("div", { id: answer, class: "lesson-answer", hidden: true, tabindex: "-1" }, card.reveal.map((text) => el("p", { text })));
    const reveal = el("button", {
      type: "button", class: "button primary", text: "Show the answer", "aria-expanded": "false", "aria-controls": answer,
      onclick: () => {
        shown.hidden = !shown.hidden;
        reveal.textContent = shown.hidden ? "Show the answer" : "Hide the answer";
        reveal.setAttribute("aria-expanded", String(!shown.hidden));
        if (!shown.hidden) shown.focus();
      },
    });
    const go = (to) => () => this.app.set({ lesson: to });
    const heading = el("h2", { id: title, tabindex: "-1", text: card.title });
    this.card = el("div", { class: "lesson", role: "dialog", "aria-modal": "true", "aria-labelledby": title, onkeydown: (event) => this.#key(event) },
      el("div", { class: "lesson-head" },
        el("p", { class: "note", text: `Lesson ${number} of ${CARDS.length}` }),
        el("button", { type: "button", class: "icon-button", text: "×", "aria-label": "Close the lessons", title: "Close (Esc)", onclick: go(0) })),
      el("div", { class: "lesson-body", tabindex: "0", role: "region", "aria-labelledby": title },
        heading, card.text.map((text) => el("p", { text })),
        el("div", { class: "lesson-tries", role: "group", "aria-label": "Try" }, card.tries.map(([text, patch]) => el("button", {
          type: "button", class: "button", text, onclick: () => this.#try(patch),
        }))),
        el("p", { class: "lesson-ask", text: card.ask }), reveal, shown),
      el("div", { class: "lesson-foot" },
        el("button", { type: "button", class: "button", text: "Back", disabled: number === 1, onclick: go(number - 1) }),
        el("span", { class: "lesson-dots", "aria-hidden": "true" }, CARDS.map((_, i) => el("span", { class: i + 1 === number ? "is-here" : null }))),
        number < CARDS.length
          ? el("button", { type: "button", class: "button primary", text: "Next", onclick: go(number + 1) })
          : el("button", { type: "button", class: "button primary", text: "Play on your own", onclick: go(0) })));
    this.root.replaceChildren(this.card);
    document.documentElement.classList.add("has-lesson");
    this.app.player.pause(false);
    this.app.openScreen(card.view, { ...card.state, lesson: number });
    heading.focus();
  }

  #close() {
    this.root.replaceChildren();
    this.card = null;
    document.documentElement.classList.remove("has-lesson");
    const target = this.#before?.isConnected && this.#before !== document.body ? this.#before : document.getElementById("main");
    target?.focus();
  }

  #try(patch) {
    this.app.player.pause(false);
    this.app.set(patch);
    this.app.announce();
  }

  #key(event) {
    if (event.key === "Escape") this.app.set({ lesson: 0 });
    else if (event.key === "Tab") this.#trap(event);
    else return;
    event.stopPropagation();
  }

  /** Tab goes round inside the card. */
  #trap(event) {
    const stops = [...this.card.querySelectorAll("button:not([disabled]), [tabindex='0']")].filter((node) => node.offsetParent !== null);
    const at = stops.indexOf(document.activeElement);
    const leaving = event.shiftKey ? at <= 0 : at === stops.length - 1;
    if (!leaving) return;
    event.preventDefault();
    stops.at(event.shiftKey ? -1 : 0).focus();
  }
}
