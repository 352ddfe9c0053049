"""The playground as a folder of files: complete, small, without an address of anybody else, replaced as a whole."""

import json
import re
import subprocess

import pytest

import programs
import tiny_models
from hardmax.errors import BadInput
from hardmax.sentiment.files import save_model
from hardmax.web.bundle import page_script, styles
from hardmax.web.static_site import POLICY, shortened, write_site

MOST = 400_000  # bytes without the model


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return write_site(tmp_path_factory.mktemp("static") / "site")


def test_the_site_is_small_and_names_no_other_host(site):
    files = [path for path in site.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files if path.name != "model.js") < MOST
    for path in files:
        if path.name not in ("hardmax.js", "model.js"):  # patterns of links that are cut out of texts
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://[\w.-]*\w\.\w", text), path.name


def test_every_file_that_the_page_names_is_there_and_its_address_is_relative(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    named = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert {f"static/{name}" for name in (*styles(), "playground.js", "icon.svg")} == set(named)
    assert all((site / name).is_file() for name in named)
    assert POLICY in page


def test_the_scripts_are_scripts(site):
    for path in site.rglob("*.js"):
        subprocess.run([programs.node(), "--check", str(path)], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("a  =  b + +c; // d\n  e", "a=b+ +c;\ne"),
        ("x = a / b / c; y = /[/ ]  \\/ '/g.test(s);", "x=a/b/c;y=/[/ ]  \\/ '/g.test(s);"),
        (
            "f(`a  ${ b.map((c) => `<${ {  d: 1 }.d }  //>`) }  /* e */`)",
            "f(`a  ${b.map((c)=>`<${{d:1}.d}  //>`)}  /* e */`)",
        ),
        (
            "return /  a/.test('it\\'s  //') ? \"b  /* c\" : /**/ in_, of",
            "return/  a/.test('it\\'s  //')?\"b  /* c\":in_,of",
        ),
        ("let  x\n\n/* d\n */ y()", "let x\ny()"),
    ],
)
def test_scripts_lose_only_comments_and_space_that_says_nothing(text, short):
    assert shortened(text) == short


def test_shortening_twice_is_shortening_once():
    text = shortened(page_script())
    assert shortened(text) == text
    assert len(text) < 0.8 * len(page_script())


def test_a_site_may_have_another_model_and_a_public_address(tmp_path):
    save_model(tiny_models.two_classes(), tmp_path / "own")
    site = write_site(tmp_path / "site", str(tmp_path / "own"), public_url="https://course.example/play/")
    page = (site / "index.html").read_text(encoding="utf-8")
    start = json.loads(re.search(r'id="hardmax-start">(.*?)</script>', page)[1])
    assert start == {"server": False, "model": "own", "public_url": "https://course.example/play/"}
    assert '"name":"own"' in (site / "static" / "model.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("address", ["course.example", "javascript:alert(1)", "https://a.example/#x", 'https://a"b'])
def test_what_is_no_address_is_refused(tmp_path, address):
    with pytest.raises(BadInput, match="public address"):
        write_site(tmp_path / "site", public_url=address)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_somebody_else_is_never_replaced(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="not written by hardmax"):
        write_site(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_an_interrupted_writing_leaves_the_old_site(tmp_path, monkeypatch):
    site = write_site(tmp_path / "site")
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hardmax.web.static_site.model_script", stop)
    with pytest.raises(KeyboardInterrupt):
        write_site(site)
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before
    assert list(tmp_path.iterdir()) == [site]
