# Everything a checkout needs, in .venv: each target installs what it lacks, and costs nothing when it lacks nothing.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help up test coverage check mutants bench clean

# The first Python that is new enough; `make up PYTHON=/path/to/python` names another.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# compiled now, so that the first start need not
COMPILE = $(BIN)/python -m compileall -q etcd apiserver controller_manager mockube
ARGS ?=

help: ## show this help
	@echo 'usage: make TARGET [ARGS="..."]'
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

up: .venv/.installed ## start a cluster, its data in .mockube; ARGS="--port 0" and more: make up ARGS=--help
	@$(BIN)/mockube up --data-dir .mockube $(ARGS)

test: .venv/.installed-test ## run all tests, on all processors; ARGS="-k watch" and other flags of pytest
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

# Every Python process of the tests begins with the sitecustomize.py of that folder.
coverage: export MOCKUBE_COVERAGE := $(CURDIR)/.coverage
coverage: .venv/.installed-test ## run all tests, and fail if they run less of the sources than the floor in pyproject.toml
	@rm -rf $(MOCKUBE_COVERAGE) && mkdir $(MOCKUBE_COVERAGE)
	PYTHONPATH=$(CURDIR)/tests/coverage/site $(BIN)/python -m pytest -p line_coverage -n auto --dist worksteal $(ARGS)
	@$(BIN)/python tests/coverage/site/covered_share.py

check: .venv/.installed-check ## lint, formatting, types, imports, words
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/names/words.py

mutants: .venv/.installed-test ## change the sources a little and see whether tests notice; ARGS="etcd/durable.py", ARGS=--help
	PYTHONPATH=tests/mutants $(BIN)/python -m mutation $(ARGS)

bench: .venv/.installed-test ## measure the server beside a bare one; ARGS are bench/run.py's
	$(BIN)/python bench/run.py $(ARGS)

clean: ## remove .venv; data in .mockube stay
	rm -rf .venv

# A stamp is as new as the last installation; what is installed changes when pyproject.toml does.
.venv/.installed: pyproject.toml | .venv/.made
	@echo 'installing mockube in .venv ...' >&2
	@$(PIP) install --editable .
	@$(COMPILE)
	@touch $@

.venv/.installed-%: pyproject.toml | .venv/.made
	@echo 'installing mockube and what $* needs in .venv ...' >&2
	@$(PIP) install --editable '.[$*]'
	@$(COMPILE)
	@touch $@ .venv/.installed

.venv/.made:
	@test -n '$(PYTHON)' || { echo 'make: Python 3.11 or newer is needed, and none is on PATH;' \
		'install one, or name it: make PYTHON=/path/to/python' >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo 'make: $(PYTHON) cannot make environments:' \
		'on Debian and Ubuntu install the package python3-venv' >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@touch $@
