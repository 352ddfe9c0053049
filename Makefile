# make demo   set everything up, run the main job, print the path of its report
# make test   set everything up, run the tests (some of them: make test TESTS=tests/dynamics)
# make slow   the slow tests, which `make test` leaves out and CI runs: kills, notebooks, the built site, Ray
# make browser  every state of the playground with axe, at all widths, and 2,000 random actions (minutes)
# make check  lint, format, types, coverage      make bench  benchmarks      make docs  documentation as HTML
# make numba  the tests of compiled code with another Numba: make numba VERSIONS="numba==0.60.0 numpy==2.0.2"
# make fuzz   random changes of every input that is read: make fuzz FUZZ="--only links --count 100000"; and clouds that are
#             hard for float64, against rational arithmetic: make fuzz CLOUDS="--count 10000 --seed 1"; and the tests that
#             take random cases with ten times as many of them
# make site   the playground as a static site: site/playground/index.html (SITE=folder for another place)
# make paper  the research note as HTML, and as PDF where Chromium is installed
# make wheel  build wheel and source archive, check that they install and run  make release  the same, and show the upload
# make clean
PYTHON ?= python3
VENV   ?= .venv
TESTS  ?=
SITE   ?= site/playground
WORKERS ?= auto
BIN    := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
LINTED := src tests benchmarks scripts

NUMBA  := .venv-numba/$(if $(filter Windows_NT,$(OS)),Scripts,bin)

unexport PYTHONDONTWRITEBYTECODE  # without stored bytecode every worker of the tests rewrites every module again

.PHONY: demo test slow browser check lint coverage bench fuzz numba docs site paper wheel release clean

demo: $(VENV)/.demo
	$(BIN)/hardmax demo -o demo-report --force

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" $(TESTS)

slow: $(VENV)/.ready
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow

browser: $(VENV)/.ready
	HARDMAX_BROWSER=full $(BIN)/python -m pytest -q -n 0 tests/web/browser/test_every_state.py

check: lint coverage

lint: $(VENV)/.ready
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/mypy

# The coverage of all tests, with the files that they reach least.
coverage: $(VENV)/.ready
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal --cov --cov-report= --cov-fail-under=95
	$(BIN)/python -m coverage report --skip-covered --skip-empty --sort=-cover | tail -20

# Each script stores its tables in benchmarks/results, also when a requirement is missed; the last line writes the pages.
bench: $(VENV)/.bench
	-$(BIN)/python benchmarks/start.py
	-$(BIN)/python benchmarks/engine.py
	-$(BIN)/python benchmarks/construct.py
	-$(BIN)/python benchmarks/classifier.py --only explanations,speed,shipped,relaxation
	$(BIN)/python scripts/benchmark_page.py

fuzz: $(VENV)/.ready
	$(BIN)/python scripts/fuzz.py $(FUZZ)
	$(BIN)/python scripts/fuzz_clouds.py $(CLOUDS)
	HARDMAX_CASES=many $(BIN)/python -m pytest -q -n $(WORKERS) $(shell grep -l "import cases" -r tests --include=*.py)

numba:
	$(PYTHON) -m venv .venv-numba
	$(NUMBA)/python -m pip install --quiet --disable-pip-version-check -e . pytest hypothesis jaxtyping beartype python-flint
	$(NUMBA)/python -m pip install --quiet --disable-pip-version-check --upgrade $(or $(VERSIONS),numba)
	$(NUMBA)/python -m pytest -q tests/jit tests/cloud tests/attention tests/dynamics/test_two_ways.py \
	  tests/sentiment/test_layers_compiled.py tests/sentiment/test_search.py tests/text/test_ngrams.py

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo site/index.html

site: $(VENV)/.ready
	$(BIN)/hardmax playground --static $(SITE) --force

paper: $(VENV)/.docs
	$(BIN)/python scripts/paper.py

# The wheel and the source archive, each installed into an empty environment and tried. EXTRAS="plot web" tries extras too,
# each alone; EXTRAS="--lowest plot" with the lowest versions that pyproject.toml allows.
wheel: $(VENV)/.build
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python scripts/check_wheel.py dist $(EXTRAS)

# Everything that comes before an upload, which is left to a person; CONTRIBUTING.md has the steps.
release: wheel
	@echo "would be uploaded:" && ls -l dist
	@echo "$(BIN)/python -m twine upload dist/*"

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[all,dev]'
	touch $@

# What the demo needs, which is far less than the tests.
$(VENV)/.demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[plot,imdb]'
	touch $@

$(VENV)/.bench: $(VENV)/.ready
	$(PIP) -e '.[bench,imdb]'
	touch $@

$(VENV)/.build: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) build twine hatchling
	touch $@

# The site needs the package and the tools that build it, but neither torch nor the tools of the tests.
$(VENV)/.docs: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) .venv-numba demo-report paper.html paper.pdf site dist build .coverage* .pytest_cache .mypy_cache .ruff_cache
