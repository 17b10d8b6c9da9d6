"""The faulty input files of tests/fixtures, made once a session."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Path of every file that tests/fixtures/make.py makes, by name."""
    spec = importlib.util.spec_from_file_location("make", FIXTURES / "make.py")
    assert spec is not None and spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    paths: dict[str, Path] = make.build(tmp_path_factory.mktemp("fixtures"))
    return paths
