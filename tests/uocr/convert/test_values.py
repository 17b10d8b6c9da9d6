"""Numbers keep their value, place and order on the way from a checkpoint to a model file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from checkpoint_files import Make, Tensors, save_safetensors, widen
from uocr.convert import convert_checkpoint
from uocr.modelfile import PROFILES, ModelFile

CONVS = ("patch_embed.proj.weight", "neck.0.weight", "neck.2.weight", "net_2.weight", "net_3.weight")


def expected(tensors: Tensors, name: str) -> np.ndarray:
    """What the stored tensor ``name`` must hold, from the checkpoint's numbers."""
    if ".mlp.experts." in name:
        layer, part = name.split(".mlp.experts.")
        return np.stack([widen(tensors[f"model.{layer}.mlp.experts.{e}.{part}"]) for e in range(8)])
    if name == "view_separator":
        return widen(tensors["model.view_seperator"])
    values = widen(tensors[name if name == "lm_head.weight" else "model." + name])
    if name.endswith(CONVS):
        return values.transpose(0, 2, 3, 1)
    return values[0] if name == "sam_model.pos_embed" else values


def test_f32_profile_keeps_every_value_exactly(converted: Make, golden_tensors: Tensors) -> None:
    with ModelFile.open(converted("f32")) as model:
        assert len(model.tensors) == 162
        for name in model.tensors:
            np.testing.assert_array_equal(model.tensor(name), expected(golden_tensors, name), err_msg=name)


# relative rms error of a whole tensor: f16 has 11 bits, q8 steps of 1/127 and q4 of 1/8 of a group's peak
@pytest.mark.parametrize(("profile", "bounds"), [
    ("f16", {"f32": 0.0, "f16": 1e-6}),
    ("q8", {"f32": 0.0, "f16": 1e-6, "q8": 0.01}),
    ("q4", {"f32": 0.0, "f16": 1e-6, "q8": 0.01, "q4": 0.11}),
])
def test_narrow_profiles_stay_close(converted: Make, golden_tensors: Tensors, profile: str,
                                    bounds: dict[str, float]) -> None:
    with ModelFile.open(converted(profile)) as model:
        assert {info.dtype for info in model.tensors.values()} == set(bounds)
        for name, info in model.tensors.items():
            right = expected(golden_tensors, name)
            assert info.shape == right.shape
            error = np.sqrt(np.mean((model.tensor(name) - right) ** 2)) / np.sqrt(np.mean(right**2) + 1e-30)
            assert error <= bounds[info.dtype], (name, error)


def test_experts_of_a_layer_lie_one_after_the_other(converted: Make) -> None:
    with ModelFile.open(converted("q4")) as model:
        end = 0
        for part in ("gate", "up", "down"):
            info = model.tensors[f"layers.2.mlp.experts.{part}_proj.weight"]
            assert end == 0 or 0 <= info.offset - end < 128
            end = info.scale_offset + info.scale_size


def test_sections_and_payloads_are_aligned_and_grouped(converted: Make) -> None:
    with ModelFile.open(converted("q8")) as model:
        assert [s.kind for s in model.sections] == [1, 2, 3, 4, 5] + [16] * 16
        assert [s.group for s in model.sections[5:]] == [
            0, 1, 2, 100, 101, 102, 103, 1000, 1001, 1002, 1003, 1004, 2000, 2001, 2002, 2003]
        assert all(s.offset % 16384 == 0 for s in model.sections)
        assert all(t.offset % 128 == 0 and t.scale_offset % 128 == 0 for t in model.tensors.values())
        assert model.path.stat().st_size % 16384 == 0
        groups = {name: model.sections[t.section].group for name, t in model.tensors.items()}
    assert groups["embed_tokens.weight"] == 0
    assert groups["norm.weight"] == groups["lm_head.weight"] == 1
    assert groups["view_separator"] == groups["projector.layers.bias"] == 2
    assert groups["layers.3.mlp.gate.weight"] == 103
    assert groups["sam_model.net_3.weight"] == 1000
    assert groups["sam_model.blocks.3.attn.rel_pos_h"] == 1004
    assert groups["vision_model.pre_layrnorm.weight"] == 2000
    assert groups["vision_model.transformer.layers.2.mlp.fc2.bias"] == 2003


@pytest.mark.parametrize("profile", PROFILES)
def test_equal_checkpoints_give_equal_bytes(converted: Make, golden: Path, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch, profile: str) -> None:
    monkeypatch.setattr("uocr.convert.pipeline.BLOCK", 3000)  # other cuts through the rows, same bytes
    shutil.copytree(golden, tmp_path / "elsewhere")
    convert_checkpoint(tmp_path / "elsewhere", tmp_path / "again.uocr", profile)
    assert (tmp_path / "again.uocr").read_bytes() == converted(profile).read_bytes()


@pytest.mark.parametrize("wider", ["float16", "float32"])
def test_f16_and_f32_checkpoints_convert_too(checkpoint: Make, golden_tensors: Tensors, tmp_path: Path,
                                             wider: str) -> None:
    some = {name: widen(array).astype(wider) for name, array in golden_tensors.items() if "layers.1." in name}
    convert_checkpoint(checkpoint(some), tmp_path / "wide.uocr", "f32")
    with ModelFile.open(tmp_path / "wide.uocr") as model:
        for name in ("layers.1.mlp.gate.weight", "layers.1.self_attn.q_proj.weight"):
            np.testing.assert_array_equal(model.tensor(name), some["model." + name].astype(np.float32))


def test_both_spellings_of_the_separator_give_one_tensor(checkpoint: Make, tmp_path: Path, converted: Make,
                                                         golden_tensors: Tensors) -> None:
    renamed = {"model.view_separator": golden_tensors["model.view_seperator"]}
    folder = checkpoint(renamed, drop=("model.view_seperator",))
    report = convert_checkpoint(folder, tmp_path / "m.uocr", "q8")
    with ModelFile.open(converted("q8")) as model:
        assert report.model_id == model.model_id.hex()


def test_a_checkpoint_in_shards_gives_the_same_weights(golden: Path, golden_tensors: Tensors, tmp_path: Path,
                                                       converted: Make) -> None:
    folder = tmp_path / "shards"
    folder.mkdir()
    shutil.copy(golden / "config.json", folder)
    names = sorted(golden_tensors)
    places = {name: f"model-{1 + i % 3:05}-of-00003.safetensors" for i, name in enumerate(names)}
    for file in set(places.values()):
        save_safetensors(folder / file, {n: golden_tensors[n] for n in names if places[n] == file})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    report = convert_checkpoint(folder, tmp_path / "m.uocr", "q4")
    with ModelFile.open(converted("q4")) as model:
        assert report.model_id == model.model_id.hex()


def test_provenance_names_every_source_file(converted: Make) -> None:
    with ModelFile.open(converted("q8")) as model:
        assert model.provenance["source_tensors"] == 226
        assert model.provenance["dialect"] == "golden_extra"
        assert model.provenance["files"]["model-00001-of-000001.safetensors"] == {
            "bytes": 7506184, "sha256": "6df9b6b7355140abd0e0fe901009ee2aea5bc0df5958d8ab385088fd331941b1"}
        assert set(model.provenance["files"]) == {"config.json", "model-00001-of-000001.safetensors"}


class TestRange:
    """Values that 16 bits cannot hold."""

    def test_a_tensor_beyond_f16_stays_f32_and_is_reported(self, checkpoint: Make, tmp_path: Path,
                                                           golden_tensors: Tensors) -> None:
        name = "model.sam_model.neck.2.weight"
        changed = widen(golden_tensors[name]).copy()
        changed[0, 0, 0, :2] = (70000.0, -1e6)
        report = convert_checkpoint(checkpoint({name: changed}), tmp_path / "m.uocr", "q8")
        (note,) = report.kept_f32
        assert (note.tensor, note.overflow, note.greatest) == ("sam_model.neck.2.weight", 2, 1e6)
        with ModelFile.open(tmp_path / "m.uocr") as model:
            info = model.tensors["sam_model.neck.2.weight"]
            assert (info.dtype, info.reason) == ("f32", 3)
            np.testing.assert_array_equal(model.tensor(info.name), changed.transpose(0, 2, 3, 1))

    def test_65519_fits_f16_and_65520_does_not(self, checkpoint: Make, tmp_path: Path,
                                               golden_tensors: Tensors) -> None:
        table = widen(golden_tensors["model.sam_model.blocks.0.attn.rel_pos_h"]).copy()
        other = table.copy()
        table[0, 0], other[0, 0] = 65519.0, 65520.0
        report = convert_checkpoint(checkpoint({"model.sam_model.blocks.0.attn.rel_pos_h": table,
                                                "model.sam_model.blocks.0.attn.rel_pos_w": other}),
                                    tmp_path / "m.uocr", "f16")
        assert [note.tensor for note in report.kept_f32] == ["sam_model.blocks.0.attn.rel_pos_w"]

    def test_a_quantised_tensor_whose_scale_leaves_f16_stays_f32(self, checkpoint: Make, tmp_path: Path,
                                                                 golden_tensors: Tensors) -> None:
        name = "model.layers.1.self_attn.q_proj.weight"
        changed = widen(golden_tensors[name]).copy()
        changed[3, 5] = 127 * 65520.0
        report = convert_checkpoint(checkpoint({name: changed}), tmp_path / "m.uocr", "q8")
        assert [note.tensor for note in report.kept_f32] == ["layers.1.self_attn.q_proj.weight"]
        with ModelFile.open(tmp_path / "m.uocr") as model:
            assert model.tensors["layers.1.self_attn.q_proj.weight"].reason == 3

    def test_small_values_are_counted(self, checkpoint: Make, tmp_path: Path) -> None:
        table = np.ones((27, 64), np.float32)
        table[0, :4] = (2.0**-25, -(2.0**-26), 2.0**-24, 2.0**-15)  # two round to 0, two lose bits
        table[1, 0] = 2.0**-14  # the least normal number
        report = convert_checkpoint(checkpoint({"model.sam_model.blocks.0.attn.rel_pos_h": table}),
                                    tmp_path / "m.uocr", "q8")
        (note,) = [n for n in report.lossy if n.tensor == "sam_model.blocks.0.attn.rel_pos_h"]
        assert (note.flushed, note.subnormal, note.overflow) == (2, 2, 0)
