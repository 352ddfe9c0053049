// The article: what each section says, and what its figure shows while it is read. No DOM here.
// In a text, {3} names a token (and numbers it in the figure), {T3} does so at the start of a sentence, and *z_i* is
// a symbol with an index. Every number below is checked against the package by tests/web/test_article.py.
//
// A section: { title, figure: settings of its cloud, steps, ask, answer, sentence }.
//   steps   what is read before the question: { text: [paragraphs], show: changes of the figure }
//   ask     { text, token, show, reveal }: where does this token go, from the layer of `show` to that of `reveal`?
//   answer  { text, tries: [[what a button says, changes of the figure]] }
//   sentence  the mathematics

import { cloudOf } from "../js/state.js";

const START = { pts: null, d: 2, alpha: 0.5, A: { kind: "I" }, K: 20, k: 0, sel: -1, beta: 9 };
const REVIEW = "The first hour is brilliant. The last half hour is awful and ruins everything.";

/** The review of the section on words, and the same without the word that decides it. */
export const REVIEWS = { whole: REVIEW, without: REVIEW.replace("awful ", "") };
export const WORD_MODEL = "imdb-words";

// The preset square-ties with its token 4 at (0.5, 0.01) instead of (0.5, 0).
const NUDGED = cloudOf(2, [
  1, 1, -1, 1, -1, -1, 1, -1, 0.5, 0.01, -0.5, 0, 0.357, 0.034, -0.2, 0.33, 0.229, -0.457, -0.324, -0.368,
]);

export const TITLE = "How attention forms clusters";
export const STANDFIRST = [
  "A transformer moves its tokens, layer by layer. With hardmax attention each token simply walks toward whoever reaches "
    + "farthest in its direction, and from that one rule come leaders, clusters, and in the end a verdict on a movie review.",
  "Before each answer you make a prediction: drag the dashed ring to where you think the token ends. The figure is live, "
    + "so you can also drag the tokens themselves.",
];

export const SECTIONS = [
  {
    title: "What a leader is",
    figure: { ...START, preset: "triangle", show: ["hull", "leaders"] },
    steps: [
      {
        text: ["Each mark is a token: a point in the plane, the way a word is a point in the embedding space of a transformer. "
          + "In every layer each of these twelve tokens looks at all twelve, itself included, and follows the one that reaches "
          + "farthest in its own direction."],
        show: {},
      },
      {
        text: [
          "Take {3}. The dotted line is its direction, from the origin through the token. Move a line at a right angle to it "
            + "outward until it touches the last token: that is {1}.",
          "In numbers, {3} compares the inner products ⟨*z_3*, *z_j*⟩ of all tokens *j*, and {1} has the largest, 0.635.",
        ],
        show: { sel: 3 },
      },
      {
        text: ["Then {3} takes a step toward {1}. It goes to (*z* + *α* *m*) / (1 + *α*), where *m* is the place of the token that "
          + "it follows. Here *α* = 1/2, so one step covers a third of the way."],
        show: { sel: 3, k: 1 },
      },
      {
        text: ["Some tokens pick themselves: nobody reaches farther in the direction of {0} than {0} does, and the same is true of "
          + "{1} and {2}. Such a token has nowhere to go. We call it a leader and draw it as a star."],
        show: { show: ["arrows", "hull", "leaders"] },
      },
    ],
    ask: {
      text: "{T11} lies almost halfway between the directions of two leaders. Where will it end?",
      token: 11, show: {}, reveal: { k: 20, show: ["hull", "leaders", "trails"] },
    },
    answer: {
      text: [
        "At {2}, whose score of 0.27 beats the 0.265 of {1}. The race is close, but it is run only once: each step turns "
          + "{11} toward {2}, so the lead of {2} keeps growing.",
        "The stars have not moved, and they never will. A leader leads forever: the others move to averages of places that do "
          + "not reach farther than the leader, so they cannot overtake it.",
      ],
      tries: [["Layer 0", { k: 0 }], ["Layer 1", { k: 1 }], ["Layer 20", { k: 20 }]],
    },
    sentence: "If ⟨*z_i*, *z_j*⟩ < |*z_i*|² for every other token *j*, the same holds in the next layer, because the new *z_j* is an "
      + "average of tokens that satisfy ≤ and of the old *z_j*, which satisfies <.",
  },
  {
    title: "Why the hull shrinks",
    figure: { ...START, preset: "random", n: 30, seed: 7, show: ["hull", "leaders"], hull: true },
    steps: [
      {
        text: ["Stretch a rubber band around these thirty tokens. The thin line where it rests is the convex hull. Every token moves to "
          + "an average of places inside the band, and an average of points never leaves their hull. So the hull of the next "
          + "layer lies inside the hull of this one."],
        show: {},
      },
      {
        text: ["Five layers later the band, shaded, has tightened. Wherever a token left its corner, the hull closed behind it. Its area "
          + "went from 11.46 to 9.96."],
        show: { k: 5, show: ["hull", "leaders", "trails"] },
      },
    ],
    ask: {
      text: "The hull has eight corners at the start, but only five of them lead. {T4} is a corner that does not. Where does it end?",
      token: 4, show: {}, reveal: { k: 20, show: ["hull", "leaders", "trails"] },
    },
    answer: {
      text: [
        "At {20}. Being a corner is not enough: in the direction of {4}, {20} reaches 4.66 and {4} itself only 4.11. The corners {16} "
          + "and {19} leave as well.",
        "After twenty layers the area is 9.66 and hardly changes. At infinite depth all that is left of the hull is the polygon "
          + "of the five leaders.",
      ],
      tries: [["Layer 0", { k: 0 }], ["Layer 5", { k: 5 }], ["Layer 20", { k: 20 }]],
    },
    sentence: "conv *Z^k+1* ⊆ conv *Z^k* for every layer *k*, and the intersection of all these hulls is a polytope whose corners "
      + "are the leaders.",
  },
  {
    title: "Emerging leaders",
    figure: { ...START, preset: "emerging", show: ["arrows", "hull", "leaders"] },
    steps: [
      {
        text: ["Leaders never resign, but new ones can appear. At layer 0 two tokens lead: {0}, far to the right, and {2}, at the "
          + "lower left."],
        show: {},
      },
      {
        text: ["{T1} starts near the middle, at (−1/12, 1/12). The token that reaches farthest in its direction is {3}, at (0, 1/4). "
          + "But {3} follows {0}, and is about to leave for the right."],
        show: { sel: 1 },
      },
    ],
    ask: {
      text: "Where does {1} end?",
      token: 1, show: { sel: 1 }, reveal: { k: 20, sel: 1, show: ["hull", "leaders", "trails", "limit"] },
    },
    answer: {
      text: [
        "Almost where it started. After one layer {3} is at (1/3, 5/18) and {1} at (−1/18, 5/36). In the direction of {1} nobody "
          + "reaches farther than {1} itself anymore, so it leads from layer 1 on and never moves again.",
        "At the start {1} lay inside the hull; at the end it is one of the three corners of the limit. A hull that shrinks can "
          + "uncover new corners.",
      ],
      tries: [["Layer 0", { k: 0 }], ["Layer 1", { k: 1 }], ["Layer 20", { k: 20 }]],
    },
    sentence: "The sets of leaders grow, *L_k* ⊆ *L_k+1*, and no set of leaders has more than *n* members, so from some layer on the "
      + "leaders are final.",
  },
  {
    title: "Ties and faces",
    figure: { ...START, preset: "square-ties", show: ["hull", "leaders"] },
    steps: [
      {
        text: ["What if two tokens reach equally far? The four corners of this square lead. {T4} stands at (0.5, 0), and both {0} and {3} "
          + "score 0.5. In a tie a token follows all winners at once: it walks toward their average."],
        show: { sel: 4 },
      },
    ],
    ask: {
      text: "Where does {4} end?",
      token: 4, show: { sel: 4 }, reveal: { k: 20, sel: 4, show: ["hull", "leaders", "trails", "limit"] },
    },
    answer: {
      text: [
        "At (1, 0), in the middle of the edge between {0} and {3}. That is not a corner, and {4} is not a leader: it is the point "
          + "of the edge nearest to the origin. Limits inside a face exist only because of exact ties.",
        "And exact ties are fragile. Lift {4} by 0.01 and the tie is broken: it follows {0} alone, all the way to the corner.",
      ],
      tries: [
        ["The tie", { pts: null, k: 20, sel: 4 }], ["Lifted by 0.01, layer 0", { pts: NUDGED, k: 0, sel: 4 }],
        ["Lifted by 0.01, layer 20", { pts: NUDGED, k: 20, sel: 4 }],
      ],
    },
    sentence: "Every token converges to a leader or, if its ties last, to the projection of the origin onto a face of the polytope "
      + "of the leaders.",
  },
  {
    title: "What alpha does",
    figure: { ...START, preset: "emerging", show: ["hull", "leaders", "limit", "trails"] },
    steps: [
      {
        text: ["The number *α* is the length of a step. A token that follows one leader keeps 1/(1 + *α*) of its distance in every layer: "
          + "two thirds for *α* = 1/2, so after ten layers less than 2 % is left."],
        show: { k: 10 },
      },
      {
        text: ["That sounds like a speed and nothing more. Here is the cloud with the emerging leader again. With *α* = 1/2, {1} became a "
          + "leader because {3} got out of its way in a single step."],
        show: { k: 1, sel: 1, show: ["arrows", "hull", "leaders"] },
      },
    ],
    ask: {
      text: "With *α* = 2 every step covers two thirds of the way instead of one third. Where does {1} end now?",
      token: 1, show: { alpha: 2, sel: 1, show: ["hull", "leaders"] },
      reveal: { alpha: 2, k: 20, sel: 1, show: ["hull", "leaders", "limit", "trails"] },
    },
    answer: {
      text: [
        "At {0}. With long steps {1} itself jumps so far that {3} is ahead of it again, and {3} leads it away to {0}. Short steps "
          + "do the same for another reason: with *α* = 0.1, {3} is still in the way after one layer.",
        "The same start and the same rule end in two places or in three. The step size is part of the model, not just its speed.",
      ],
      tries: [["α = 0.1", { alpha: 0.1, k: 20 }], ["α = 0.5", { alpha: 0.5, k: 20 }], ["α = 2", { alpha: 2, k: 20 }]],
    },
    sentence: "A step shrinks the distance to a leader *v* by the same factor, |*z^k+1* − *v*| = |*z^k* − *v*| / (1 + *α*), but it also decides "
      + "which inner product is the largest one next.",
  },
  {
    title: "From words to a verdict",
    words: true,
    figure: { review: "whole", k: 0 },
    steps: [
      {
        text: [`Now the tokens are words. Training has given every word of the vocabulary a place in the plane, and a review is the cloud `
          + `of its words. This one says: “${REVIEW}”`],
        show: {},
      },
      {
        text: ["Words with an opinion reach far in their own direction, so they lead themselves and stay where they are. Words without one "
          + "follow a neutral word, “the”, and gather around it."],
        show: { k: "last" },
      },
      {
        text: ["To reach a verdict the model takes the average of all words after the last layer. If it lies to the right of the dashed line, the "
          + "review is called positive; to the left, negative."],
        show: { k: "last" },
      },
    ],
    ask: {
      text: "“brilliant” pulls to one side, “awful” to the other. Where does the average of all words end?",
      show: {}, reveal: { k: "last" },
    },
    answer: {
      text: (facts) => [
        `On the ${facts.label} side. The logit is a plain sum, ${facts.logit}: “awful” brings ${facts.awful}, “brilliant” ${facts.brilliant}, and all `
          + "other words together the rest.",
        `Without “awful” the logit is ${facts.without} and the verdict ${facts.withoutLabel}. You can check such a sum with a pencil; whether you `
          + "agree with it is another question.",
      ],
      tries: [["Without “awful”", { review: "without", k: "last" }], ["The whole review", { review: "whole", k: "last" }]],
    },
    sentence: "logit = *b* + Σ ⟨*v*, *z_i*⟩ / (*n* + *n_0*), a sum with one term for each word, so every leader and its followers have an exact share "
      + "in the verdict.",
  },
  {
    title: "What softmax changes",
    softmax: true,
    figure: { ...START, preset: "triangle", K: 300, show: ["hull"] },
    steps: [
      {
        text: ["Real transformers do not pick a winner. Softmax gives every token *j* a weight, proportional to exp(*β* ⟨*z_i*, *z_j*⟩), and the token "
          + "walks toward the weighted average. The larger *β*, the more weight the winner gets; in the limit softmax is hardmax."],
        show: { beta: 9 },
      },
      {
        text: ["With *β* = 9 the cloud of the first section still forms three clusters, at some distance from {0}, {1} and {2} at "
          + "the start: everyone gets a little weight, so even the leaders are pulled inward."],
        show: { beta: 9, k: 20, show: ["hull", "trails"] },
      },
    ],
    ask: {
      text: "Now *β* = 4. With hardmax, {2} would lead and stay at the top forever. Where is it after sixty layers of softmax?",
      token: 2, show: { beta: 4 }, reveal: { beta: 4, k: 60, show: ["hull", "trails"] },
    },
    answer: {
      text: [
        "With {1}, in the cluster on the right near (0.89, −0.29). Of the three clusters two are left. They hold for more than a hundred "
          + "layers, and by layer 300 there is only one.",
        "Clusters that last long but not forever are called metastable. Hardmax is the idealization in which they last "
          + "forever, which is why its limits can be computed and proved.",
      ],
      tries: [["Layer 5", { beta: 4, k: 5 }], ["Layer 60", { beta: 4, k: 60 }], ["Layer 300", { beta: 4, k: 300 }], ["β = 9, layer 300", { beta: 9, k: 300 }]],
    },
    sentence: "As *β* → ∞ the weights exp(*β* ⟨*z_i*, *z_j*⟩) / Σ exp(…) become uniform on the maximizers, so each softmax layer converges to the "
      + "hardmax layer, but not all infinitely many layers at once.",
  },
];

/** The tokens that a section names. */
export function namedTokens(section) {
  const said = [...section.steps, section.answer].flatMap(({ text }) => (typeof text === "function" ? [] : text));
  return new Set([...[...said, section.ask.text].join(" ").matchAll(/\{T?(\d+)\}/g)].map((match) => Number(match[1])));
}
