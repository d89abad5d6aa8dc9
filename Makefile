# Needs make and Python 3.11 or newer; everything else is installed into $(VENV).
# To choose: make test PYTHON=python3.12 TORCH=torch==2.12.0 JOBS=8

PYTHON ?= python3
VENV   ?= .venv
TORCH  ?= torch==2.13.0
JOBS   ?= 2

BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
# the workers share the cores: more threads in each of them only get in each other's way
PYTEST  := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

.DEFAULT_GOAL := help
.PHONY: help run test test-all lint docs kernels proofs rocq clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r target what; do \
	  printf '%-16s%s\n' "$$target" "$$what"; done

run: $(STAMP)  ## judge the shipped verifiers and write out/report.json
	$(BIN)/python examples/judge.py

test: lint  ## lint, types and the tests that take seconds
	$(PYTEST) -m "not slow"

test-all: lint  ## lint, types and every test
	$(PYTEST)

lint: $(STAMP)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(STAMP)  ## build the site in out/site, warnings being errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict  # not --quiet, with which nothing counts as a warning

kernels: $(STAMP)  ## compile every Triton kernel for sm_80 and sm_90: registers and spills, none allowed; no GPU needed
	$(BIN)/python -W ignore -m draftproof.gpu_impl.kernels.ahead

ROCQ := make coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics libcoq-mathcomp-zify
# whether they are there, however they were installed
ROCQ_READY := ls "$$(coqc -where 2>/dev/null)"/user-contrib/mathcomp/algebra/ssralg.vo "$$(coqc -where 2>/dev/null)"/user-contrib/mathcomp/*/ring.vo \
  "$$(coqc -where 2>/dev/null)"/user-contrib/mathcomp/*/ssrZ.vo >/dev/null 2>&1

proofs: $(STAMP) rocq  ## build the Rocq proofs and check every claim (as root, on Debian, installs Rocq first)
	$(BIN)/draftproof prove --build

rocq:
	@$(ROCQ_READY) || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null; } || { \
	  echo "Rocq and MathComp are missing. On Debian, as root: apt-get install --no-install-recommends $(ROCQ)" >&2; exit 1; }
	@$(ROCQ_READY) || { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(ROCQ); }

clean:  ## remove outputs and caches (to install anew, delete .venv)
	rm -rf out build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path './.*' -prune -o -name __pycache__ -type d -exec rm -rf {} +

# torch first and by itself: the version is then ours to choose, and the extras that need torch find it there.
$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "There is no '$(PYTHON)' here: name one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "draftproof needs Python 3.11 or newer and '$(PYTHON)' is $$($(PYTHON) --version): name one with make PYTHON=..." >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments: install its venv module (Debian: apt-get install python3-venv)." >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@
