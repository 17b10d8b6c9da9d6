"""Which type each tensor takes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from uocr.convert import convert_checkpoint
from uocr.convert.dialects import read_config
from uocr.convert.policy import FOLLOWS, POLICY, WIDTH, Choice, choose
from uocr.convert.random_full import PUBLISHED_CONFIG
from uocr.convert.tensors import stored_tensors
from uocr.errors import ConversionError
from uocr.modelfile import PROFILES, ModelFile, payload_bytes

F32, F16, Q8, Q4 = PROFILES


@pytest.mark.parametrize(("name", "shape", "types"), [
    ("embed_tokens.weight", (512, 128), (F32, F16, Q8, Q4)),
    ("lm_head.weight", (512, 128), (F32, F16, Q8, Q4)),
    ("norm.weight", (128,), (F32, F32, F32, F32)),
    ("layers.3.input_layernorm.weight", (128,), (F32, F32, F32, F32)),
    ("layers.3.self_attn.k_proj.weight", (128, 128), (F32, F16, Q8, Q8)),
    ("layers.0.mlp.up_proj.weight", (384, 128), (F32, F16, Q8, Q4)),
    ("layers.3.mlp.gate.weight", (8, 128), (F32, F16, F16, F16)),
    ("layers.3.mlp.shared_experts.down_proj.weight", (128, 128), (F32, F16, Q8, Q4)),
    ("layers.3.mlp.experts.gate_proj.weight", (8, 64, 128), (F32, F16, Q8, Q4)),
    ("projector.layers.weight", (128, 256), (F32, F16, Q8, Q8)),
    ("projector.layers.bias", (128,), (F32, F32, F32, F32)),
    ("image_newline", (128,), (F32, F32, F32, F32)),
    ("sam_model.pos_embed", (64, 64, 128), (F32, F16, F16, F16)),
    ("sam_model.patch_embed.proj.weight", (128, 16, 16, 3), (F32, F16, F16, F16)),
    ("sam_model.neck.1.weight", (64,), (F32, F32, F32, F32)),
    ("sam_model.neck.2.weight", (64, 3, 3, 64), (F32, F16, F16, F16)),
    ("sam_model.net_3.weight", (128, 3, 3, 128), (F32, F16, F16, F16)),
    ("sam_model.blocks.1.norm2.weight", (128,), (F32, F32, F32, F32)),
    ("sam_model.blocks.1.attn.rel_pos_h", (127, 64), (F32, F16, F16, F16)),
    ("sam_model.blocks.1.attn.qkv.weight", (384, 128), (F32, F16, Q8, Q8)),
    ("vision_model.embeddings.class_embedding", (128,), (F32, F32, F32, F32)),
    ("vision_model.embeddings.position_embedding.weight", (257, 128), (F32, F16, F16, F16)),
    ("vision_model.pre_layrnorm.weight", (128,), (F32, F32, F32, F32)),
    ("vision_model.transformer.layers.1.mlp.fc2.weight", (128, 512), (F32, F16, Q8, Q8)),
])
def test_types_by_profile(name: str, shape: tuple[int, ...], types: tuple[str, ...]) -> None:
    assert tuple(choose(name, shape, profile).dtype for profile in PROFILES) == types


@pytest.mark.parametrize(("name", "published", "built_in"), [
    ("lm_head.weight", Q4, Q8),
    ("layers.0.mlp.down_proj.weight", Q4, Q8),
    ("layers.3.mlp.shared_experts.up_proj.weight", Q4, Q8),
    ("layers.3.mlp.experts.up_proj.weight", Q4, Q4),
    ("layers.2.mlp.experts.down_proj.weight", Q4, Q4),
    ("layers.3.mlp.experts.down_proj.weight", Q4, Q8),
    ("layers.4.mlp.experts.down_proj.weight", Q4, Q8),
    ("embed_tokens.weight", Q4, Q8),
    ("vision_model.transformer.layers.1.mlp.fc2.weight", Q8, Q4),
    ("sam_model.blocks.1.attn.qkv.weight", Q8, Q8),
])
def test_the_built_in_model_has_q4_rules_of_its_own(name: str, published: str, built_in: str) -> None:
    shape = (128, 128)
    assert choose(name, shape, "q4", dialect="upstream").dtype == published
    assert choose(name, shape, "q4", dialect="built-in").dtype == built_in
    for profile in (F32, F16, Q8):
        assert choose(name, shape, profile, dialect="built-in") == choose(name, shape, profile)


def test_the_reason_is_given_when_the_profile_is_not_followed() -> None:
    assert choose("lm_head.weight", (512, 128), "q4") == Choice("q4", FOLLOWS)
    assert choose("layers.0.self_attn.q_proj.weight", (128, 128), "q4") == Choice("q8", POLICY)
    assert choose("layers.0.mlp.down_proj.weight", (64, 96), "q4") == Choice("f16", WIDTH)
    assert choose("norm.weight", (128,), "f32") == Choice("f32", FOLLOWS)


def test_a_tensor_without_a_rule_is_an_error() -> None:
    with pytest.raises(ConversionError, match="no rule of the type policy matches the tensor surprise"):
        choose("surprise.weight", (64, 64), "q8")


@pytest.mark.parametrize(("profile", "payload", "counts"), [
    # 480,000 values in vectors, 11,677,184 in 16 bit, 3,323,346,944 in matrices, 2,855,157,760 of them for q4
    ("f32", 13_342_016_512, {F32: 630}),
    ("f16", 6_671_968_256, {F32: 324, F16: 306}),
    ("q8", 3_452_475_904, {F32: 324, F16: 42, Q8: 264}),
    ("q4", 2_024_897_024, {F32: 324, F16: 42, Q8: 193, Q4: 71}),
])
def test_the_published_network_in_bytes(profile: str, payload: int, counts: dict[str, int]) -> None:
    specs = stored_tensors(read_config(PUBLISHED_CONFIG).config)
    chosen = [(choose(spec.name, spec.shape, profile).dtype, spec.shape) for spec in specs]
    assert Counter(dtype for dtype, _ in chosen) == counts
    assert sum(sum(payload_bytes(dtype, shape)) for dtype, shape in chosen) == payload


def test_types_asked_for_go_before_the_policy_and_the_first_match_wins() -> None:
    asked = {"layers.1.*": "q4", "layers.*": "f16"}
    assert choose("layers.1.self_attn.q_proj.weight", (128, 128), "q8", asked) == Choice("q4", POLICY)
    assert choose("layers.2.self_attn.q_proj.weight", (128, 128), "q8", asked) == Choice("f16", POLICY)
    assert choose("lm_head.weight", (512, 128), "q8", asked) == Choice("q8", FOLLOWS)
    assert choose("layers.1.mlp.down_proj.weight", (64, 96), "q8", asked) == Choice("f16", WIDTH)
    with pytest.raises(ConversionError, match="the type 'q5' is unknown"):
        choose("lm_head.weight", (512, 128), "q8", {"*": "q5"})


def test_a_file_with_types_asked_for_says_so(golden: Path, tmp_path: Path) -> None:
    target = tmp_path / "mixed.uocr"
    convert_checkpoint(golden, target, "f32", types={"lm_head.weight": "q4"})
    with ModelFile.open(target) as file:
        assert file.tensors["lm_head.weight"].dtype == "q4"
        assert {t.dtype for name, t in file.tensors.items() if name != "lm_head.weight"} == {"f32"}
        assert file.provenance["types"] == {"lm_head.weight": "q4"}
