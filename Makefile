# Two commands for a fresh machine: `make demo` and `make test`. Both create .venv and install into it.
PYTHON ?= python3
BIN = .venv/bin
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
NEEDED = Python 3.11.4 or newer with venv is needed (Debian: apt-get install python3-venv); or name one: make PYTHON=python3.12

.PHONY: demo test long all seconds coverage lint docs site wheel papers scores benchmark validity mutants clean

demo: .venv/installed
	$(BIN)/resemblance bench run resi demo --size demo --jobs $$($(BIN)/python -c 'import os; print(os.cpu_count())') $(ARGS)

# A process for each core, and one thread in each: threads that wait for a core burn it.
test long seconds coverage: export OMP_NUM_THREADS = 1
# The files that take longest come first (tests/seconds.json), so that no core waits for another at the end.
PYTEST = $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# Linters, types, and all tests but the long ones. The linters run meanwhile, and are printed last.
test: .venv/installed
	@$(BIN)/python tests/browser.py
	@report=$$(mktemp); $(MAKE) --no-print-directory lint >$$report 2>&1 & linters=$$!; \
	$(PYTEST) -m "not long" $(ARGS); tests=$$?; \
	wait $$linters; linters=$$?; cat $$report; rm $$report; exit $$((tests + linters))

# What takes minutes and changes seldom: the tests marked so, the papers at their smallest size, ten faults of the tests.
long: .venv/installed
	@$(PYTEST) -m long
	$(BIN)/python -m papers --size small
	$(BIN)/python scripts/mutants.py --draw 10
	$(BIN)/python benchmarks/validity.py --quick

all: test docs long

# Record how long each file of tests takes.
seconds: .venv/installed
	@$(PYTEST) --write-seconds

# Which branches the tests reach, and by which test: .coverage, with one context for each test.
coverage: .venv/installed
	@rm -f .coverage .coverage.*
	-$(BIN)/coverage run -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder -m "not long" $(ARGS)
	@$(BIN)/coverage combine --quiet && $(BIN)/coverage report --skip-covered --sort=cover

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/installed
	$(INSTALL) --editable '.[docs]'
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The pages with the gallery in one folder, which a browser opens from disk: site/index.html.
site: docs
	rm -rf site && cp -r docs/_build/html site

# The archives to publish, checked; the wheel must work where nothing but what it needs is installed.
wheel:
	rm -rf dist build && $(PYTHON) -m venv build/tools && $(PYTHON) -m venv build/bare
	build/tools/bin/python -m pip install --quiet --disable-pip-version-check build twine
	build/tools/bin/python -m build && build/tools/bin/twine check --strict dist/*
	build/bare/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	build/bare/bin/resemblance leaderboard

# What papers claim and print, next to ours: their pages, and the tables of results in the docs.
papers: .venv/installed
	$(BIN)/python -m papers $(ARGS)
	$(BIN)/python docs/_scripts/write_tables.py

# What must follow a change of a measure, in this order: its scores on the packs, the tables of the
# docs and of the joint ranking, and the pins. The pack of ten architectures does not ship: without
# it, the second command says how to build it, and its old scores stay.
scores: .venv/installed
	$(BIN)/python scripts/board_scores.py $(ARGS)
	$(BIN)/python scripts/board_scores.py --series architectures $(ARGS)
	$(BIN)/python -m papers --write-only
	$(BIN)/python docs/_scripts/write_tables.py
	$(BIN)/python scripts/pin.py

benchmark: .venv/installed
	$(BIN)/python benchmarks/suite.py $(ARGS)

# Levels of tests and coverage of intervals, on many made data sets: about half an hour of CPU.
validity: .venv/installed
	$(BIN)/python benchmarks/validity.py $(ARGS)

# Faults put into the code one at a time, each of which the tests must notice.
mutants: .venv/installed
	$(BIN)/python scripts/mutants.py $(ARGS)

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11, 4))' 2>/dev/null || { echo '$(NEEDED)'; exit 2; }
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	$(INSTALL) --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv demo docs/_build docs/measures docs/project site dist build
