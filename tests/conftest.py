"""Shared by all tests: where things are, and engines that are opened once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
SAMPLES = ROOT / "resources" / "samples"
BUILT_IN = ROOT / "resources" / "models" / "built-in.uocr"


def models_say(monkeypatch: pytest.MonkeyPatch, changes: Mapping[str, object]) -> None:
    """Model files that are opened from now on have `changes`, as they are then, laid over their front ends."""
    from uocr.modelfile import ModelFile

    stored = ModelFile.open

    def opened(path: Path) -> ModelFile:
        file = stored(path)
        file.front_end |= changes
        return file

    monkeypatch.setattr(ModelFile, "open", staticmethod(opened))


@pytest.fixture(scope="session")
def golden_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden checkpoint as f32 model file."""
    from uocr.convert import convert_checkpoint

    path = tmp_path_factory.mktemp("golden") / "golden-f32.uocr"
    convert_checkpoint(GOLDEN / "model", path, "f32")
    return path


@pytest.fixture(scope="session")
def ocr() -> Iterator[object]:
    """The built-in model, shared by tests that only read."""
    from uocr import UnlimitedOCR

    with UnlimitedOCR() as engine:
        yield engine
