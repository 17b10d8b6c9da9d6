"""config.json in its four dialects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from uocr.convert.dialects import read_config
from uocr.convert.random_full import PUBLISHED_CONFIG
from uocr.errors import ConversionError
from uocr.modelconfig import ModelConfig

PUBLISHED = ModelConfig(
    vocab_size=129280, usable_vocab=129280, bos_id=0, eos_id=1, pad_id=2, image_id=128815, hidden_size=1280,
    num_hidden_layers=12, num_attention_heads=10, head_dim=128, intermediate_size=6848,
    moe_intermediate_size=896, n_routed_experts=64, num_experts_per_tok=6, n_shared_experts=2,
    first_k_dense_replace=1, max_position_embeddings=32768, sliding_window=128, norm_topk_prob=0,
    routed_scaling_factor=1.0, rope_theta=10000.0, rms_norm_eps=9.999999974752427e-07, sam_width=768,
    sam_blocks=12, sam_heads=12, sam_mlp=3072, sam_window=14, sam_patch=16, sam_grid=64, sam_neck=256,
    sam_net2=512, sam_net3=1024, sam_global_mask=0b100100100100, sam_ln_eps=9.999999974752427e-07,
    sam_neck_eps=9.999999974752427e-07, clip_width=1024, clip_layers=24, clip_heads=16, clip_mlp=4096,
    clip_positions=257, clip_ln_eps=9.999999747378752e-06, projector_input=2048)

# What transformers 5.24.0 writes for this network, without the keys that say nothing of it.
TRANSFORMERS: dict[str, Any] = {
    "model_type": "unlimited_ocr", "image_token_id": 128815, "tie_word_embeddings": False,
    "text_config": {
        "attention_bias": False, "bos_token_id": 0, "eos_token_id": 1, "head_dim": 128, "hidden_act": "silu",
        "hidden_size": 1280, "intermediate_size": 6848, "layer_types": ["reference_sliding_attention"] * 12,
        "max_position_embeddings": 32768, "mlp_bias": False, "mlp_layer_types": ["dense"] + ["sparse"] * 11,
        "moe_intermediate_size": 896, "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2,
        "num_attention_heads": 10, "num_experts_per_tok": 6, "num_hidden_layers": 12,
        "num_key_value_heads": 10, "pad_token_id": None, "rms_norm_eps": 1e-06,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "routed_scaling_factor": 1.0,
        "sliding_window": 128, "topk_group": 1, "topk_method": "greedy", "vocab_size": 129280},
    "vision_config": {
        "encoder_config": {
            "hidden_act": "quick_gelu", "hidden_size": 1024, "image_size": 224, "intermediate_size": 4096,
            "layer_norm_eps": 1e-05, "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14},
        "sam_config": {
            "downsample_channels": [512, 1024], "global_attn_indexes": [2, 5, 8, 11], "hidden_act": "gelu",
            "hidden_size": 768, "image_size": 1024, "layer_norm_eps": 1e-06, "mlp_dim": 3072,
            "num_attention_heads": 12, "num_hidden_layers": 12, "output_channels": 256, "patch_size": 16,
            "qkv_bias": True, "use_abs_pos": True, "use_rel_pos": True, "window_size": 14}},
}


SAM = "vision_config.width.sam_vit_b."


def changed(raw: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with one key set (or removed, with ``...``)."""
    copy = json.loads(json.dumps(raw))
    *way, last = path.split(".")
    place = copy
    for key in way:
        place = place.setdefault(key, {})
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return copy


def test_upstream_leaves_much_unsaid_and_means_the_published_network() -> None:
    reading = read_config(PUBLISHED_CONFIG)
    assert (reading.dialect, reading.config, reading.remarks) == ("upstream", PUBLISHED, [])


def test_transformers_says_the_same_in_other_words() -> None:
    reading = read_config(TRANSFORMERS)
    assert (reading.dialect, reading.config, reading.remarks) == ("transformers", PUBLISHED, [])


def test_transformers_may_count_dense_layers_by_either_key() -> None:
    two = changed(TRANSFORMERS, "text_config.mlp_layer_types", ["dense"] * 2 + ["sparse"] * 10)
    assert read_config(two).config.first_k_dense_replace == 2
    three = changed(TRANSFORMERS, "text_config.mlp_layer_types", ...)
    three = changed(three, "text_config.first_k_dense_replace", 3)
    assert read_config(three).config.first_k_dense_replace == 3


def test_golden_extra_spells_the_hard_coded_values_out(golden: Path) -> None:
    reading = read_config(json.loads((golden / "config.json").read_text()))
    config = reading.config
    assert reading.dialect == "golden_extra"
    assert (config.image_id, config.sam_neck, config.clip_mlp, config.head_dim) == (500, 64, 512, 64)
    assert (config.sam_net2, config.sam_net3, config.projector_input) == (128, 128, 256)
    assert config.global_blocks == (1, 3)


def test_built_in_has_explicit_keys() -> None:
    raw = changed(PUBLISHED_CONFIG, "image_token_id", 2035)
    raw = changed(raw, "pad_token_id", 5)
    raw = changed(raw, SAM + "out_chans", 128)
    raw = changed(raw, SAM + "window_size", 10)
    raw = changed(raw, "vision_config.width.clip-l-14-224.num_positions", 145)
    reading = read_config(raw, usable_vocab=2048)
    config = reading.config
    assert reading.dialect == "built-in"
    assert (config.image_id, config.pad_id, config.sam_neck, config.sam_window) == (2035, 5, 128, 10)
    assert (config.clip_positions, config.usable_vocab) == (145, 2048)


def test_the_stronger_key_wins_and_the_weaker_is_remarked() -> None:
    weaker = changed(PUBLISHED_CONFIG, "language_config.rope_theta", 5000.0)
    reading = read_config(changed(weaker, "rope_theta", 20000.0))
    assert reading.config.rope_theta == 20000.0
    assert reading.remarks == ["rope_theta = 20000.0 was taken, language_config.rope_theta = 5000.0 was not"]


def test_a_key_that_only_the_repeated_section_has_is_read() -> None:
    assert read_config(changed(PUBLISHED_CONFIG, "vocab_size", ...)).config == PUBLISHED


@pytest.mark.parametrize(("raw", "path", "value", "words"), [
    (PUBLISHED_CONFIG, "use_mla", True, "use_mla is True; latent attention is not supported"),
    (PUBLISHED_CONFIG, "scoring_func", "sigmoid", "scoring_func is 'sigmoid'"),
    (PUBLISHED_CONFIG, "topk_method", "noaux_tc", "topk_method is 'noaux_tc'"),
    (PUBLISHED_CONFIG, "num_key_value_heads", 2, "num_key_value_heads is 2, 10 attention heads need as many"),
    (PUBLISHED_CONFIG, "tie_word_embeddings", True, "tie_word_embeddings is True"),
    (PUBLISHED_CONFIG, "rope_scaling", {"type": "yarn"}, "rope_scaling is {'type': 'yarn'}"),
    (PUBLISHED_CONFIG, "projector_config.projector_type", "mlp_gelu", "another projector is not supported"),
    (PUBLISHED_CONFIG, "projector_config.input_dim", 2000, "input 2000 is not net_3 1024 + CLIP 1024"),
    (PUBLISHED_CONFIG, "hidden_size", "1280", "hidden_size is '1280', which is no usable value"),
    (PUBLISHED_CONFIG, "hidden_size", -1, "hidden_size is -1"),
    (PUBLISHED_CONFIG, "hidden_size", 10**12, "hidden_size is 1000000000000"),
    (PUBLISHED_CONFIG, "hidden_size", 10**6, "hidden_size is 1000000, allowed are 1 to 65536"),
    (PUBLISHED_CONFIG, "num_hidden_layers", 0, "num_hidden_layers is 0, allowed are 1 to 256"),
    (PUBLISHED_CONFIG, "num_experts_per_tok", 65, "num_experts_per_tok is 65, allowed are 1 to 64"),
    (PUBLISHED_CONFIG, "rms_norm_eps", float("nan"), "rms_norm_eps is nan"),
    (PUBLISHED_CONFIG, "head_dim", 64, "10 heads of 64 do not make hidden_size 1280"),
    (PUBLISHED_CONFIG, SAM + "global_attn_indexes", [2, 12], "global-attention index is not below"),
    (PUBLISHED_CONFIG, SAM + "downsample_channels", [512], "downsample_channels is [512], which is no"),
    (PUBLISHED_CONFIG, SAM + "heads", 7, "SAM width 768 is not a multiple of its 7 heads"),
    (TRANSFORMERS, "text_config.mlp_layer_types", ["sparse"] + ["dense"] * 11, "layer_types is not a run"),
    (TRANSFORMERS, "text_config.layer_types", ["full_attention"] * 12, "layer_types names another attention"),
    (TRANSFORMERS, "vision_config.encoder_config.hidden_act", "gelu", "another CLIP activation"),
    (TRANSFORMERS, "text_config.rope_parameters.rope_type", "linear", "scaled rotary positions"),
])
def test_what_the_engine_cannot_run_is_refused_by_name(raw: dict[str, Any], path: str, value: Any,
                                                       words: str) -> None:
    with pytest.raises(ConversionError) as caught:
        read_config(changed(raw, path, value))
    assert words in str(caught.value)


def test_a_foreign_config_is_refused() -> None:
    with pytest.raises(ConversionError, match="has no vocab_size; it is not an Unlimited-OCR checkpoint"):
        read_config({"model_type": "bert"})


def test_the_record_keeps_every_field() -> None:
    assert len(PUBLISHED.pack()) == 256
    assert ModelConfig.unpack(PUBLISHED.pack()) == PUBLISHED
