"""Array shapes in signatures: `Float[Array, "n d"]` is an (n, d) array of float64.

Type checkers and the tests see jaxtyping's types, and the tests check every call of a function or dataclass that is
marked `@checked` (`tests/conftest.py` sets HARDMAX_CHECK_SHAPES). Otherwise the same expressions mean `np.ndarray` and
`checked` does nothing, so that jaxtyping is neither imported nor needed.
"""

import os
from typing import TYPE_CHECKING, Any, TypeVar

from numpy import ndarray as Array  # noqa: N812 - a name for a type

T = TypeVar("T")
CHECKED = bool(os.environ.get("HARDMAX_CHECK_SHAPES"))

if TYPE_CHECKING or CHECKED:
    from jaxtyping import Float64 as Float
    from jaxtyping import Int64 as Int
    from jaxtyping import Integer, Shaped
else:

    class _Plain:
        """Stands in for a type of jaxtyping: the array type without the shape."""

        def __class_getitem__(cls, item: Any) -> Any:
            return item[0]

    Float = Int = Integer = Shaped = _Plain


def checked(function: T) -> T:
    """Mark a function or a dataclass whose shapes the tests check at every call.

    Example:
        >>> @checked
        ... def norms(Z: Float[Array, "n d"]) -> Float[Array, " n"]:
        ...     return (Z * Z).sum(axis=1) ** 0.5
    """
    if not CHECKED:
        return function
    from beartype import beartype
    from jaxtyping import jaxtyped

    return jaxtyped(function, typechecker=beartype)  # type: ignore[call-overload]


__all__ = ["Array", "Float", "Int", "Integer", "Shaped", "checked"]
