"""The engine against the numbers of the published network, and the check against deliberate faults."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from uocr.errors import InvalidRequest
from uocr.golden import check_golden

from tests.conftest import GOLDEN


@pytest.mark.parametrize("part", ["pixels", "text", "layout", "ngram"])
def test_pixels_prompts_layout_and_bans_are_exactly_equal(part: str) -> None:
    results = list(check_golden(GOLDEN, parts=(part,)))
    assert results
    assert [r for r in results if r.ratio != 0] == []


def test_every_vision_array_is_within_its_tolerance() -> None:
    results = list(check_golden(GOLDEN, parts=("vision",)))
    stored = {n for n in np.load(GOLDEN / "vision.npz") if not n.endswith("rows_fp32pix")}  # ours are BF16 pixels
    assert {r.name.partition(":")[2] for r in results} == stored
    assert [(r.name, r.ratio) for r in results if r.ratio > 1] == []


def test_every_decoder_array_is_within_its_tolerance_and_tokens_are_equal() -> None:
    results = list(check_golden(GOLDEN, parts=("decoder",)))
    names = {r.name.partition(":")[2] for r in results}
    stored = {
        n
        for n in np.load(GOLDEN / "decoder.npz")
        if n.partition("/")[2] not in ("input_ids", "image_mask", "hidden_steps")
    }
    assert stored <= names
    assert [(r.name, r.ratio, r.note) for r in results if r.ratio > 1] == []


@pytest.mark.parametrize(
    ("profile", "precision", "bound"),
    [("f16", "exact", 300), ("f32", "fast", 300), ("q8", "exact", 30_000), ("q8", "fast", 30_000)],
)
def test_other_precisions_stay_within_their_scale(profile: str, precision: str, bound: float) -> None:
    """Half precision in the reference code lands at 240 tolerances, bfloat16 at 1960; 8-bit weights further out."""
    ratios = [
        r.ratio
        for r in check_golden(GOLDEN, profile=profile, precision=precision, parts=("decoder",))
        if r.network and "idx" not in r.name
    ]
    assert 0 < max(ratios) < bound


def test_a_changed_weight_is_noticed(tmp_path: Path) -> None:
    """One RMS epsilon of 1e-5 instead of 1e-6 lands 62 tolerances away: the check has teeth."""
    folder = tmp_path / "golden"
    shutil.copytree(GOLDEN, folder)
    config = folder / "model" / "config.json"
    values = json.loads(config.read_text())
    values["golden_extra"]["rms_norm_eps"] = 1e-5
    config.write_text(json.dumps(values))
    assert max(r.ratio for r in check_golden(folder, parts=("decoder",))) > 10


def test_a_folder_that_is_no_golden_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no golden set"):
        next(check_golden(tmp_path))
