"""The page's modules under node's own test runner: tests/js."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np

from hardmax.cloud.presets import PRESETS, preset
from hardmax.web.bundle import STATIC
from programs import node

JS_TESTS = Path(__file__).parent.parent / "js"


def test_every_test_of_the_modules_passes_under_node():
    files = sorted(JS_TESTS.glob("*.test.mjs"))
    done = subprocess.run([node(), "--test", "--test-reporter=tap", *map(str, files)], capture_output=True, text=True)
    failed = [line for line in done.stdout.splitlines() if line.lstrip().startswith("not ok")]
    assert not failed, "\n".join(failed)
    assert done.returncode == 0, done.stdout[-2000:]
    passed = int(re.search(r"^# pass (\d+)$", done.stdout, re.M)[1])
    assert passed >= sum(len(re.findall(r"^test\(", p.read_text(), re.M)) for p in files) > 0


def test_the_presets_of_the_page_are_those_of_python():
    module = (STATIC / "js" / "model.js").as_uri()
    script = (
        f"import {{ presetCloud }} from {json.dumps(module)};"
        f"console.log(JSON.stringify({json.dumps(list(PRESETS))}.map((n) => [...presetCloud(n).coords])));"
    )
    done = subprocess.run([node(), "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    for name, ours in zip(PRESETS, json.loads(done.stdout), strict=True):
        assert np.array_equal(np.array(ours), preset(name).ravel()), name
