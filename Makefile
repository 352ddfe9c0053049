# make demo   set everything up, run the main job, print the path of its report
# make test   set everything up, run the tests
# make check  lint, format, types          make bench  the benchmarks          make docs  the manual as HTML
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check bench docs clean

demo: $(VENV)/.ready
	$(BIN)/hardmax demo -o demo-report --force

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n auto

check: $(VENV)/.ready
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/construct.py
	$(BIN)/python benchmarks/sentiment.py

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --quiet
	@echo site/index.html

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[all,dev]'
	touch $@

$(VENV)/.bench: $(VENV)/.ready
	$(PIP) -e '.[bench,imdb]'
	touch $@

$(VENV)/.docs: $(VENV)/.ready
	$(PIP) -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) demo-report site .pytest_cache .mypy_cache .ruff_cache
