# Every target installs what it needs. A fresh machine needs only Python 3.11 or newer, git and make.
PYTHON ?= python3
VENV   ?= .venv

BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP   := $(BIN)/python -m pip --disable-pip-version-check

# Tests start many processes; bytecode compiled by one is reused by the others.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-long faults check docs bench lock clean

help:       ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' Makefile

demo: $(STAMP)       ## simulate T-maze episodes, learn their automaton, show the result
	$(BIN)/python examples/demo.py

test: $(STAMP)       ## run the tests, without those marked long
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

test-long: $(STAMP)  ## run the tests marked long
	$(BIN)/python -m pytest -m long -n auto

faults: $(STAMP)     ## count injected faults that are handled and loads that are sustained, for docs/promises.md
	$(BIN)/python tests/faults/count.py --long

check: $(STAMP)      ## lint, formatting, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src tests/user_program.py
	$(BIN)/lint-imports

docs: $(STAMP)       ## build the site to build/docs; a warning is an error
	$(BIN)/sphinx-build -q -n -W --keep-going docs build/docs
	$(BIN)/python docs/check.py build/docs

bench: $(STAMP)      ## run the benchmarks
	$(BIN)/python benchmarks/run.py

# uv has its own environment, so that a lock file that no longer installs can be replaced.
lock:       ## update requirements.lock from pyproject.toml
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip --disable-pip-version-check install --quiet uv
	$(VENV)-lock/bin/uv pip compile --quiet --all-extras --python-version 3.11 --upgrade \
	    --no-annotate --no-header --no-emit-index-url --no-emit-find-links pyproject.toml --output-file $(VENV)-lock/resolved
	{ echo '# All packages that the targets install, including extras. Written by `make lock`; do not edit.'; \
	  cat $(VENV)-lock/resolved; } > requirements.lock
	rm -rf $(VENV)-lock

clean:      ## remove the environment, caches and build output
	test ! -f $(STAMP) || rm -rf $(VENV)
	rm -rf build dist docs/made .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -path ./.git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "suffice needs Python 3.11 or newer. Name one: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	grep -v '^#' requirements.lock | xargs -n 20 -P 4 $(PIP) install --quiet --no-compile --no-deps # in parallel, because pip uses one core
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true # on all cores; files for other Python versions fail
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
