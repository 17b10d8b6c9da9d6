"""Small checkpoints for the converter's tests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from checkpoint_files import Make, Tensors, load_safetensors, save_safetensors
from uocr.convert import convert_checkpoint

GOLDEN = Path(__file__).parents[3] / "tests" / "golden" / "model"


@pytest.fixture(scope="session")
def golden() -> Path:
    """The small reference checkpoint: every structural feature of the real one, 7.5 MB."""
    return GOLDEN


@pytest.fixture(scope="session")
def golden_tensors() -> Tensors:
    return load_safetensors(GOLDEN / "model-00001-of-000001.safetensors")


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """The reference checkpoint as a model file in the profile asked for, made once."""
    folder = tmp_path_factory.mktemp("converted")

    def convert(profile: str) -> Path:
        path = folder / f"{profile}.uocr"
        if not path.exists():
            convert_checkpoint(GOLDEN, path, profile)
        return path

    return convert


@pytest.fixture
def checkpoint(tmp_path: Path, golden_tensors: Tensors) -> Make:
    """Builds a changed copy of the reference checkpoint: ``tensors`` to replace or add, names to ``drop``."""

    def build(tensors: Tensors | None = None, drop: tuple[str, ...] = (), config: dict | None = None) -> Path:
        folder = tmp_path / "checkpoint"
        folder.mkdir()
        shutil.copy(GOLDEN / "config.json", folder)
        if config is not None:
            (folder / "config.json").write_text(json.dumps(config))
        kept = {name: array for name, array in golden_tensors.items() if name not in drop}
        save_safetensors(folder / "model.safetensors", kept | (tensors or {}))
        return folder

    return build
