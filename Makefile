# Needs Python 3.11 or newer, git and make; everything else goes into .venv.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3 python3.13 python3.12 python3.11
BIN := .venv/bin
READY := .venv/ready
TESTS ?= tests
SECONDS ?= 45
WORKERS ?= 4

.PHONY: help setup demo test check format lint imports types diagram reference migration cases soak bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with everything pinned

$(READY): pyproject.toml constraints.txt
	@$(BIN)/python -c '' 2>/dev/null || { \
	  for python in $(PYTHON); do \
	    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && exec $$python -m venv --clear .venv; \
	  done; \
	  echo "make: no Python 3.11 or newer among: $(PYTHON); name one: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --constraint constraints.txt pip hatchling editables
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --group dev --editable .
	@touch $@

demo: setup ## Play the whole story on a generated repository
	$(BIN)/tasks demo

test: setup ## Run the tests; TESTS=tests/cli for a part of them
	$(BIN)/python -m pytest -q -n auto $(TESTS)

check: format lint imports types test ## Everything: format, lint, import contracts, types, tests, docs

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

imports: setup
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

diagram: setup ## Draw the lifecycles again, from the tables
	$(BIN)/python -m statemachine.picture --write

reference: setup ## Write the command reference again, from the commands
	$(BIN)/python -m cli.reference --write

migration: setup ## Start a migration: make migration NAME=noun
	@test -n "$(NAME)" || { echo "make: name it: make migration NAME=noun" >&2; exit 1; }
	$(BIN)/alembic revision --rev-id "$$(printf '%04d' "$$(($$(ls migrations/versions/[0-9]*.py | wc -l) + 1))")" -m "$(NAME)"

cases: setup ## List the acceptance cases and hazards no test names
	$(BIN)/python tests/house/cases.py

soak: setup ## Kill workers, agents and the server at random, then look: SECONDS=45 WORKERS=4 SEED=1
	$(BIN)/python -m tests.soak --seconds $(SECONDS) --workers $(WORKERS) $(if $(SEED),--seed $(SEED))

bench: setup ## Measure claim and settle against hand-written SQL
	$(BIN)/python -m bench

clean: ## Remove what was made, .venv included
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
