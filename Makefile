# Needs Python 3.11+, Java 17+ and make; everything else is set up in .venv by the first verb.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# A worker per core takes tests in their order, so that those of a file share its fixtures and its JVM; at most 4, for memory.
BESIDE := -n logical --maxprocesses 4 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup postgres demo test check bench docs golden soak chaos clean

help: ## list the verbs
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /	/'

$(READY): pyproject.toml
	@$(PYTHON) scripts/preflight.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (a minute or two, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' > $(VENV)/install.log 2>&1 || (cat $(VENV)/install.log; exit 1)
	@touch $(READY)

setup: $(READY) ## make .venv with everything in it

demo: $(READY) ## alerts per user, live on Spark, killed half way and resumed (about a minute)
	@$(BIN)/python examples/demo.py

postgres: $(READY) ## the PostgreSQL server that tests start for themselves, installed if it is missing and can be
	@$(BIN)/python scripts/postgres.py

test: $(READY) postgres check ## everything that CI runs
	$(BIN)/python -m pytest -m "not soak" $(BESIDE)

check: $(READY) ## ruff, mypy --strict, import ladder
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/architecture

bench: $(READY) ## measure against Structured Streaming and write bench/RESULTS.md (use a quiet machine)
	$(BIN)/python -m bench

soak: $(READY) ## long runs: more kill points, more random streams and plans, more epochs
	WATERCLOCK_EXAMPLES=1 $(BIN)/python -m pytest -m soak
	WATERCLOCK_EXAMPLES=1 $(BIN)/python -m pytest tests/properties -m "not soak"

chaos: $(READY) postgres ## kill processes at random and compare with the undisturbed answer: SEED=.. KILLS=500 ONLY=windows/local
	@$(BIN)/python -m tests.chaos

docs: $(READY) ## write the pages of functions and clauses from their tables, and check that every example in the documentation runs
	$(BIN)/python scripts/functions.py
	$(BIN)/python scripts/clauses.py
	$(BIN)/python -m pytest tests/docs

golden: $(READY) ## write the golden files anew; read the difference before you commit it
	$(BIN)/python -m tests.golden

clean: ## remove .venv and caches
	rm -rf $(VENV) .hypothesis .mypy_cache .ruff_cache
