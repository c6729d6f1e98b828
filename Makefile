# Everything here sets itself up: a bare clone, Python 3.11 or 3.12 and make are enough.
SHELL := /bin/bash
.DEFAULT_GOAL := help

BIN := .venv/bin
# Any Python >= 3.8 drives the set-up; it looks for the interpreter of .venv itself.
DRIVER := $(shell for p in $(PYTHON) python3 python python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && { echo "$$p"; break; }; done)
SETUP := $(or $(DRIVER),$(error No Python was found: install Python 3.11 or 3.12)) scripts/setup.py

# Test processes side by side; each holds one torch.
TEST_JOBS ?= 2
# For example: make test TESTS=tests/contract PYTEST_ARGS=-x
TESTS ?=
PYTEST_ARGS ?=
# make pins UPGRADE=--upgrade takes newer versions; without it the present ones are kept.
UPGRADE ?=

# One thread a process: test processes that each take every core slow each other down tenfold.
test learn bench: export OMP_NUM_THREADS := 1

# Without a display MuJoCo's default renderer raises, and the second attempt ends the process.
ifeq ($(shell uname -s)$(DISPLAY),Linux)
export MUJOCO_GL ?= egl
endif

.PHONY: help setup setup-all run test learn bench check docs pins schema proto clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Build .venv with the default set
	@$(SETUP) default

setup-all: ## Build .venv with every extra and the development tools
	@$(SETUP) all

run: setup ## Start the trainer and the GUI, and print the link (RUN="--port 9000" passes flags)
	@$(BIN)/mosaic gui $(RUN)

test: check ## Run lint, types, import directions and the tests
	@$(BIN)/pytest -n $(TEST_JOBS) --dist loadfile -m "not learn and not slow and not bench" $(PYTEST_ARGS) $(TESTS)

learn: setup-all ## Run the long learning runs and the long tests
	@$(BIN)/pytest -m "learn or slow" -s $(PYTEST_ARGS) $(TESTS)

bench: setup-all ## Run the benchmarks
	@for file in $(wildcard benchmarks/*.py); do echo "== $$file"; $(BIN)/python "$$file" || exit; done

check: setup-all ## Check lint, format, types and import directions
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache > .venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }
	@echo "check: lint, format, types and import directions are clean"

docs: setup-all ## Build the documentation into docs/_build/html
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	@echo "docs: docs/_build/html/index.html"

pins: setup-all ## Resolve pyproject.toml into constraints.txt (UPGRADE=--upgrade for newer versions)
	@env -u UV_FIND_LINKS $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
		--no-annotate --custom-compile-command "make pins" \
		--extra all --extra dev $(UPGRADE) --output-file constraints.txt pyproject.toml

schema: setup-all ## Write the schemas that the workers ship, and the reference pages
	@$(BIN)/python -m cleanrl_worker --describe > .venv/schema.json
	@mv .venv/schema.json src/cleanrl_worker/schema.json
	@for worker in spade_bdi_rl_worker llm_worker human_worker; do \
		$(BIN)/python -m $$worker --describe > .venv/schema.json && \
		mv .venv/schema.json src/$$worker/schema.json || exit; done
	@$(BIN)/python scripts/make_reference.py
	@$(BIN)/python scripts/make_environments.py

proto: setup-all ## Generate the code of the daemon's protocol
	@cd src && ../$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. \
		--grpc_python_out=. mosaic/proto/trainer.proto

clean: ## Remove .venv, caches and build outputs; run data in var/ stays
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist docs/_build
	@find src tests scripts benchmarks docs -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
	@rm -rf src/*.egg-info
