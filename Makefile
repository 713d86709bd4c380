# Every target makes its own environment with python3 and pip alone.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := test
.PHONY: demo test lint bench test-all clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m httpx_recover demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(READY)
	$(BIN)/python benchmarks/duplicates.py
	$(BIN)/python benchmarks/hot_path.py
	$(BIN)/python benchmarks/first_byte.py

test-all: $(READY)
	$(BIN)/python -m pip install --quiet "tox>=4.22"
	$(BIN)/tox run

clean:
	rm -rf $(VENV) .venv-* .tox dist .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache
