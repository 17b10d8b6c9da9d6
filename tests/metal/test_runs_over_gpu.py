"""Whole runs over the GPU back end on the host device: the engine's own tests, tokens chosen ahead, faults."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from host_device import ADDRESS, HERE, ROOT, SANITIZER_ENVIRONMENT, engine_program, library, missing, sanitizes

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")
TESTS = ROOT / "tests" / "engine"


def held(source: Path, device: bool = True, timeout: float = 300) -> int:
    """How many checks of the program held; none may have failed, nothing may have leaked."""
    sanitizer = ADDRESS if sanitizes(ADDRESS) else ""
    done = subprocess.run(
        [engine_program(source, sanitizer, device)],
        env={**SANITIZER_ENVIRONMENT, "UOCR_HOST_KERNELS": str(library())},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"^([1-9]\d*) checks held, 0 failed$", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return int(found[1])


def test_every_check_of_the_engines_own_tokens_holds() -> None:
    assert held(TESTS / "test_run_tokens.c") > 50


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["test_run", "test_run_memory"])
def test_every_check_of_the_engines_own_program_holds(name: str) -> None:
    assert held(TESTS / f"{name}.c", timeout=3500) > 50


def test_tokens_chosen_ahead_are_those_that_the_host_chooses() -> None:
    assert held(HERE / "test_ahead_runs.c") > 500


def test_a_device_that_fails_is_tried_once_more_and_then_told() -> None:
    assert held(HERE / "test_faulty_device.c", device=False) > 200
