"""What held-out texts decide for each data set: the penalty, the depth, and the calibration.

The held-out texts are blocks of neighboring texts of every class, a fifth of all texts; on small data each fifth is
held out in turn, and the only text of a class never is. The model is then trained again on all texts. The choices are

- the penalty of `word_scores` and then the smoothing, by the log-loss of whole texts after calibration. A value
  other than the default must be better by more than the standard error of the difference, because the best of several
  values that differ by chance is no better than the default;
- with layers = "auto": 8 layers if texts are long, there are two classes, and attention labels at least as many
  held-out texts correctly as the model without it; otherwise none;
- the scale, the neutral words, with several classes the damping and, where it lowers the log-loss, the shift of all
  words of `calibration`, by more held-out texts than the settings above. With several classes these are held out in
  tenths: a model that learns from four fifths of few texts is clearly worse than the final one, whose probabilities
  would be too low. Each beginning weighs a third of the text: with the same weight, the five beginnings of a long text
  decide alone, and the log-loss of whole texts is higher, while that of beginnings is no lower.

With more than 20 classes and very many scores, one part is held out, the smoothing is not chosen, and each text has one
beginning, which weighs as much as all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from hardmax.io.scratch import joined
from hardmax.sentiment.batches import run_bags
from hardmax.sentiment.calibration import Calibration, beginnings, calibrate, together
from hardmax.sentiment.lbfgs import MEMORY
from hardmax.sentiment.model import Label, damped
from hardmax.sentiment.placing import directions, start
from hardmax.sentiment.recipe import LAYERS, Recipe
from hardmax.sentiment.training import Trainer
from hardmax.sentiment.training_loop import Progress, Watch
from hardmax.sentiment.word_scores import (
    SMOOTHING,
    Examples,
    Floats,
    Problem,
    Solution,
    grade,
    prior_of,
    problem,
    slices,
    solve,
)
from hardmax.text.vocabulary import Bags, Vocabulary, spans

PENALTIES = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7)
SMOOTHINGS = (1.0, 5.0, 20.0)  # tried after the usual one, in this order, while they help
USUAL = 1e-5  # penalty that is tried first, and used in a stream
FEW = 1e-2  # penalty where nothing can be held out: nothing tells then how sure the model may be
NEUTRAL = 0.3  # neutral words while learning, as a part of the mean number of terms
BEGINNING = 0.03  # weight of each beginning of a text while learning; the text weighs 1
OF_BEGINNINGS = 1 / 3  # weight of each beginning in the calibration; a long text has five
FOLDS, TENTHS, BLOCKS = 5, 10, 20
ENOUGH = 1000  # held-out texts to choose by
CALIBRATED = 5000  # held-out texts to calibrate by
IN_TENTHS = 3000  # the same if they are held out in tenths, which takes longer
PER_CLASS = 5  # held-out texts for each class, on average; with fewer no shift is fitted, a number for each class
WIDE = 2_000_000  # scores of words; where there are more, as with many classes, one fold and fewer steps have to do
LEAST = 20  # texts that can be held out; with fewer none is
LONG = 100  # terms; in shorter texts attention is not tried by default
POWER = 0.7  # of the log-odds without attention; leaders have to stand out, so attention takes the log-odds themselves
MANY = 20  # classes; where there are more and many scores, less is tried, on fewer held-out texts
HELD, MANY_MEMORY = 2_000_000, 3  # scores of held-out texts then, and steps that are remembered
WORTH = 1e-3  # log-loss for which it is worth trying the next penalty
PASSES, WIDE_PASSES = 100, 30
Fold = tuple[Examples, Examples]  # to learn from, and to measure on


def prepare(
    examples: Examples,
    vocabulary: Vocabulary,
    classes: tuple[Label, ...],
    recipe: Recipe,
    stream: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Trainer:
    """A trainer at the end of the first phase, with everything chosen; in a stream nothing is held out."""
    several = examples.labels.ndim == 2
    scores = len(classes) if several or len(classes) > 2 else 1
    recipe = recipe.settled(examples.bags, scores + (several and scores > 1), len(vocabulary))
    towards = directions(scores, int(recipe.dim), several, recipe.seed)
    terms, layers = float(examples.sizes.mean()), recipe.layers
    attention = scores == 1 and terms >= LONG and not stream if layers == "auto" else layers != 0
    task = Task(vocabulary, classes, recipe, towards, NEUTRAL * terms, attention, stream, progress)
    folds = [] if stream else split(examples, 1 if task.wide else CALIBRATED)
    if task.many:
        folds = [(learn, _sparser(held, 1 + len(held.bags) * scores // HELD)) for learn, held in folds]
    if sum(len(held.bags) for _, held in folds) < LEAST:
        whole, penalty = task.problem(examples), recipe.penalty or (USUAL if stream else FEW)
        return task.trainer(whole, task.solve(whole, penalty), penalty)
    return _choose(task, examples, folds)


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned, from all texts or from a part of them."""

    vocabulary: Vocabulary
    classes: tuple[Label, ...]
    recipe: Recipe
    directions: Floats
    neutral: float
    attention: bool  # whether it may be tried
    alike: bool = False  # all words learn at the same rate
    progress: Callable[[Progress], object] | None = None

    def problem(self, examples: Examples, smoothing: float | None = None) -> Problem:
        """The first phase: the texts and, with less weight, their beginnings, so that a few words can decide too."""
        smoothing = smoothing or self.recipe.smoothing or SMOOTHING
        power = 1.0 if self.attention else POWER
        given = problem(examples, len(self.vocabulary), self.directions, self.neutral, smoothing, power)
        return replace(given, examples=beginnings(examples, BEGINNING, self.many))

    def solve(
        self, given: Problem, penalty: float, begin: Solution | None = None, what: str = "learning the words"
    ) -> Solution:
        """The optimum of the first phase."""
        memory = MANY_MEMORY if self.many else MEMORY
        return solve(given, penalty, begin, self.most, self._telling(what), memory)

    @property
    def most(self) -> int:
        """Steps to an optimum, at most."""
        return self.recipe.warm_epochs or (WIDE_PASSES if self.wide else PASSES)

    @property
    def many(self) -> bool:
        """Whether there are so many classes, too, that one beginning of each text has to do."""
        return self.wide and len(self.directions) > MANY

    @property
    def wide(self) -> bool:
        """Whether there are so many scores that every step takes long."""
        return len(self.vocabulary) * self.directions.shape[1] > WIDE

    def _telling(self, what: str) -> Callable[[int, float], None]:
        begun = monotonic()

        def tell(step: int, loss: float) -> None:
            if self.progress is not None:
                self.progress(Progress(0, 0, step, self.most, loss, monotonic() - begun, what=what))

        return tell

    def trying(self, at: Progress) -> None:
        """Progress of a model that is trained only to see whether attention helps."""
        if self.progress is not None:
            self.progress(replace(at, epoch=0, epochs=0, what="trying attention on held-out texts"))

    def trainer(self, given: Problem, found: Solution, penalty: float, layers: int | None = None) -> Trainer:
        """The model that was found or, with layers, the one that is found from there for the words that lead."""
        if layers is None:
            layers = 0 if self.recipe.layers == "auto" else int(self.recipe.layers)
        tell = self._telling("learning the words that lead")
        begin, several = (
            start(found, given, self.recipe, layers, penalty, tell),
            given.examples.labels.ndim == 2,
        )
        if self.alike:
            begin = replace(begin, pace=np.where(begin.pace > 0, 1.0, 0.0))  # poles stay where they are
        recipe = replace(self.recipe, layers=layers)
        trainer = Trainer(self.vocabulary, self.classes, recipe, begin, self.neutral, several)
        trainer.losses = list(begin.losses)
        return trainer


def _choose(task: Task, examples: Examples, folds: list[Fold]) -> Trainer:
    bias = prior_of(examples, task.directions)
    held = np.cumsum([len(held.bags) for _, held in folds])
    few = 1 + int(np.searchsorted(held, min(ENOUGH, held[-1])))
    best = _best_penalty(task, folds[:few])
    for smoothing in SMOOTHINGS if task.recipe.smoothing is None and not task.many else ():
        found = _try(task, folds[:few], best.penalty, smoothing, best)
        if not found.plain.better(best.plain):
            break
        best = found
    penalty = best.penalty
    chosen_by = f"the lowest log-loss on {best.plain.texts:,} held-out texts, up to the standard error"
    if examples.labels.ndim == 1 and len(bias) > 1 and not task.wide:
        folds = split(examples, IN_TENTHS, TENTHS)
        best = _try(task, folds, best.penalty, best.smoothing, None)
    else:
        best = _also(task, folds, best)
    plain = best.plain
    reasons = {
        name: f"{value:g}: {chosen_by if open_ is None else 'as given'}"
        for name, value, open_ in (
            ("penalty", penalty, task.recipe.penalty), ("smoothing", best.smoothing, task.recipe.smoothing)
        )
    }  # fmt: skip
    layers, measured = 0, plain
    if task.recipe.layers == "auto" and not task.attention:
        reasons["layers"] = "0: attention is tried by default only for long texts of two classes"
    elif task.attention:
        layers = LAYERS if task.recipe.layers == "auto" else int(task.recipe.layers)
        trainers = [task.trainer(p, s, penalty, layers) for p, s in zip(best.problems, best.found, strict=True)]
        for trainer, (learn, _) in zip(trainers, folds, strict=True):
            trainer.train(learn, Watch(progress=task.trying))
        measured = measure(trainers, folds, bias, task.many)
        figures = f"accuracy on {plain.texts:,} held-out texts: {measured.accuracy:.4f} with {layers} layers, "
        reasons["layers"] = f"{layers}; {figures}{plain.accuracy:.4f} without attention"
        if task.recipe.layers == "auto" and measured.accuracy < plain.accuracy:
            reasons["layers"] = f"0, attention does not help here; {figures}{plain.accuracy:.4f} without"
            layers, measured = 0, plain
    whole = task.problem(examples, best.smoothing)
    trainer = task.trainer(whole, task.solve(whole, penalty, best.found[0]), penalty, layers)
    if trainer.shifts:
        used, by = measured.calibration.every.any(), f"the log-loss on {measured.texts:,} held-out texts"
        reasons["shift"] = (
            f"none; {measured.texts:,} held-out texts are too few for {len(bias)} classes"
            if measured.texts < PER_CLASS * len(bias)
            else f"all words, toward or away from each class; it lowers {by}"
            if used
            else f"none; it would not lower {by}"
        )
    trainer.calibration, trainer.choices = measured.calibration, reasons
    return trainer


def _best_penalty(task: Task, folds: list[Fold]) -> "Tried":
    """The penalty with the least loss: from the usual one upward while that helps, otherwise downward."""
    smoothing = task.recipe.smoothing or SMOOTHING
    first = best = _try(task, folds, task.recipe.penalty or USUAL, smoothing, None)
    if task.recipe.penalty is not None:
        return first
    usual = PENALTIES.index(USUAL)
    for way in (PENALTIES[:usual][::-1], PENALTIES[usual + 1 :]):
        for penalty in way:
            found = _try(task, folds, penalty, smoothing, best)
            if not found.plain.better(best.plain):
                break
            best = found
        if best is not first:
            break
    return best


@dataclass(frozen=True)
class Tried:
    """Settings of the first phase, and what they lead to on every fold."""

    penalty: float
    smoothing: float
    problems: list[Problem]
    found: list[Solution]
    plain: "Measured"


def _try(task: Task, folds: list[Fold], penalty: float, smoothing: float, before: Tried | None) -> Tried:
    """Solve and measure, from the scores that were found with other settings."""
    same = before is not None and before.smoothing == smoothing
    problems = before.problems if before is not None and same else [task.problem(x, smoothing) for x, _ in folds]
    begin = before.found if before is not None else [None] * len(folds)
    what = "choosing the penalty on held-out texts"
    found = [task.solve(p, penalty, s, what) for p, s in zip(problems, begin, strict=True)]
    trainers = [task.trainer(p, s, penalty, 0) for p, s in zip(problems, found, strict=True)]
    return Tried(penalty, smoothing, problems, found, measure(trainers, folds, problems[0].prior, task.many))


def _also(task: Task, folds: list[Fold], best: Tried) -> Tried:
    """The same settings on all folds, those that nothing was chosen by too."""
    if len(best.problems) == len(folds):
        return best
    rest = _try(task, folds[len(best.problems) :], best.penalty, best.smoothing, None)
    problems, found = best.problems + rest.problems, best.found + rest.found
    trainers = [task.trainer(p, s, best.penalty, 0) for p, s in zip(problems, found, strict=True)]
    return replace(best, problems=problems, found=found, plain=measure(trainers, folds, problems[0].prior, task.many))


@dataclass(frozen=True, eq=False)
class Measured:
    """How models do on the texts that were held out from them."""

    accuracy: float
    losses: Floats  # the calibrated log-loss of every whole text
    calibration: Calibration

    @property
    def texts(self) -> int:
        """How many texts were held out."""
        return len(self.losses)

    def better(self, other: "Measured") -> bool:
        """Whether the mean loss of the same texts is lower, by more than the standard error of the difference."""
        gain = other.losses - self.losses
        return bool(gain.mean() > max(WORTH, gain.std() / np.sqrt(len(gain))))


def measure(trainers: list[Trainer], folds: list[Fold], bias: Floats, many: bool = False) -> Measured:
    """Calibrate models on held-out texts and their beginnings; the accuracy is that of whole texts."""
    parts, sums, whole = [], [], []
    damps = folds[0][1].labels.ndim == 1 and len(bias) > 1
    for trainer, (learn, held) in zip(trainers, folds, strict=True):
        part, texts = beginnings(_known(held, learn), OF_BEGINNINGS, many), len(held.bags)
        logits = run_bags(part.bags, trainer.model_parameters)[0]
        for some in slices(len(logits), logits.shape[1]):
            logits[some] = (logits[some] - trainer.bias) * (part.sizes[some] + trainer.neutral)[:, None]
        parts.append(part)
        sums.append(logits)
        whole.append((part.labels[:texts], part.weight[:texts], part.sizes[:texts], logits[:texts]))
    every, scores = together(parts), joined(iter(sums), np.float64).reshape(-1, len(bias))
    labels, weight, sizes, sums_of_whole = (np.concatenate(column) for column in zip(*whole, strict=True))
    texts, tried = len(labels), []
    shifts = trainers[0].shifts and texts >= PER_CLASS * len(bias)
    for shift in (0, texts) if shifts else (0,):
        found = calibrate(every, scores, trainers[0].neutral, bias, 1.0 / (texts + 2), shift, texts * damps)
        logits = found.logits(sizes, sums_of_whole, bias)
        losses, _ = grade(labels, weight / weight.sum(), damped(logits, bias, found.damping))
        tried.append(Measured(float(trainers[0].right(logits, labels).mean()), texts * losses, found))
    return min(tried, key=lambda one: one.losses.sum())  # a shift has to lower the log-loss too


def split(examples: Examples, enough: int = CALIBRATED, folds: int = FOLDS) -> list[Fold]:
    """Parts to learn from and parts to measure on: as many of the folds as hold out enough texts."""
    labels = examples.labels if examples.labels.ndim == 1 else np.zeros(len(examples.labels), np.int64)
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    fold = (rank * np.minimum(BLOCKS, counts)[labels] // counts[labels] + labels) % folds  # rare ones not all in one
    fold[counts[labels] == 1] = folds  # without its only text a class cannot be learned
    wanted = min(folds, -(-enough * folds // len(labels)))
    parts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(wanted)]
    return [(examples.take(learn), examples.take(held)) for learn, held in parts]


def _sparser(held: Examples, step: int) -> Examples:
    """Every step-th text."""
    return held.take(np.arange(0, len(held.bags), step))


def _known(held: Examples, learn: Examples) -> Examples:
    """Held-out texts without the terms that do not occur in the part to learn from, as if these were unknown."""
    starts, _ = learn.by_word
    seen = np.zeros(max(len(starts), int(held.bags.ids.max(initial=0)) + 1), bool)
    seen[: len(starts) - 1] = np.diff(starts) > 0
    sizes = np.empty(len(held.bags), np.int64)

    def kept() -> Iterator[NDArray[np.int32]]:
        for a, b in spans(held.bags.offsets):
            ids = held.bags.ids[held.bags.offsets[a] : held.bags.offsets[b]]
            keep = seen[ids]
            owners = np.repeat(np.arange(b - a), held.sizes[a:b])
            sizes[a:b] = np.bincount(owners[keep], minlength=b - a)
            yield ids[keep]

    return Examples(Bags.of(joined(kept(), np.int32), sizes), held.labels, held.weight)
