"""The playground as one file: the page's own modules, its style and a cloud inside one HTML document.

The modules become one classic script (`hardmax.web.bundle`), because a page that was opened from disk cannot import
modules from other files. The Content-Security-Policy allows this script by its digest and nothing from outside.

The pages of trajectories and limits in two or three dimensions contain the playground with their own tokens, in a frame
that a script creates. Where scripts are off, the facts, the figure and the tables are still there.
"""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from hardmax.attention.rules import Hardmax, Softmax
from hardmax.cloud.metric import metric
from hardmax.cloud.parameters import fits_float64
from hardmax.errors import HardmaxError
from hardmax.html.page import NO_SCRIPT, heading, page, render, script
from hardmax.html.results import equilibrium_parts, trajectory_parts
from hardmax.web.bundle import STATIC, data_blocks, page_script, styles

if TYPE_CHECKING:
    from hardmax.dynamics.equilibrium import Equilibrium
    from hardmax.dynamics.trajectory import Trajectory

MOST_TOKENS = 5000  # the most that the playground draws
MOST_LAYERS = 500
RULE_NAMES = {"Hardmax": "Hardmax attention", "Softmax": "Softmax attention"}


def digest(script: str) -> str:
    """The source expression that allows an inline script with exactly this text."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def policy(*scripts: str) -> str:
    """A Content-Security-Policy for a page with these inline scripts and without network requests."""
    return (
        f"default-src 'none'; script-src {' '.join(map(digest, scripts))}; style-src 'unsafe-inline'; "
        "worker-src blob:; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def playground_document(state: dict[str, Any], title: str = "hardmax playground") -> str:
    """The playground without a server, as one HTML document.

    Args:
        state: the state as in a link (`hardmax.web.share`); `cloud` {"d", "coords"} is a cloud that, unlike one in a
            link, is not rounded.

    Example:
        >>> playground_document({"preset": "square"}).startswith("<!doctype html>")
        True
    """
    code = Markup(page_script())
    # With `hash` given the page leaves the address alone: a file on disk keeps its name.
    start = {"server": False, "screens": ["dyn", "beta"], "hash": f"#v=1&view={state.get('view', 'dyn')}"}
    document = render(
        "playground.html",
        title=title,
        policy=policy(code),
        styles=[Markup((STATIC / name).read_text(encoding="utf-8")) for name in styles()],
        data=Markup(data_blocks(start, state=state)),
        code=code,
    )
    return str(document)


def save_trajectory(traj: "Trajectory", path: Path, title: str | None = None, **options: Any) -> None:
    """Write the page of a trajectory, by default under its kind of attention; `options` go to `plot.plot_panels`."""
    if title is None:
        title = f"{RULE_NAMES.get(type(traj.rule).__name__, 'Attention')}, layer by layer"
    _save(path, title, trajectory_parts(traj, **options), trajectory_state(traj))


def save_equilibrium(
    eq: "Equilibrium", path: Path, title: str = "Hardmax attention at infinite depth", **options: Any
) -> None:
    """Write the page of a limit; `options` go to `hardmax.plot.plot_limit`."""
    _save(path, title, equilibrium_parts(eq, **options), equilibrium_state(eq))


def _save(path: Path, title: str, parts: list[Markup], state: dict[str, Any] | None) -> None:
    rule = NO_SCRIPT
    if state is not None:
        frame = script("frame.js")
        parts.insert(1, render("frame.html", document=playground_document(state, title), script=frame))
        rule = policy(frame, page_script())
    path.write_text(page(title, [heading(title), *parts], rule), encoding="utf-8")


def trajectory_state(traj: "Trajectory") -> dict[str, Any] | None:
    """The state in which the playground shows a trajectory; None where it does not know these dynamics."""
    state = _state(traj.tokens[0], traj.alpha, traj.A)
    whole = traj.problem.is_plain and not traj.first_layer and traj.layers <= MOST_LAYERS
    if state is None or not whole or not _is_definite(traj.A):
        return None
    if isinstance(traj.rule, Hardmax) and traj.rule.tie_tolerance == 0:
        view: dict[str, Any] = {"view": "dyn"}
    elif isinstance(traj.rule, Softmax) and traj.rule.beta <= 1e6:
        view = {"view": "beta", "beta": traj.rule.beta}
    else:
        return None
    return state | view | {"K": traj.layers, "k": 0}


def equilibrium_state(eq: "Equilibrium") -> dict[str, Any] | None:
    """The state in which the playground shows a limit; None where it cannot draw it."""
    state = _state(eq.tokens, eq.alpha, eq.A)
    if state is None or eq.certificate.tie_tolerance:
        return None
    return state | {"view": "dyn", "K": int(min(MOST_LAYERS, max(20, eq.layers + 10))), "k": 0}


def _state(tokens: Any, alpha: Any, A: Any) -> dict[str, Any] | None:
    n, dim = tokens.shape
    if dim not in (2, 3) or n > MOST_TOKENS or not 0.001 <= alpha <= 1000 or not fits_float64(tokens):
        return None
    numbers = tokens.astype(np.float64)
    if not np.isfinite(numbers).all():
        return None
    matrix = {"kind": "I"} if A is None else {"kind": "rows", "rows": A.astype(np.float64).tolist()}
    # An exact tie of Fractions may be none of their nearest floats; the tables below the picture are the result.
    return {"alpha": float(alpha), "A": matrix, "cloud": {"d": dim, "coords": numbers.ravel().tolist()}}


def _is_definite(A: Any) -> bool:
    """Whether A is symmetric positive definite, as the playground wants it."""
    try:
        return A is None or metric(A.astype(np.float64), len(A)).definite
    except HardmaxError:
        return False
