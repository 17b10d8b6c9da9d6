"""The built-in model as it stands in the repository."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from uocr.modelfile import ModelFile

from training.pages import GRIDS

BUILT_IN = Path(__file__).parents[3] / "resources" / "models" / "built-in.uocr"


@pytest.fixture(scope="module")
def model() -> ModelFile:
    return ModelFile.open(BUILT_IN)


def test_it_is_whole_and_small(model: ModelFile) -> None:
    model.verify()
    assert BUILT_IN.stat().st_size <= 32 << 20
    assert model.profile == "q8"
    assert Counter(t.dtype for t in model.tensors.values()) == {"f32": 104, "f16": 24, "q8": 100}


def test_convolutions_and_positions_have_16_bits(model: ModelFile) -> None:
    for name in ("sam_model.net_2.weight", "sam_model.patch_embed.proj.weight", "sam_model.pos_embed",
                 "vision_model.embeddings.position_embedding.weight", "sam_model.blocks.0.attn.rel_pos_h"):
        assert (model.tensors[name].dtype, model.tensors[name].reason) == ("f16", 2)


def test_it_says_what_it_reads_and_how_to_ask(model: ModelFile) -> None:
    settings = model.front_end
    assert settings["prompt_ids"] == [70, 403, 903, 386, 85, 343, 16]
    assert (settings["trained_presets"], settings["default_preset"]) == (["base", "gundam"], "gundam")
    assert settings["prompts"]["multi"] == "<image>Multi page parsing."
    if settings["multi_page"]:
        assert settings["multi_page_most"] == 4
    locate = settings["prompts"].get("locate")
    assert locate in (None, "<image>Locate <|ref|>{words}<|/ref|> in the image.")
    if locate:
        assert settings["locate_most"] == 60
    assert {(2, 3), (3, 4)} <= set(map(tuple, settings["crop_grids"])) <= set(GRIDS)
    assert settings["digits"] == "single" and settings["plain_text"] is True
    assert settings["integer_activations"] is False
    assert settings["min_font_px"] == 17
    assert settings["confidence_threshold"] == 0.89
    assert settings["read_again_below"] == 0.8
    assert settings["ngram"] == {"size": 35, "cycle": 16, "window": 128, "window_multi": 1024}
    assert settings["languages"] == ["en", "it", "de", "es", "pt", "fr", "nl", "sv", "da", "pl", "cs", "hu"]


def test_its_shapes_and_ids(model: ModelFile) -> None:
    config = model.config
    assert (config.vocab_size, config.usable_vocab, config.image_id) == (2048, 2048, 2035)
    assert (config.bos_id, config.eos_id, config.pad_id) == (0, 1, 2)
    assert (config.hidden_size, config.num_hidden_layers, config.head_dim, config.n_routed_experts) == (
        256, 6, 64, 16)
    assert (config.sam_width, config.sam_neck, config.sam_net2, config.sam_net3) == (256, 128, 192, 256)
    assert config.global_blocks == (2, 5)


def test_its_tokenizer_is_inside(model: ModelFile) -> None:
    tokenizer = json.loads(model.tokenizer_json)
    assert {t["content"]: t["id"] for t in tokenizer["added_tokens"]}["<image>"] == 2035
