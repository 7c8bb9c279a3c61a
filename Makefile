# Two commands are enough: `make demo` and `make test`. Both make `.venv` and install what they need, pinned.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)
PACKAGES := theory decoding profiling simulate paper_figures
THREADS := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test test-slow lint format docs notebooks bench train clean

demo: $(VENV)/.base
	$(BIN)/specfrontier demo --out runs/demo

test: $(VENV)/.dev
	$(THREADS) $(BIN)/pytest -n 2 -m "not slow"

test-slow: $(VENV)/.dev
	$(THREADS) $(BIN)/pytest -n 2 -m slow

# The packages stand in folders of their own names; the type checker wants them under `specfrontier`.
lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	mkdir -p build/types/specfrontier
	ln -sfn $(addprefix ../../../,$(PACKAGES)) $(addprefix ../../../,$(wildcard specfrontier/*.py)) build/types/specfrontier/
	MYPYPATH=build/types $(BIN)/mypy -p specfrontier

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(VENV)/.notebooks
	$(THREADS) $(BIN)/python -m notebooks.run_all

bench: $(VENV)/.dev
	$(THREADS) $(BIN)/pytest benchmarks -n 0 --benchmark-only

train: $(VENV)/.base
	$(BIN)/python -m training.train all --out checkpoints
	$(BIN)/python -m training.export --checkpoints checkpoints

# A machine without an NVIDIA driver takes torch's CPU build where the index has it, and any other the usual one.
$(VENV)/.torch: constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	if command -v nvidia-smi >/dev/null || ! $(PIP) install -q "torch==$(TORCH)+cpu" 2>/dev/null; then \
		$(PIP) install -q "torch==$(TORCH)"; fi
	touch $@

$(VENV)/.base: $(VENV)/.torch pyproject.toml
	$(PIP) install -q -c constraints.txt -e .
	touch $@

$(VENV)/.dev: $(VENV)/.torch pyproject.toml
	$(PIP) install -q -c constraints.txt -e ".[dev,bench]"
	touch $@ $(VENV)/.base

$(VENV)/.docs: $(VENV)/.torch pyproject.toml
	$(PIP) install -q -c constraints.txt -e ".[docs]"
	touch $@

$(VENV)/.notebooks: $(VENV)/.torch pyproject.toml
	$(PIP) install -q -c constraints.txt -e ".[notebooks]"
	touch $@

clean:
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache
