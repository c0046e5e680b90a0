# `make help` lists the targets; the comment after a target is its help.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Use the client of this checkout, even if several checkouts share an environment.
export PYTHONPATH := $(CURDIR)/client

PYTHON ?= $(firstword $(shell command -v python3.11 python3))
PORT ?= 8000
DOCS_PORT ?= 8001
VENV := .venv
BIN := $(VENV)/bin
# Hides the notice about a future version.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs
DEMO_FLAGS = --port $(PORT) $(if $(IMAGES),--count $(IMAGES)) $(if $(ENTRIES),--entries $(ENTRIES)) $(if $(EXIT),--exit) $(if $(FROM),--images $(FROM))

.PHONY: help setup demo demo-full up images test test-all test-slow compose-test faults load zoo scale check format docs reference bench gpu-check gpu-entries migrate constraints audit release clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(VENV)/installed ## Install everything into .venv (TORCH=cpu: PyTorch without its CUDA libraries)

# The packages of the service and the demo. The other extras are for tests, documentation and benchmarks.
SERVICE_EXTRAS := api,worker,standalone,demo
$(VENV)/service-installed: EXTRAS := $(SERVICE_EXTRAS)
$(VENV)/installed: EXTRAS := $(SERVICE_EXTRAS),docs,test,bench

# The client is installed from its folder, because no registry has it; -e needs --no-sources.
PIP_INSTALL := $(BIN)/python -m pip --disable-pip-version-check install -c deploy/constraints.txt
UV_INSTALL = $(BIN)/uv pip install --python $(BIN)/python -c deploy/constraints.txt --no-sources --compile-bytecode
KENNEL = -e ./client -e '.[$(EXTRAS)]'

$(VENV)/installed $(VENV)/service-installed: pyproject.toml client/pyproject.toml deploy/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null \
	  || { echo "Kennel needs Python 3.11 to 3.14: install it, or name it with PYTHON=..."; exit 1; }
	@echo "Installing Kennel into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
ifdef TORCH
	@$(PIP_INSTALL) --quiet uv
	@$(UV_INSTALL) --torch-backend $(TORCH) $(KENNEL)
else
	@{ $(PIP_INSTALL) --quiet uv && $(UV_INSTALL) $(KENNEL); } || { \
	  echo "uv cannot install Kennel here (see above). Installing it with pip, which takes minutes longer ..."; \
	  $(PIP_INSTALL) $(KENNEL); }
endif
	@touch $(VENV)/service-installed $@
	@echo "Check the subjects of your commits: ln -s ../../.ci/commit-msg .git/hooks/commit-msg"

demo: $(VENV)/service-installed ## Run the demo competition (EXIT=1 stops at the end; IMAGES=n ENTRIES=n FROM=folder PORT=8000)
	$(BIN)/kennel demo $(DEMO_FLAGS)

demo-full: $(VENV)/service-installed ## Run the demo with more and larger entries (as demo)
	$(BIN)/kennel demo --full $(DEMO_FLAGS)

up: $(VENV)/service-installed ## Run the service on this machine until Ctrl-C (PORT=8000)
	$(BIN)/kennel up --port $(PORT)

images: setup ## Build the images with docker or buildah (TARGETS="api worker"; the worker image has gigabytes)
	$(BIN)/python -m tests.compose.images $(TARGETS)

# One process more than cores, because many tests wait, but at most five, because each imports and compiles everything.
# One OpenBLAS thread per process: several would wait for each other in loops and double the time of numpy's tests.
# Some machines set PYTHONDONTWRITEBYTECODE. Every process of a test and one per upload would then compile all modules.
COMPILED = env -u PYTHONDONTWRITEBYTECODE
PYTEST = $(COMPILED) OMP_WAIT_POLICY=PASSIVE OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest \
  --numprocesses $$(($$(nproc) + 1)) --maxprocesses 5 --dist loadfile

test: setup ## Run the fast tests: those without a service, and one story per noun on a running service (TESTS=paths)
	$(PYTEST) $(or $(TESTS),-m "not slow and not heavy" tests/pure tests/stories)

test-all: setup ## Run all tests except the slow ones, as CI does (TESTS=paths)
	$(PYTEST) -m "not slow" --durations 40 --durations-min 5 $(TESTS)

test-slow: setup ## Run the tests that take minutes, and property tests with all examples
	$(BIN)/python -m pytest -m "slow or hypothesis" --hypothesis-profile full

compose-test: setup ## Build the images, run every service of docker-compose.yml in them, and score an entry through TLS
	IMAGE_TESTS=any $(BIN)/python -m pytest -m "slow or not slow" tests/compose

faults: setup ## Run rounds of fault injection on the real service; continues the last run (ROUNDS=1000 SEED=n)
	$(BIN)/python -m tests.faults.rounds --rounds $(or $(ROUNDS),1000) $(if $(SEED),--seed $(SEED))

# Long modules and full folders deserve a second look, but related code stays together.
PRODUCT := 'api/*.py' 'client/*.py' 'deploy/*.py' 'scorer/*.py' 'worker/*.py'
check: setup ## Format, lint, strict types, import contracts, migration drift, compose, Dockerfile, documentation
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m deploy.migration_drift
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/hadolint deploy/Dockerfile
	$(BIN)/python -m deploy.documentation --check
	$(BIN)/python -m deploy.documentation --openapi | $(BIN)/openapi-spec-validator -
	$(MKDOCS) build --strict
	@git ls-files $(PRODUCT) | xargs wc -l | awk '$$2 != "total" && $$1 > 300 { print "warning: " $$2 " has " $$1 " lines" }'
	@git ls-files $(PRODUCT) | xargs -n 1 dirname | sort | uniq -c | awk '$$1 > 21 { print "warning: " $$2 " has " $$1 " modules" }'

docs: reference ## Serve the documentation until Ctrl-C (DOCS_PORT=8001)
	$(MKDOCS) serve --strict --dev-addr 127.0.0.1:$(DOCS_PORT)

reference: setup ## Write docs/reference/ from the code
	$(BIN)/python -m deploy.documentation

format: setup ## Format, and fix what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## Run benchmarks, by default those of speed, and write their pages in benchmarks/ (BENCH=names)
	$(BIN)/python -m benchmarks $(or $(BENCH),speed)

zoo: setup ## Make missing seeds of the zoo (about 35 minutes of one core each) and write benchmarks/ZOO.md (SEED=n)
	$(BIN)/python -m benchmarks.zoo $(if $(SEED),--seed $(SEED))

load: setup ## Load the real service over loopback for 90 minutes and write the pages in benchmarks/ (LOAD=names)
	$(BIN)/python -m benchmarks $(or $(LOAD),load)

scale: setup ## Simulate a competition with 1 to 64 workers and write benchmarks/SCALE.md (SCALE=names; RENDER=1: the tables of the capacity page)
	$(BIN)/python -m $(if $(RENDER),benchmarks.scale.capacity,benchmarks $(or $(SCALE),scale))

gpu-check: setup ## Check this machine's GPU in about five minutes and print a page to paste (DEVICE=cuda:3)
	@$(BIN)/python -m benchmarks.gpu_check $(if $(DEVICE),--device $(DEVICE))

gpu-entries: setup ## Score entries of 10,000 images on this machine's GPU with the whole service and print a page (DEVICE=cuda:3 ENTRIES=4)
	@$(BIN)/python -m benchmarks.gpu_check.entries $(if $(DEVICE),--device $(DEVICE)) $(if $(ENTRIES),--entries $(ENTRIES))

migrate: setup ## Migrate the database at DATABASE_URL to this version
	$(BIN)/kennel migrate

# The tools of the next targets are not part of the service, so they have their own environment.
TOOLS := $(VENV)/release
LOCKED := deploy/requirements
DIST := dist

$(TOOLS)/installed: $(LOCKED)/release.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCKED)/release.txt
	@touch $@

# Universal: one file for all architectures and Python versions.
COMPILE = $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --custom-compile-command "make constraints"
HASHED = $(COMPILE) --no-annotate --no-emit-package kennel-client --generate-hashes --constraint deploy/constraints.txt
RENEWED = $(if $(PACKAGE),--upgrade-package $(PACKAGE),--upgrade)

constraints: $(TOOLS)/installed ## Update the versions of all packages, or of one (PACKAGE=name), and write all hashes
	$(COMPILE) pyproject.toml --all-extras --group install --no-annotate --no-emit-package kennel-client $(RENEWED) -o deploy/constraints.txt
	$(MAKE) hashes

hashes: $(TOOLS)/installed ## Rewrite deploy/requirements/ for the versions in deploy/constraints.txt
	$(HASHED) pyproject.toml --extra api --extra traces -o $(LOCKED)/api.txt
	$(HASHED) pyproject.toml --extra worker --extra traces -o $(LOCKED)/worker.txt
	$(HASHED) --group build -o $(LOCKED)/build.txt
	$(HASHED) --group release -o $(LOCKED)/release.txt

audit: $(TOOLS)/installed ## Look up known vulnerabilities of the images' packages
	@$(TOOLS)/bin/pip-audit --strict --disable-pip --require-hashes $(foreach image,api worker,-r $(LOCKED)/$(image).txt)

release: setup $(TOOLS)/installed ## Make dist/: wheel, sdist, an SBOM of each image (CycloneDX), the documentation
	$(TOOLS)/bin/python -m build --no-isolation --outdir $(DIST) client
	$(TOOLS)/bin/python -m build --no-isolation --outdir $(DIST) .
	for image in api worker; do $(TOOLS)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --of JSON -o $(DIST)/kennel-$$image.cdx.json $(LOCKED)/$$image.txt || exit 1; done
	$(MKDOCS) build --strict --quiet --site-dir $(abspath $(DIST))/docs

clean: ## Remove .venv and caches (not the data)
	rm -rf $(VENV) .site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
