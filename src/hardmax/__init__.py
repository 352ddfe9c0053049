"""Transformers with hardmax attention: exact dynamics, certified infinite-depth limits, pictures.

The public names are loaded when first used, so that `import hardmax` is light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# module -> the public names that it defines
_MODULES = {
    "errors": "HardmaxError BadInput ContradictoryTargets ImpossibleTarget IllConditioned MissingExtra NotFetched"
    " NotExact NotCertified",
    "attention.rules": "Hardmax Softmax Localmax Uniform RandomFollow Chain Head FeedForward",
    "dynamics.simulate": "simulate",
    "dynamics.limit": "limit",
    "dynamics.stream": "limit_file FileLimit",
    "dynamics.trajectory": "Trajectory Problem Outcome",
    "dynamics.equilibrium": "Equilibrium",
    "dynamics.batch": "Batch",
    "dynamics.certificate": "Certificate",
    "dynamics.polytope": "Polytope",
    "cloud.presets": "preset random_cloud",
    "web.widget": "widget",
    "sentiment.estimator": "HardmaxClassifier load",
    "sentiment.model": "SentimentModel",
    "sentiment.explain": "Explanation",
    "sentiment.embeddings": "explain_embeddings",
    "sentiment.report": "Report",
    "sentiment.drift": "Drift",
    "sentiment.recipe": "Tuning",
    "construction.build": "construct",
    "construction.network": "Network",
    "scale.run": "sweep",
}
_HOME = {name: f"hardmax.{module}" for module, names in _MODULES.items() for name in names.split()}
_HOME["theory"] = "hardmax.theory"  # a module: its functions are hx.theory.expected_leaders and so on

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from hardmax import theory as theory
    from hardmax.attention.rules import Chain as Chain
    from hardmax.attention.rules import FeedForward as FeedForward
    from hardmax.attention.rules import Hardmax as Hardmax
    from hardmax.attention.rules import Head as Head
    from hardmax.attention.rules import Localmax as Localmax
    from hardmax.attention.rules import RandomFollow as RandomFollow
    from hardmax.attention.rules import Softmax as Softmax
    from hardmax.attention.rules import Uniform as Uniform
    from hardmax.cloud.presets import preset as preset
    from hardmax.cloud.presets import random_cloud as random_cloud
    from hardmax.construction.build import construct as construct
    from hardmax.construction.network import Network as Network
    from hardmax.dynamics.batch import Batch as Batch
    from hardmax.dynamics.certificate import Certificate as Certificate
    from hardmax.dynamics.equilibrium import Equilibrium as Equilibrium
    from hardmax.dynamics.limit import limit as limit
    from hardmax.dynamics.polytope import Polytope as Polytope
    from hardmax.dynamics.simulate import simulate as simulate
    from hardmax.dynamics.stream import FileLimit as FileLimit
    from hardmax.dynamics.stream import limit_file as limit_file
    from hardmax.dynamics.trajectory import Outcome as Outcome
    from hardmax.dynamics.trajectory import Problem as Problem
    from hardmax.dynamics.trajectory import Trajectory as Trajectory
    from hardmax.errors import BadInput as BadInput
    from hardmax.errors import ContradictoryTargets as ContradictoryTargets
    from hardmax.errors import HardmaxError as HardmaxError
    from hardmax.errors import IllConditioned as IllConditioned
    from hardmax.errors import ImpossibleTarget as ImpossibleTarget
    from hardmax.errors import MissingExtra as MissingExtra
    from hardmax.errors import NotCertified as NotCertified
    from hardmax.errors import NotExact as NotExact
    from hardmax.errors import NotFetched as NotFetched
    from hardmax.scale.run import sweep as sweep
    from hardmax.sentiment.drift import Drift as Drift
    from hardmax.sentiment.embeddings import explain_embeddings as explain_embeddings
    from hardmax.sentiment.estimator import HardmaxClassifier as HardmaxClassifier
    from hardmax.sentiment.estimator import load as load
    from hardmax.sentiment.explain import Explanation as Explanation
    from hardmax.sentiment.model import SentimentModel as SentimentModel
    from hardmax.sentiment.recipe import Tuning as Tuning
    from hardmax.sentiment.report import Report as Report
    from hardmax.web.widget import widget as widget


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hardmax' has no attribute {name!r}", name=name, obj=import_module(__name__))
    home = import_module(_HOME[name])
    value = home if home.__name__ == f"hardmax.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
