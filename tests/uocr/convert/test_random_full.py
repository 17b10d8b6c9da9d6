"""Random weights: in any shapes quickly, in full shapes with little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from checkpoint_files import load_safetensors, widen
from uocr.convert import convert_checkpoint
from uocr.convert.random_full import write_random_checkpoint, write_random_model
from uocr.modelfile import PROFILES, ModelFile


@pytest.fixture
def small_config(golden: Path) -> dict:
    return json.loads((golden / "config.json").read_text())


@pytest.mark.parametrize("profile", PROFILES)
def test_a_random_model_has_the_types_of_its_profile_and_even_weights(small_config: dict, tmp_path: Path,
                                                                      profile: str) -> None:
    size, model_id = write_random_model(tmp_path / "m.uocr", profile, seed=3, config=small_config)
    assert size == (tmp_path / "m.uocr").stat().st_size
    with ModelFile.open(tmp_path / "m.uocr") as model:
        model.verify()
        assert model.model_id.hex() == model_id
        assert model.tensors["lm_head.weight"].dtype == profile
        assert model.tensor("lm_head.weight").std() == pytest.approx(0.02, rel=0.05)
        assert model.tensor("layers.1.self_attn.q_proj.weight").std() == pytest.approx(0.02, rel=0.05)
        assert set(model.tensor("norm.weight")) == set(model.tensor("sam_model.neck.3.weight")) == {1.0}
        assert not model.tensor("projector.layers.bias").any()


def test_equal_seeds_give_equal_bytes(small_config: dict, tmp_path: Path) -> None:
    first, again, other = (write_random_model(tmp_path / f"{i}.uocr", "q4", seed, config=small_config)[1]
                           for i, seed in enumerate((5, 5, 6)))
    assert first == again != other


def test_a_random_checkpoint_converts(small_config: dict, tmp_path: Path) -> None:
    write_random_checkpoint(tmp_path / "checkpoint", config=small_config)
    values = load_safetensors(tmp_path / "checkpoint" / "model-00001-of-000001.safetensors")
    assert len(values) == 226
    assert widen(values["lm_head.weight"]).std() == pytest.approx(0.02, rel=0.02)
    convert_checkpoint(tmp_path / "checkpoint", tmp_path / "m.uocr", "f32")
    with ModelFile.open(tmp_path / "m.uocr") as model:
        np.testing.assert_array_equal(model.tensor("lm_head.weight"), widen(values["lm_head.weight"]))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["q4", "f16"])
def test_the_full_checkpoint_converts_in_less_than_1_gb_of_memory(tmp_path: Path, profile: str) -> None:
    """Needs 14 GB of disk and minutes; resident memory is that of the converting process at its peak."""
    source = tmp_path / "checkpoint"
    try:
        assert write_random_checkpoint(source) == 6_672_212_480
        code = ("import resource, sys\nfrom pathlib import Path\n"
                "from uocr.convert import convert_checkpoint\n"
                "report = convert_checkpoint(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])\n"
                "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
                "print(report.source_tensors, peak * (1 if sys.platform == 'darwin' else 1024))\n")
        done = subprocess.run([sys.executable, "-c", code, source, tmp_path / "m.uocr", profile], text=True,
                              capture_output=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
        assert done.returncode == 0, done.stderr
        tensors, peak = map(int, done.stdout.split())
        assert tensors == 2710
        assert peak < 1_000_000_000
    finally:
        for path in [*source.glob("*"), *tmp_path.glob("*.uocr")]:
            path.unlink()
