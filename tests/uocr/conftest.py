"""The command line run in this process; the faulty input files of tests/fixtures, made once a session."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from uocr import cli, native

FIXTURES = Path(__file__).parents[1] / "fixtures"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `uocr ARGUMENTS` in this process; gives (exit code, standard output, standard error)."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["uocr", *arguments])
        code = cli.main()
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[int]], None]:
    """Called with ids: whatever is asked from then on, the model writes these first."""
    stepped: Callable[[native.Run], native.Event] = native.Run.step

    def script(ids: Sequence[int]) -> None:
        def step(run: native.Run) -> native.Event:
            event = stepped(run)
            if event.kind == native.PROGRESS and event.phase == "prefill" and event.done == event.total:
                run.force_token(ids[0])
            elif event.kind == native.TOKEN and event.done < len(ids):
                run.force_token(ids[event.done])
            return event

        monkeypatch.setattr(native.Run, "step", step)

    return script


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Path of every file that tests/fixtures/make.py makes, by name."""
    spec = importlib.util.spec_from_file_location("make", FIXTURES / "make.py")
    assert spec is not None and spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    paths: dict[str, Path] = make.build(tmp_path_factory.mktemp("fixtures"))
    return paths
