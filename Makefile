# Two commands for a fresh machine: `make demo` and `make test`. Both create .venv and install into it.
PYTHON ?= python3
BIN = .venv/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint docs benchmark clean

demo: .venv/installed
	$(BIN)/resemblance resi run demo $(ARGS)

test: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses auto $(ARGS)

docs: .venv/installed
	$(INSTALL) --editable '.[docs]'
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

benchmark: .venv/installed
	$(BIN)/python benchmarks/suite.py $(ARGS)

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv demo docs/_build docs/measures
