"""scikit-learn's estimator interface without importing it: `import sklearn` takes longer than everything else here.

scikit-learn asks an estimator for methods, not for a base class. Those that use scikit-learn's own objects (tags,
metadata requests, `NotFittedError`) import it when they are called, which only scikit-learn does.
"""

from inspect import signature
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from hardmax.errors import BadInput
from hardmax.sentiment.columns import as_labels, as_weights, indicator_of


class Classifier:
    """Parameters, tags, routing and score of an estimator whose `__init__` only stores its arguments.

    Example:
        >>> class Coin(Classifier):
        ...     def __init__(self, side="heads"):
        ...         self.side = side
        >>> Coin(), Coin("tails").get_params(), Coin().set_params(side="edge")
        (Coin(), {'side': 'tails'}, Coin(side='edge'))
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; `deep` is there because scikit-learn passes it."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters by name; they take effect at the next `fit`."""
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise BadInput(f"{type(self).__name__} has no parameter {name!r}", fix=f"use one of {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = []
        for name, parameter in signature(type(self)).parameters.items():
            value = getattr(self, name)
            if value is not parameter.default and repr(value) != repr(parameter.default):
                changed.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(changed)})"

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy: the part of the texts (or of their weight) whose label is predicted."""
        predicted = np.asarray(self.predict(X))  # type: ignore[attr-defined]
        if not len(predicted):
            raise BadInput("there is no text to score")
        weights = as_weights(sample_weight, len(predicted))
        if predicted.ndim == 2:
            right = (predicted == indicator_of(y, *predicted.shape)).all(axis=1)
            return float(np.average(right, weights=weights))
        wanted = as_labels(np.asarray(y).reshape(-1), len(predicted))
        if (wanted.dtype.kind == "U") != (predicted.dtype.kind == "U"):
            raise BadInput(
                "the labels and the classes are of different types",
                found=f"the label {wanted[0].item()!r}, the class {predicted[0].item()!r}",
            )
        return float(np.average(predicted == wanted, weights=weights))

    # ---------------------------------------------------------------- what only scikit-learn asks for

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def _not_fitted(self) -> NoReturn:
        message = f"this {type(self).__name__} is not fitted yet; call fit first"
        try:
            from sklearn.exceptions import NotFittedError
        except ImportError:  # it is an optional package
            raise BadInput(message) from None
        raise NotFittedError(message)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            classifier_tags=ClassifierTags(),
            target_tags=TargetTags(required=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
            no_validation=True,
        )

    def get_metadata_routing(self) -> Any:
        """Which of `sample_weight` and the like scikit-learn's meta-estimators hand on; see `set_fit_request`."""
        from copy import deepcopy

        from sklearn.utils.metadata_routing import MetadataRequest

        stored = getattr(self, "_metadata_request", None)
        if stored is not None:
            return deepcopy(stored)
        request = MetadataRequest(owner=self)
        for method in ("fit", "partial_fit", "score"):
            getattr(request, method).add_request(param="sample_weight", alias=None)
        return request

    def _request(self, method: str, **wanted: bool | str | None) -> Self:
        self._metadata_request = self.get_metadata_routing()
        for name, alias in wanted.items():
            getattr(self._metadata_request, method).add_request(param=name, alias=alias)
        return self

    def set_fit_request(self, *, sample_weight: bool | str | None) -> Self:
        """Whether scikit-learn's meta-estimators hand `sample_weight` on to `fit`."""
        return self._request("fit", sample_weight=sample_weight)

    def set_partial_fit_request(self, *, sample_weight: bool | str | None) -> Self:
        """Whether scikit-learn's meta-estimators hand `sample_weight` on to `partial_fit`."""
        return self._request("partial_fit", sample_weight=sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Whether scikit-learn's meta-estimators hand `sample_weight` on to `score`."""
        return self._request("score", sample_weight=sample_weight)
