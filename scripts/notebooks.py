"""Run the notebooks of the documentation and store their outputs: `python scripts/notebooks.py [NAME ...]`.

A test runs them too, and compares what they print with what is stored.
"""

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"


def run(path: Path, where: Path) -> Any:
    """A notebook with fresh outputs, run in the folder `where`; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(where)}})
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times of the run
    return notebook


def printed(notebook: Any) -> list[str]:
    """The text that each code cell shows; pictures and pages are left out. How a stream is cut into parts is chance."""
    return [
        "".join(
            str(output.get("text") or output.get("data", {}).get("text/plain", ""))
            for output in cell.outputs
            if output.output_type == "stream" or "image/png" not in output.get("data", {})
        )
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


if __name__ == "__main__":
    import tempfile

    for name in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(run(FOLDER / f"{name}.ipynb", Path(folder)), FOLDER / f"{name}.ipynb")
        print(FOLDER / f"{name}.ipynb")
