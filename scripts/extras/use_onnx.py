"""A constructed network and a classifier as ONNX graphs."""

import subprocess
import sys

import onnx

import hardmax as hx

hx.construct([[[0, 1]], [[2, 2]]], ["a", "b"]).to_onnx("network.onnx")
export = [sys.executable, "-m", "hardmax", "export", "imdb-words", "--to", "onnx", "-o", "model.onnx"]
subprocess.run(export, check=True)
for name in ("network.onnx", "model.onnx"):
    onnx.checker.check_model(onnx.load(name))
