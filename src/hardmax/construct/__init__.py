"""A data set becomes a transformer: one file per stage of the proof; `build.construct` tells the story.

`hardmax.construct` is both this package and the function: calling the package builds a network.
"""

import sys
from types import ModuleType

from hardmax.construct.build import construct
from hardmax.construct.network import Network

__all__ = ["Network", "construct"]


class _CallablePackage(ModuleType):
    """Importing any file of this package binds the name `hardmax.construct` to it, so it has to be callable."""

    __call__ = staticmethod(construct)


sys.modules[__name__].__class__ = _CallablePackage
