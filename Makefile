# Two commands: `make demo` reads the sample pages, `make test` runs the tests. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml $(wildcard packaging/*.py) $(shell find engine/src engine/include metal -name '*.[chm]' -o -name '*.metal' 2>/dev/null) $(wildcard resources/models/*.uocr)

.PHONY: demo test check check-cuda app bench screenshots train-smoke lint clean help
help:
	@echo "make demo    read the sample pages with the built-in model"
	@echo "make test    run the tests (long suites: make check)"
	@echo "make app     open the window"
	@echo "make check   every test, the long ones too"
	@echo "make check-cuda   the GPU kernels on an NVIDIA GPU: right, and how fast"
	@echo "make bench   measure this machine: engine and window"
	@echo "make screenshots   draw the window's main states into docs/images"
	@echo "make lint    ruff and mypy"

# Without the system libraries that Qt needs, pytest-qt could not even start: the window's tests are left out, and say so.
QT_MISSING = $(shell $(BIN)/python -c 'import PySide6.QtWidgets' 2>/dev/null || echo "-p no:pytest-qt --ignore tests/leggio")

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
	@$(if $(QT_MISSING),echo "Qt cannot be loaded here (on Debian: libegl1 libgl1 libxkbcommon0 libdbus-1-3): the window is not tested.")
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest $(QT_MISSING) $(TESTS)

check: $(VENV)/.dev
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -m "slow or not slow" $(QT_MISSING) $(TESTS)

# Needs no .venv: python, a C compiler, nvcc, a GPU; what is missing is said in one line.
check-cuda:
	$(PYTHON) tests/metal/cuda/check.py

app: $(VENV)/.dev
	$(BIN)/leggio

bench: $(VENV)/.dev
	$(BIN)/python -m bench.speed
	QT_QPA_PLATFORM=offscreen $(BIN)/python -m bench.window

screenshots: $(VENV)/.dev
	$(BIN)/python packaging/screenshots.py

train-smoke: $(VENV)/.dev # needs the extra "parity" (torch)
	$(BIN)/python -m training.train --smoke

lint: $(VENV)/.dev
	$(BIN)/ruff check engine app packaging tests training bench
	$(BIN)/mypy

clean:
	rm -rf build $(VENV) demo-output
