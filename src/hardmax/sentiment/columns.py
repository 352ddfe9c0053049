"""Check the texts, labels and weights that are passed in, as columns of any kind, with one clear error each."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardmax.errors import BadInput, counted
from hardmax.text.encoding import decoded
from hardmax.text.stored import StoredTexts

MOST_CLASSES = 5_000  # training time grows with texts times classes: beyond, it takes hours
MOST_SCORES = 100_000_000  # numbers in one array (terms, classes)
ARRAYS = 8  # of this size, about, are held in training


def as_texts(X: Any) -> Sequence[str]:
    """Texts from any one column of strings or bytes: a list, a generator, an array, a Series, a table, stored texts.

    Tables of pandas, polars and Arrow are columns if they have exactly one. A missing text is an error.

    Example:
        >>> as_texts(["a", b"b"])
        ['a', 'b']
    """
    if isinstance(X, StoredTexts):
        return X
    if isinstance(X, str | bytes):
        raise BadInput("expected a list of texts, got one text", found=repr(X[:40]), fix="pass [text]")
    if isinstance(X, Mapping):
        raise BadInput("expected a list of texts, got a dict", fix="pass the values of one of its keys")
    if isinstance(X, set | frozenset):
        raise BadInput("expected a list of texts, got a set, which has no order", fix="pass a list")
    shape = getattr(X, "shape", None)
    if hasattr(X, "tocsr"):
        raise BadInput(
            f"expected raw texts, got a sparse matrix of shape {shape}",
            fix="leave out the vectorizer: HardmaxClassifier builds its own vocabulary",
        )
    if isinstance(shape, tuple) and len(shape) == 2:
        X = _one_column(X, shape[1])
    if hasattr(X, "to_pylist"):  # Arrow: its scalars are not strings
        X = X.to_pylist()
    try:
        texts = list(X)
    except TypeError:
        raise BadInput("texts must be a list of strings", found=type(X).__name__) from None
    for i, text in enumerate(texts):
        if isinstance(text, bytes):
            texts[i] = decoded(text, f"text {i}")
        elif not isinstance(text, str):
            found = f"{type(text).__name__} {text!r:.60}"
            numbers = isinstance(text, int | float | np.number)
            fix = "pass raw texts, not features" if numbers else None
            fix = "fill missing texts with '' or leave them out" if _missing(text) else fix
            raise BadInput(f"text {i} is not a string", found=found, fix=fix)
    return texts


def as_pair(name: str, given: Any) -> tuple[Sequence[str], Any]:
    """Texts and their labels, which are not looked at.

    Example:
        >>> as_pair("train", (["a"], [1]))
        (['a'], [1])
    """
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise BadInput(f"{name} must be a pair (texts, labels)", found=f"{given!r:.80}")
    return as_texts(given[0]), given[1]


def _one_column(X: Any, count: int) -> Any:
    names = [str(name) for name in getattr(X, "column_names", getattr(X, "columns", ()))]
    if count != 1:
        raise BadInput(
            f"expected one column of texts, got a table with {count} columns",
            found=", ".join(names[:12]) or None,
            fix=f"pass the column with the texts, such as X[{_likely_text(names)!r}]" if names else "pass one column",
        )
    if hasattr(X, "iloc"):
        return X.iloc[:, 0]
    if hasattr(X, "to_series"):  # polars
        return X.to_series(0)
    return X.column(0) if hasattr(X, "column_names") else np.asarray(X)[:, 0]


def _likely_text(names: list[str]) -> str:
    from difflib import get_close_matches

    usual = ("text", "review", "sentence", "content", "comment", "message", "body", "title")
    near = (m for name in usual for m in get_close_matches(name, names, 1, 0.75))
    return next(near, names[0])


def _missing(value: Any) -> bool:
    """None, NaN, NaT or NA: what is not equal to itself, or cannot say."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA
        return True


def as_labels(y: Any, count: int) -> NDArray[Any]:
    """(n,) labels for `count` texts: integers, booleans or strings without gaps.

    Floats that are whole numbers are accepted, as scikit-learn does; those that are not are refused.

    Example:
        >>> as_labels(["b", "a"], 2).tolist()
        ['b', 'a']
    """
    if y is None:
        raise BadInput("requires y to be passed, but the target y is None", fix="pass one label for each text")
    if hasattr(y, "to_pylist"):  # Arrow: a column, or a table of one
        y = np.asarray(y) if hasattr(y, "column_names") else y.to_pylist()
    y = list(y) if isinstance(y, Iterator) else y
    try:
        given = np.asarray(y)
    except ValueError:  # lists of different lengths
        given = np.empty(len(y), object)
        given[:] = y
    if given.ndim == 2 and given.shape[1] == 1:
        from warnings import warn

        try:
            from sklearn.exceptions import DataConversionWarning as Conversion
        except ImportError:  # it is an optional package
            Conversion = UserWarning
        warn("A column-vector y was passed when a 1d array was expected", Conversion, stacklevel=3)
        given = given[:, 0]
    if given.ndim != 1:
        raise BadInput(f"y should be a 1d array, got an array of shape {given.shape} instead")
    if len(given) != count:
        raise BadInput(f"there are {count} texts but {len(given)} labels", fix="pass one label for each text")
    if given.dtype.kind in "OUSV":
        given = _plain(list(y) if isinstance(y, list | tuple) else given.tolist())
    if given.dtype.kind in "fcmM":
        gaps = np.flatnonzero(~np.isfinite(given) if given.dtype.kind in "fc" else np.isnat(given))
        if gaps.size:
            raise _gap(int(gaps[0]), given[gaps[0]], len(gaps))
        if given.dtype.kind in "mM" and len(given):
            raise _no_class(given[0])
        if given.dtype.kind != "f" or (given != np.round(given)).any():
            raise BadInput(
                "Unknown label type: continuous. Labels are classes, not quantities",
                found=f"{given[:4].tolist()!r}",
                fix="use integers or strings, for example y >= 0.5",
            )
    return given


def _plain(values: list[Any]) -> NDArray[Any]:
    """Labels from Python objects: one type, no gaps. NumPy alone would turn 1 into '1' beside a string."""
    gaps = [i for i, value in enumerate(values) if _missing(value)]
    if gaps:
        raise _gap(gaps[0], values[gaps[0]], len(gaps))
    numeric = int | float | np.number | np.bool_
    kinds = Counter(
        "number" if isinstance(v, numeric) else "string" if isinstance(v, str) else type(v).__name__ for v in values
    )
    if len(kinds) > 1:
        shown = ", ".join(counted(n, kind) for kind, n in kinds.most_common(4))
        raise BadInput("labels of mixed types cannot be ordered", found=shown, fix="use strings only, or numbers only")
    kind = next(iter(kinds), "string")
    if kind in ("list", "tuple", "set", "dict"):
        raise BadInput(
            f"label 0 is a {kind}; every text has one label", found=f"{values[0]!r:.60}",
            fix="for several labels per text, pass an indicator matrix (texts, classes)",
        )  # fmt: skip
    if kind not in ("string", "number"):
        raise _no_class(values[0])
    return np.array(values)


def _no_class(value: Any) -> BadInput:
    """A label that no file of a model could hold."""
    return BadInput(
        f"label 0 is a {type(value).__name__}; labels are strings, whole numbers or booleans",
        found=f"{value!r:.60}",
        fix="turn the labels into strings first, with str(label)",
    )


def _gap(first: int, value: Any, count: int) -> BadInput:
    more = f" (and {count - 1} more)" if count > 1 else ""
    missing = isinstance(value, float | np.floating) and np.isinf(value)
    return BadInput(
        f"label {first} is {'infinite' if missing else 'missing'}{more}: a label is NaN, None or infinite",
        found=repr(value.item() if isinstance(value, np.generic) else value),
        fix="leave out the texts without a label",
    )


def as_indicator(y: Any, count: int) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """The labels and (n, L) of 0 and 1 if y has a column for each of several labels, otherwise None.

    The labels are the names of the columns of a table, otherwise 0, 1, ...

    Example:
        >>> labels, indicator = as_indicator([[1, 0], [1, 1]], 2)
        >>> labels.tolist(), indicator.tolist(), as_indicator(["a", "b"], 2)
        ([0, 1], [[1, 0], [1, 1]], None)
    """
    if isinstance(y, list | tuple) and (not y or not isinstance(y[0], list | tuple | np.ndarray)):
        return None
    names = getattr(y, "column_names", getattr(y, "columns", None))
    if hasattr(y, "tocsr"):
        y = y.toarray()
    try:
        given = np.asarray(y)
    except ValueError:  # lists of different lengths: not a table
        return None
    if given.ndim != 2 or given.shape[1] < 2:
        return None
    if len(given) != count:
        raise BadInput(f"there are {count} texts but {len(given)} rows of labels")
    if given.dtype.kind not in "biuf" or not np.isin(given, (0, 1)).all():
        raise BadInput("y has several columns, so every entry must be 0 or 1", found=f"{given[:2].tolist()!r:.80}")
    if not count:
        raise BadInput("there is no text to learn from")
    labels = np.arange(given.shape[1]) if names is None else np.array([str(name) for name in names])
    twice = [name for name, count in Counter(labels.tolist()).items() if count > 1]
    if twice:
        raise BadInput(f"y names the label {twice[0]!r} twice", fix="give the columns different names")
    return labels, given.astype(np.int64)


def indicator_of(y: Any, count: int, columns: int) -> NDArray[np.int64]:
    """(n, L) of 0 and 1 for a model that knows so many labels.

    Example:
        >>> indicator_of([[1, 0]], 1, 2).tolist()
        [[1, 0]]
    """
    found = as_indicator(y, count)
    if found is None or found[1].shape[1] != columns:
        raise BadInput(f"the labels need {columns} columns of 0 and 1")
    return found[1]


def as_classes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes in order, and for each label the number of its class; there must be two or more.

    Example:
        >>> classes, numbers = as_classes(np.array(["b", "a", "b"]))
        >>> classes.tolist(), numbers.tolist()
        (['a', 'b'], [1, 0, 1])
    """
    if not len(labels):
        raise BadInput("there is no text to learn from")
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise BadInput(
            f"there is only one class in {counted(len(labels), 'text')}",
            found=repr(classes.tolist()), fix="add texts of another class",
        )  # fmt: skip
    return classes, numbers.astype(np.int64)


def check_size(terms: int, classes: int) -> None:
    """Refuse a model whose counts alone would not fit into memory, or with more classes than words can tell apart.

    Example:
        >>> check_size(1_000_000, 1_000)
        Traceback (most recent call last):
        hardmax.errors.BadInput: 1,000,000 terms and 1,000 classes are too many: training needs about 64 GB
          fix:   check that y is the label column and not an id, or use a larger min_df
    """
    if classes > MOST_CLASSES:
        raise BadInput(
            f"{classes:,} classes are too many: there may be up to {MOST_CLASSES:,}",
            fix="check that y is the label column and not an id",
        )
    needed = max(terms, classes) * classes
    if needed > MOST_SCORES:
        size = needed * ARRAYS * 8e-9
        raise BadInput(
            f"{terms:,} terms and {classes:,} classes are too many: training needs about {size:,.0f} GB",
            fix="check that y is the label column and not an id, or use a larger min_df",
        )


def as_weights(sample_weight: ArrayLike | None, count: int) -> NDArray[np.float64]:
    """(n,) weights with mean 1; None gives all the same.

    Example:
        >>> as_weights([1, 3], 2).tolist()
        [0.5, 1.5]
    """
    if sample_weight is None:
        return np.ones(count)
    try:
        weight = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput("every sample_weight must be a number", found=f"{sample_weight!r:.80}") from error
    if weight.shape != (count,):
        raise BadInput(f"sample_weight has shape {weight.shape}, but there are {count} texts")
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.sum() > 0):
        raise BadInput("every sample_weight must be finite and at least 0, and they must not all be zero")
    return weight * (count / weight.sum())


def class_weights(
    wanted: str | Mapping[Any, float] | None, classes: NDArray[Any], numbers: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(n,) the weight of each text's class, as scikit-learn's `class_weight`.

    "balanced" gives class c the weight n / (C n_c), so that all classes weigh the same; in a dict, classes that are not
    named weigh 1.

    Example:
        >>> class_weights("balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1])).round(3).tolist()
        [0.667, 0.667, 0.667, 2.0]
    """
    if wanted is None:
        return np.ones(len(numbers))
    if isinstance(wanted, str) and wanted == "balanced":
        counts = np.bincount(numbers, minlength=len(classes))
        return (len(numbers) / (len(classes) * np.maximum(counts, 1.0)))[numbers]
    if not isinstance(wanted, Mapping):
        raise BadInput("class_weight must be 'balanced', a dict or None", found=repr(wanted))
    known = classes.tolist()
    strange = [name for name in wanted if name not in known]
    if strange:
        from difflib import get_close_matches

        near = get_close_matches(str(strange[0]), [str(c) for c in known], 1)
        raise BadInput(
            f"class_weight names {strange[0]!r}, which is not a class", found=f"the classes are {known[:12]!r}",
            fix=f"did you mean {near[0]!r}?" if near else None,
        )  # fmt: skip
    try:
        each = np.array([float(wanted.get(c, 1.0)) for c in known])
    except (TypeError, ValueError):
        each = np.array([np.nan])
    if not (np.isfinite(each).all() and (each >= 0).all()):
        raise BadInput("every class_weight must be finite and at least 0", found=repr(dict(wanted)))
    return each[numbers]
