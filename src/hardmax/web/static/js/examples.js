// Texts to try, written for this page.

export const EXAMPLES = {
  mixed: {
    title: "Mixed feelings",
    text: "This was not a good movie. The plot is boring and the ending is a waste of time, but the music was great.",
  },
  quiet: {
    title: "A quiet surprise",
    text: "I expected a disaster and found a small, honest film. The jokes are dry, the acting is wonderful and I would watch it again.",
  },
  turned: {
    title: "Attention turns the verdict",
    text: "It is gentle at first, charming in places and pleasant in others, but in the end forgettable.",
  },
  halves: {
    title: "Two halves",
    text: "The first hour is brilliant. The last half hour is awful and ruins everything.",
  },
  praise: {
    title: "Praise",
    text: "One of the best films I have seen this year: funny, moving and perfectly acted. I loved every minute.",
  },
  short: { title: "Very short", text: "Not bad at all!" },
  letters: {
    title: "Many alphabets",
    text: "Ein großartiger Film? <b>Great</b> music, 😀 терпимо, 電影, سيء: but the plot is dull & predictable.",
  },
  unknown: { title: "No known word", text: "zxqwv bnmpl qqrrtt" },
};
