// What the Sentiment screen asks of the server, answered in the page by an exported model (sentiment/export/hardmax.js).
//
// The answers have the fields and, to 1e-9, the numbers of web/text_jobs.py. Places in a text are code points, as in
// Python. A long text keeps all its coordinates here, for nothing is sent over a wire.

/** Path -> async (body) => answer, for a `Model` of hardmax.js. */
export function textAnswers(model) {
  const card = { classes: model.classes, labels: model.labels, alpha: model.alpha, layers: model.layers };
  const known = { name: model.name, ...card, dim: model.dim, ngrams: model.ngrams, terms: model.terms, description: model.description, calibration: model.calibration };
  return {
    "/api/models": async () => ({ schema: "hardmax.models/1", models: [known], reason: null }),
    "/api/explain": async ({ text, model: name = null }) => {
      if (name !== null && name !== model.name) {
        throw Object.assign(new Error(`there is no model '${name}'`), {
          what: `there is no model '${name}'`, found: model.name, fix: "use one of these names",
        });
      }
      return explained(model, text.toWellFormed(), card);
    },
  };
}

function explained(model, text, card) {
  const point = pointOffsets(text);
  const { row, probabilities, logits, split, trace, ...answer } = model.explain(text);
  const placed = (one) => ({ ...one, places: one.places.map(([start, end]) => [point[start], point[end]]) });
  return {
    schema: "hardmax.explain/2", ...answer, words: answer.words.map(placed), terms: answer.terms.map(placed),
    model: model.name, ...card,
    decoder: { v: model.scores[row], b: answer.bias, neutral_words: model.neutral_words },
    split: split.map(([form, start, end]) => [form, point[start], point[end]]),
    trace: { ...trace, shadow: false },
  };
}

/** UTF-16 offset -> number of code points before it: pointOffsets("a😀b") = [0, 1, , 2, 3]. */
function pointOffsets(text) {
  const points = [];
  let [unit, count] = [0, 0];
  for (const character of text) {
    points[unit] = count++;
    unit += character.length;
  }
  points[unit] = count;
  return points;
}
