"""A server answers a request."""

import json
import subprocess
import sys
from urllib.request import Request, urlopen

serve = [sys.executable, "-m", "hardmax", "serve", "imdb-words", "--port", "0", "--json"]
server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
try:
    assert server.stdout is not None
    address = json.loads(server.stdout.readline())["url"].rstrip("/")
    body = json.dumps({"texts": ["A great film."]}).encode()
    request = Request(f"{address}/predict", body, {"content-type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        assert json.load(answer)["predictions"][0]["label"] == "positive"
finally:
    server.terminate()
    server.wait(60)
