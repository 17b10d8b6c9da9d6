"""K3: a run whose picture never reached the decoder must not succeed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import save_file
from uocr import errors, native
from uocr.convert import convert_checkpoint
from uocr.views import visual_tokens

from tests.conftest import GOLDEN


def widened(path: Path) -> dict[str, np.ndarray]:
    """The BF16 tensors of a safetensors file as float32."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = (8 + size + o for o in entry["data_offsets"])
            bits = np.frombuffer(data[start:end], "<u2").astype(np.uint32) << 16
            out[name] = bits.view(np.float32).reshape(entry["shape"])
    return out


def plan_for(engine: native.Engine, size: int = 512) -> native.Plan:
    info = engine.info()
    ids = [info.bos_id, *[info.image_id] * visual_tokens(size), 7]
    return native.Plan(ids, global_size=size, max_new_tokens=3, ngram_size=0, loop_history=0)


def test_features_of_zeros_end_the_run_with_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(GOLDEN / "model", folder)
    (source,) = folder.glob("*.safetensors")
    tensors = widened(source)
    for name in ("model.projector.layers.weight", "model.projector.layers.bias"):
        tensors[name] = np.zeros_like(tensors[name])
    source.unlink()
    (folder / "model.safetensors.index.json").unlink()
    save_file(tensors, folder / "model.safetensors")
    convert_checkpoint(folder, tmp_path / "zero.uocr", "f32")
    with native.Engine(tmp_path / "zero.uocr") as engine:
        before = engine.memory().current
        with engine.begin(plan_for(engine)) as run, pytest.raises(errors.ModelFileError, match="zeros"):
            for event in run.events():
                if event.kind == native.NEED_VIEW:
                    run.feed(0, np.full((512, 512, 3), 99, np.uint8))
        assert engine.memory().current == before


def test_given_rows_of_zeros_are_refused(golden_model: Path) -> None:
    with native.Engine(golden_model) as engine, engine.begin(plan_for(engine)) as run:
        with pytest.raises(errors.InvalidRequest, match="are 0"):
            run.set_rows(np.zeros((visual_tokens(512), engine.info().hidden_size), np.float32))


def test_a_white_page_is_a_picture_too(golden_model: Path) -> None:
    """Upstream skips the vision tower for a picture that sums to zero; here every picture is encoded."""
    half = Image.new("RGB", (512, 512), "white")
    half.paste((0, 0, 0), (0, 0, 256, 512))
    with native.Engine(golden_model) as engine, engine.begin(plan_for(engine)) as run:
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                run.feed(0, np.asarray(half))
        assert event.finish in ("length", "eos")
