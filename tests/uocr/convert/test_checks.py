"""A checkpoint that does not fit its config, or is damaged, is refused in a sentence; nothing is written."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from checkpoint_files import Make, Tensors, widen
from uocr.convert import convert_checkpoint
from uocr.convert.dialects import read_config
from uocr.convert.random_full import PUBLISHED_CONFIG
from uocr.convert.tensors import stored_tensors, unused_tensors
from uocr.errors import ConversionError
from uocr.modelfile import ModelFile

Q_PROJ = "model.layers.0.self_attn.q_proj.weight"
UNUSED = "model.vision_model.embeddings.patch_embedding.weight"


def refusal(folder: Path) -> str:
    """The words with which a conversion is refused; nothing is left beside the checkpoint."""
    target = folder.parent / "refused.uocr"
    with pytest.raises(ConversionError) as caught:
        convert_checkpoint(folder, target, "q8")
    assert not target.exists() and not target.with_name("refused.uocr.partial").exists()
    return str(caught.value)


def test_the_published_network_has_2710_tensors_and_its_parameters() -> None:
    config = read_config(PUBLISHED_CONFIG).config
    specs = stored_tensors(config)
    shapes = [spec.source_shape for spec in specs for _ in spec.sources]
    shapes += [unused.source_shape for unused in unused_tensors(config)]
    assert len(shapes) == 2710
    assert sum(int(np.prod(shape, dtype=np.int64)) for shape in shapes) == 3_336_106_240
    assert len(specs) == len({spec.name for spec in specs})


@pytest.mark.parametrize("name", [Q_PROJ, "lm_head.weight", "model.layers.3.mlp.experts.7.down_proj.weight",
                                  "model.view_seperator", "model.sam_model.blocks.3.attn.rel_pos_w"])
def test_a_missing_tensor_is_named_with_its_shape(checkpoint: Make, golden_tensors: Tensors,
                                                  name: str) -> None:
    words = refusal(checkpoint(drop=(name,)))
    assert f"the tensor {name} of shape {list(golden_tensors[name].shape)} is missing" in words


def test_a_wrong_shape_is_named_with_both_shapes(checkpoint: Make, golden_tensors: Tensors) -> None:
    words = refusal(checkpoint({Q_PROJ: golden_tensors[Q_PROJ][:-1].copy()}))
    assert f"the tensor {Q_PROJ} has the shape [127, 128], config.json asks for [128, 128]" in words


def test_an_extra_tensor_is_named(checkpoint: Make) -> None:
    words = refusal(checkpoint({"model.layers.4.mlp.gate.weight": np.zeros((8, 128), np.float32)}))
    assert "the tensor model.layers.4.mlp.gate.weight of shape [8, 128] has no place in this network" in words


def test_two_separators_are_refused(checkpoint: Make, golden_tensors: Tensors) -> None:
    words = refusal(checkpoint({"model.view_separator": golden_tensors["model.view_seperator"]}))
    assert "holds both model.view_seperator and model.view_separator" in words


def test_names_from_inside_transformers_are_told_apart(checkpoint: Make, golden_tensors: Tensors) -> None:
    renamed = {"model.language_model.norm.weight": golden_tensors["model.norm.weight"]}
    words = refusal(checkpoint(renamed, drop=("model.norm.weight",)))
    assert "the names that transformers uses inside; save the model again" in words


def test_the_unused_convolution_may_be_absent_but_not_misshapen(checkpoint: Make, tmp_path: Path) -> None:
    folder = checkpoint(drop=(UNUSED,))
    assert convert_checkpoint(folder, tmp_path / "m.uocr", "q4").source_tensors == 225
    shutil.rmtree(folder)
    words = refusal(checkpoint({UNUSED: np.zeros((128, 3, 16, 16), np.float32)}))
    assert f"{UNUSED} has the shape [128, 3, 16, 16], config.json asks for [128, 3, 14, 14]" in words


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", [Q_PROJ, "model.norm.weight", "model.sam_model.pos_embed"])
def test_a_value_that_is_not_finite_is_refused(checkpoint: Make, golden_tensors: Tensors, name: str,
                                               value: float) -> None:
    changed = widen(golden_tensors[name]).copy()
    changed.flat[-1] = value
    words = refusal(checkpoint({name: changed}))
    assert f"the tensor {name.removeprefix('model.')} holds an infinite value or NaN" in words


def test_integer_weights_are_refused(checkpoint: Make) -> None:
    words = refusal(checkpoint({"model.norm.weight": np.zeros(128, np.int64)}))
    assert "the tensor model.norm.weight has the type I64; BF16, F16 and F32 can be converted" in words


class TestDamagedFiles:
    def test_a_file_cut_short_names_the_tensor(self, checkpoint: Make) -> None:
        folder = checkpoint()
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-1000])
        words = refusal(folder)
        assert f"{path} has {path.stat().st_size} bytes, but the tensor" in words
        assert "it is cut short" in words

    @pytest.mark.parametrize("data", [
        b"", b"abc", struct.pack("<Q", 1 << 60) + b"{}", struct.pack("<Q", 5) + b"{]{]{",
        struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 40000) + b"[" * 40000])
    def test_a_file_that_is_no_safetensors_is_refused(self, checkpoint: Make, data: bytes) -> None:
        folder = checkpoint()
        (folder / "model.safetensors").write_bytes(data)
        assert "no safetensors file" in refusal(folder)

    @pytest.mark.parametrize("entry", [
        {}, [], None, {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": "x", "data_offsets": [0, 4]},
        {"dtype": [], "shape": [1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1], "data_offsets": [0]},
        {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]}])
    def test_a_damaged_header_entry_is_refused(self, checkpoint: Make, entry: object) -> None:
        folder = checkpoint()
        head = json.dumps({"x": entry}).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + bytes(64))
        assert "the tensor x" in refusal(folder)

    def test_a_size_that_contradicts_the_shape_is_refused(self, checkpoint: Make) -> None:
        folder = checkpoint()
        head = json.dumps({"x": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 4]}}).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + bytes(64))
        assert "has 4 bytes, needs" in refusal(folder)

    def test_an_index_that_names_a_missing_shard_is_refused(self, checkpoint: Make) -> None:
        folder = checkpoint()
        index = {"weight_map": {"x": "b.safetensors"}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        assert "b.safetensors is missing" in refusal(folder)

    @pytest.mark.parametrize("place", ["../model.safetensors", "/etc/passwd", "model.bin"])
    def test_an_index_cannot_leave_the_folder(self, checkpoint: Make, place: str) -> None:
        folder = checkpoint()
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": place}}))
        assert "no .safetensors file of this folder" in refusal(folder)

    def test_an_index_that_promises_more_than_the_file_holds_is_refused(self, checkpoint: Make) -> None:
        folder = checkpoint()
        (folder / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": {"lm_head.weight": "model.safetensors", "ghost": "model.safetensors"}}))
        assert "does not hold the tensor ghost" in refusal(folder)


class TestFolders:
    def test_no_folder(self, tmp_path: Path) -> None:
        assert "is no folder with a checkpoint" in refusal(tmp_path / "nothing")

    def test_no_config(self, checkpoint: Make) -> None:
        folder = checkpoint()
        (folder / "config.json").unlink()
        assert "config.json is missing" in refusal(folder)

    @pytest.mark.parametrize("text", ["", "{", "[1]", "\xff", "[" * 100000])
    def test_config_that_is_no_json_object(self, checkpoint: Make, text: str) -> None:
        folder = checkpoint()
        (folder / "config.json").write_text(text, "latin-1")
        assert "config.json" in refusal(folder)

    def test_no_weights(self, checkpoint: Make) -> None:
        folder = checkpoint()
        (folder / "model.safetensors").unlink()
        assert "holds no .safetensors file" in refusal(folder)

    def test_unknown_profile(self, golden: Path, tmp_path: Path) -> None:
        with pytest.raises(ConversionError, match="'q5' is unknown; choose one of f32, f16, q8, q4"):
            convert_checkpoint(golden, tmp_path / "m.uocr", "q5")


class TestTokenizer:
    @pytest.mark.parametrize(("tokenizer", "usable"), [
        ("{}", 512),
        ('{"model": {"vocab": {"a": 0, "b": 9}}, "added_tokens": [{"id": 300, "content": "x"}]}', 301),
        ('{"model": {"vocab": {"a": 0, "b": 411}}, "added_tokens": []}', 412),
    ])
    def test_the_highest_id_bounds_what_can_be_emitted(self, checkpoint: Make, tmp_path: Path, tokenizer: str,
                                                       usable: int) -> None:
        folder = checkpoint()
        (folder / "tokenizer.json").write_text(tokenizer)
        convert_checkpoint(folder, tmp_path / "m.uocr", "q4")
        with ModelFile.open(tmp_path / "m.uocr") as model:
            assert model.config.usable_vocab == usable
            assert model.tokenizer_json == tokenizer.encode()

    @pytest.mark.parametrize(("tokenizer", "words"), [
        ("[]", "tokenizer.json cannot be used"), ("{", "tokenizer.json cannot be used"),
        (json.dumps({"added_tokens": [{"id": -1}]}), "an id that is no whole number"),
        (json.dumps({"model": {"vocab": {"a": "7"}}}), "an id that is no whole number"),
        (json.dumps({"added_tokens": [{"id": 512}]}), "usable_vocab 513 is above vocab_size 512"),
    ])
    def test_a_tokenizer_that_does_not_fit_is_refused(self, checkpoint: Make, tokenizer: str,
                                                      words: str) -> None:
        folder = checkpoint()
        (folder / "tokenizer.json").write_text(tokenizer)
        assert words in refusal(folder)
