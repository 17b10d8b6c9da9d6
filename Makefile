# Two commands: `make demo` reads the sample pages, `make test` runs every test. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml $(wildcard packaging/*.py) $(shell find engine/src engine/include -name '*.[ch]' 2>/dev/null) $(wildcard resources/models/*.uocr)

.PHONY: demo test check app bench screenshots lint clean help
help:
	@echo "make demo    read the sample pages with the built-in model"
	@echo "make test    run every test (long suites: make check)"
	@echo "make app     open the window"
	@echo "make bench   measure this machine: speed, quality"
	@echo "make lint    ruff and mypy"

# $(VENV)/.base: engine and command line;  $(VENV)/.dev: tests and the window as well.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Leggio needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another with make PYTHON=python3.12 demo.")'
	$(PYTHON) -m venv $(VENV)
$(VENV)/.base: $(VENV)/bin/python $(NATIVE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@
$(VENV)/.dev: $(VENV)/bin/python $(NATIVE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,app]"
	@touch $@ $(VENV)/.base

demo: $(VENV)/.base
	$(BIN)/python -m uocr.demo

test: $(VENV)/.dev
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest $(TESTS)

check: $(VENV)/.dev
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -m "slow or not slow" $(TESTS)

app: $(VENV)/.dev
	$(BIN)/leggio

lint: $(VENV)/.dev
	$(BIN)/ruff check engine app packaging tests training bench
	$(BIN)/mypy

clean:
	rm -rf build $(VENV) demo-output
