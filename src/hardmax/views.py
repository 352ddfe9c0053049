"""The one door that leads upward: how results find their pictures, their pages and their files.

Results live in the lower rooms (`dynamics`, `construction`, `sentiment`); what draws, shows or stores them lives above.
Each result inherits from `Result` and is looked up in `VIEWS` by the name of its class. The table holds names, not
imports, so that nothing above is loaded before it is asked for, and no other module below imports from above.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hardmax.errors import BadInput, need
from hardmax.io.files import write_file

if TYPE_CHECKING:
    import pandas

_PICTURES = (".png", ".svg", ".pdf")
FOLDER = "folder"  # a view that writes a folder: any name without one of the other suffixes
PLOT, NOTEBOOK, PAGE, WIDGET, LOAD = "plot", "notebook", "page", "widget", "load"

# class -> view -> "module:function". A suffix names a function (result, path, **options) that writes the file.
VIEWS: dict[str, dict[str, str]] = {
    "Trajectory": {
        PLOT: "hardmax.plot.layer:plot_layer",
        NOTEBOOK: "hardmax.html.results:trajectory_part",
        WIDGET: "hardmax.web.widget:widget",
        LOAD: "hardmax.dynamics.records:load_trajectory",
        **dict.fromkeys((".npz", ".json"), "hardmax.dynamics.records:write_trajectory"),
        **dict.fromkeys(_PICTURES, "hardmax.plot.layer:save_panels"),
        **dict.fromkeys((".gif", ".mp4"), "hardmax.plot.movie:movie"),
        ".html": "hardmax.web.single_file:save_trajectory",
    },
    "Batch": {
        NOTEBOOK: "hardmax.html.results:batch_part",
        LOAD: "hardmax.dynamics.records:load_batch",
        **dict.fromkeys((".npz", ".json"), "hardmax.dynamics.records:write_batch"),
        ".html": "hardmax.html.results:save_batch",
    },
    "Equilibrium": {
        PLOT: "hardmax.plot.limit:plot_limit",
        NOTEBOOK: "hardmax.html.results:equilibrium_part",
        WIDGET: "hardmax.web.widget:widget",
        LOAD: "hardmax.dynamics.records:load_equilibrium",
        **dict.fromkeys((".npz", ".json"), "hardmax.dynamics.records:write_equilibrium"),
        **dict.fromkeys(_PICTURES, "hardmax.plot.limit:save_limit"),
        ".html": "hardmax.web.single_file:save_equilibrium",
    },
    "Certificate": {NOTEBOOK: "hardmax.html.results:certificate_part"},
    "Outcome": {NOTEBOOK: "hardmax.html.results:fields_part"},
    "Problem": {NOTEBOOK: "hardmax.html.results:fields_part"},
    "FileLimit": {NOTEBOOK: "hardmax.html.results:file_limit_part"},
    "Drift": {NOTEBOOK: "hardmax.html.results:drift_part"},
    "Verification": {NOTEBOOK: "hardmax.html.results:verification_part"},
    "Stages": {PLOT: "hardmax.plot.stages:plot_stages", NOTEBOOK: "hardmax.html.results:stages_part"},
    "Polytope": {
        NOTEBOOK: "hardmax.html.results:polytope_part",
        LOAD: "hardmax.dynamics.records:load_polytope",
        **dict.fromkeys((".npz", ".json"), "hardmax.dynamics.records:write_polytope"),
        ".html": "hardmax.html.results:save_polytope",
    },
    "Network": {
        NOTEBOOK: "hardmax.html.results:network_part",
        LOAD: "hardmax.construction.files:load_network",
        FOLDER: "hardmax.construction.files:save_network",
        ".html": "hardmax.html.results:save_network",
    },
    "SentimentModel": {
        NOTEBOOK: "hardmax.html.results:model_part",
        LOAD: "hardmax.sentiment.files:load_model",
        FOLDER: "hardmax.sentiment.files:save_model",
        ".html": "hardmax.html.results:save_model",
    },
    "Explanation": {
        PLOT: "hardmax.plot.explanation:plot_explanation",
        NOTEBOOK: "hardmax.html.explanation:explanation_part",
        PAGE: "hardmax.html.explanation:explanation_page",
        ".json": "hardmax.sentiment.explain:write_json",
        ".html": "hardmax.html.explanation:save_page",
        ".png": "hardmax.plot.explanation:save_picture",
        ".gif": "hardmax.plot.explanation:save_movie",
    },
    "Report": {
        NOTEBOOK: "hardmax.html.report:report_part",
        ".json": "hardmax.sentiment.report:write_json",
        ".html": "hardmax.html.report:save_report",
    },
}


def view(kind: type, name: str) -> Callable[..., Any]:
    """The function that gives one view of a class of results."""
    module, _, function = VIEWS[_name(kind)][name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def _name(kind: type) -> str:
    """Under which name a class, or the class it inherits from, is in `VIEWS`."""
    return next(base.__name__ for base in kind.__mro__ if base.__name__ in VIEWS)


def check_extension(kind: str, path: Path) -> None:
    """Check that results of this name can be saved under a file name; a command does so before the work.

    Raises:
        BadInput: they cannot; the message lists the extensions.
    """
    suffix = path.suffix.lower()
    if suffix not in VIEWS[kind] and FOLDER not in VIEWS[kind]:
        raise BadInput(
            f"{path}: a result of type {kind} cannot be saved as {suffix or 'a file without extension'}",
            fix=f"use one of {' '.join(v for v in VIEWS[kind] if v.startswith('.'))}",
        )


def frame(columns: dict[str, Any]) -> "pandas.DataFrame":
    """A result as a table of pandas, from its columns.

    Raises:
        MissingExtra: pandas is not installed.
    """
    made: pandas.DataFrame = need("pandas", "pandas", "a result as a table").DataFrame(columns)
    return made


class Shown:
    """The base of classes whose objects show themselves in a notebook."""

    def _repr_html_(self) -> str:
        return str(view(type(self), NOTEBOOK)(self))


class Result(Shown):
    """The base of all results: `save`, whose file extension selects the format, and a view for notebooks."""

    def save(self, path: str | Path, *, force: bool = True, **options: Any) -> Path:
        """Write this result; the file extension selects the format, and `options` go to the function that writes it.

        A file or folder appears complete or not at all.

        Args:
            force: replace what exists; with False that is an error.

        Raises:
            BadInput: the extension is unknown, the folder is missing, or the file exists and `force` is False.

        Example:
            >>> import hardmax as hx
            >>> hx.limit([[1, 0], [-1, 0]]).save("limit.xyz")
            Traceback (most recent call last):
            hardmax.errors.BadInput: limit.xyz: a result of type Equilibrium cannot be saved as .xyz
              fix:   use one of .npz .json .png .svg .pdf .html
        """
        path = Path(path)
        name = _name(type(self))
        check_extension(name, path)
        suffix = path.suffix.lower()
        if suffix in VIEWS[name]:
            write = view(type(self), suffix)
            return write_file(path, lambda to: write(self, to, **options), force=force)
        folder: Path = view(type(self), FOLDER)(self, path, force=force, **options)
        return folder


class Stored(Result):
    """The base of results that can be read back."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read back what `save` wrote: an .npz or .json file, or the folder of a network.

        Raises:
            BadInput: it is missing or damaged, holds something else, or was written by a newer version.

        Example:
            >>> import hardmax as hx
            >>> hx.Polytope.load("polytope.json")
            Traceback (most recent call last):
            hardmax.errors.BadInput: polytope.json does not exist
        """
        loaded: Self = view(cls, LOAD)(path)
        return loaded
