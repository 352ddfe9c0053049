"""Labels by Ray are those by this process."""

import subprocess
import sys
from pathlib import Path

Path("texts.txt").write_text("A great film.\nSo dull!\n")
for engine in ("local", "ray"):
    words = ["hardmax", "predict", "texts.txt", "-o", f"{engine}.jsonl", "--engine", engine, "--quiet"]
    subprocess.run([sys.executable, "-m", *words], check=True)
assert Path("local.jsonl").read_text() == Path("ray.jsonl").read_text()
