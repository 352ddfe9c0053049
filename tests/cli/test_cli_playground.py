"""`hardmax playground` as a command; the server itself is tested in tests/web."""

import subprocess
import sys

import numpy as np
import pytest

from hardmax.cli import playground
from hardmax.sentiment.estimator import HardmaxClassifier
from hardmax.web.guard import Access
from in_process import hardmax

WITHOUT_WEB = (
    "import sys; sys.modules.update(dict.fromkeys(('fastapi', 'starlette', 'uvicorn', 'prometheus_client'))); "
    "from hardmax.cli.main import run"
)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nomodel"], 3, "no model 'nomodel'"),
        (["../imdb-words-not"], 3, "no model '../imdb-words-not'"),
        (["--data", "missing.csv"], 3, "--data missing.csv does not exist"),
        (["--token", "with space"], 3, "only letters, digits, - and _"),
        (["--port", "70000"], 2, "--port"),
        (["--frame-in", "https://a.example; script-src *"], 3, "is not an origin"),
        (["--frame-in", "course.example"], 3, "is not an origin"),
        (["--host", "203.0.113.77"], 3, "203.0.113.77 port 0 cannot be used"),
        (["--open", "view=beta"], 3, "has no #"),
        (["--public-url", "course.example"], 3, "public address"),
    ],
)
def test_what_cannot_be_served_is_refused_before_anything_starts(words, code, said, monkeypatch):
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: pytest.fail("it serves"))
    done = hardmax("playground", "--no-browser", *words)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_folder_without_a_usable_model_is_refused_before_anything_starts(monkeypatch, tmp_path):
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: pytest.fail("it serves"))
    done = hardmax("playground", tmp_path, "--no-browser")
    assert done.returncode == 3
    assert "give a text classifier, as hardmax train writes it" in done.stderr
    several = HardmaxClassifier().fit(["fine", "dull", "so so"] * 9, np.array([[1, 0], [0, 1], [1, 1]] * 9))
    done = hardmax("playground", several.save(tmp_path / "several"), "--no-browser")
    assert done.returncode == 3
    assert "the model can give a text several labels" in done.stderr
    assert "train a model for each label" in done.stderr


def test_without_the_extra_the_pip_line_is_named():
    script = f"{WITHOUT_WEB}; run(['playground'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 4
    assert 'pip install "hardmax[web]"' in done.stderr


def test_the_browser_is_opened_with_the_address_unless_told_otherwise(monkeypatch, capsys):
    opened, served = [], []
    monkeypatch.setattr(playground, "_open", opened.append)
    monkeypatch.setattr(
        "hardmax.web.serve.serve",
        lambda create, *, ready, **options: (served.append((create, options)), ready("http://127.0.0.1:5/")),
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    playground.command(quiet=True, model="imdb-words", port=5)
    assert opened == ["http://127.0.0.1:5/"]
    app = served[0][0](Access())
    assert app.state.pool.setup["model"] == "imdb-words"
    app.state.close()
    assert served[0][1]["port"] == 5
    assert capsys.readouterr().out == "http://127.0.0.1:5/\n"
    playground.command(no_browser=True, quiet=True, frame_in=["https://course.example"])
    assert served[1][1]["frames"] == ["https://course.example"]
    playground.command(json=True)
    assert len(opened) == 1
    playground.command(quiet=True, open_="http://127.0.0.1:9/#v=1&view=beta")
    assert opened[1:] == ["http://127.0.0.1:5/#v=1&view=beta"]
    capsys.readouterr()
    playground.command(json=True)
    assert '"url":"http://127.0.0.1:5/"' in capsys.readouterr().out


@pytest.mark.slow
def test_a_static_site_needs_no_extra_and_is_replaced_only_when_told_to(tmp_path):
    script = f"{WITHOUT_WEB}; run(sys.argv[1:])"
    words = ["playground", "--static", str(tmp_path / "site")]

    def write(*more):
        return subprocess.run(
            [sys.executable, "-c", script, *words, *more], capture_output=True, text=True, timeout=300
        )

    first = write()
    assert (first.returncode, first.stdout) == (0, f"{tmp_path / 'site' / 'index.html'}\n")
    again = write()
    assert (again.returncode, again.stdout) == (3, "")
    assert "--force" in again.stderr
    assert write("--force", "--json").stdout.startswith('{"schema":"hardmax.site/1"')
