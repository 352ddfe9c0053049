"""The page's modules as classic scripts, and the one list of its style sheets."""

import re
import subprocess

import pytest

import programs
from hardmax.web import bundle
from hardmax.web.bundle import UnusableModule, defined, later_modules, later_script, modules, page_modules, styles


def test_index_lists_every_style_sheet_there_is():
    there = {path.relative_to(bundle.STATIC).as_posix() for path in bundle.STATIC.rglob("*.css")}
    assert set(styles()) == there


def test_every_module_comes_after_what_it_imports():
    seen = set()
    for name in page_modules():
        assert set(bundle.imports(name)) <= seen, name
        seen.add(name)
    assert {"js/app.js", "js/state.js", "js/dynamics.js", "screens/dynamics.js"} <= seen
    assert "screens/text.js" in later_modules()
    assert "screens/text.js" not in seen


def test_every_module_of_the_page_is_used():
    used = {*page_modules(), *(one for name in later_modules() for one in modules(name))}
    there = {path.relative_to(bundle.STATIC).as_posix() for path in bundle.STATIC.rglob("*.js")}
    assert there - used == set()


def _with_files(folder, monkeypatch, **files):
    for name, text in files.items():
        (folder / f"{name}.js").write_text(text)
    monkeypatch.setattr(bundle, "STATIC", folder)
    _forget()


def _forget():
    for remembered in (bundle.source, bundle.imports, defined):
        remembered.cache_clear()


@pytest.fixture
def own_files(tmp_path, monkeypatch):
    """own_files(a="...") makes a.js the page's only module."""
    yield lambda **files: _with_files(tmp_path, monkeypatch, **files)
    monkeypatch.undo()
    _forget()


def test_modules_in_a_circle_are_refused(own_files):
    own_files(a='import { b } from "./b.js";', b="import './a.js'")
    with pytest.raises(UnusableModule, match=r"a.js -> b.js -> a.js"):
        modules("a.js")


@pytest.mark.parametrize(
    "text", ["export default 1;", 'import all from "./b.js";', "export let x = 1;", 'export { f } from "./b.js";']
)
def test_what_has_no_translation_is_refused(own_files, text):
    own_files(a=text, b="")
    with pytest.raises(UnusableModule, match="cannot become a classic script"):
        defined("a.js")


def test_the_translation_exports_what_the_module_did(own_files):
    own_files(
        a='import {\n  f, two as deux, C,\n} from "./b.js";\n'
        "export const [x, y] = [f(), deux];\nexport async function late() { return new C().z; }\n",
        b="export function f() { return one; }\nconst one = 1;\nexport const two = 2;\n"
        "export class C { z = `${two}` }\n",
    )
    text = "".join([bundle.LOADER.read_text(), *map(defined, modules("a.js"))])
    check = """const a = hardmaxModules.need("a.js");
      a.late().then((z) => console.log(JSON.stringify([Object.keys(a), a.x, a.y, z])));"""
    done = subprocess.run([programs.node(), "-e", text + check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == '[["x","y","late"],1,2,"2"]'


def test_a_script_for_later_has_only_what_the_page_lacks():
    for name in later_modules():
        here = set(re.findall(r'hardmaxModules.define\("([^"]+)"', later_script(name)))
        assert name in here
        assert here.isdisjoint(page_modules())
