"""Texts from a parquet file, their explanations to another."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

pq.write_table(pa.table({"text": ["A great film.", "So dull!"]}), "texts.parquet")
for command in ("predict", "explain"):
    words = ["hardmax", command, "texts.parquet", "-o", f"{command}.parquet"]
    subprocess.run([sys.executable, "-m", *words], check=True)
assert pq.read_table("predict.parquet")["label"].to_pylist() == ["positive", "negative"]
assert "great" in pq.read_table("explain.parquet")["word"].to_pylist()
