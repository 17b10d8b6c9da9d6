"""The examples run, and say how they are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES


def run(*arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "read_page.py", *arguments], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


def test_blocks_are_shown_with_place_and_confidence() -> None:
    code, out, err = run(str(SAMPLES / "screenshot.png"))
    assert (code, err) == (0, "")
    assert out.startswith("page 1: eos, ") and "Weekly report" in out and "text [(" in out


@pytest.mark.parametrize("arguments", [(), ("a.png", "b.png")])
def test_without_one_file_the_usage_is_shown(arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("usage: python ") and err.endswith("read_page.py FILE\n") and err.count("\n") == 1


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    code, out, err = run(str(tmp_path / "none.png"))
    assert (code, out) == (1, "")
    assert err == f"{tmp_path}/none.png cannot be opened: No such file or directory.\n"
