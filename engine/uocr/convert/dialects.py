"""config.json to ModelConfig, for the four dialects in which the shapes of this network are written.

upstream      the published checkpoint: language keys at top level and again under ``language_config``, vision
              widths under ``vision_config.width``; the rest is hard-coded in its program and stands here
golden_extra  the same, with the hard-coded values spelled out under ``golden_extra`` (reference vectors)
built-in      the same, with explicit keys for what upstream hard-codes
transformers  the transformers library's own layout: ``text_config``, ``vision_config.sam_config`` and
              ``vision_config.encoder_config``

``SOURCES`` is the one table of precedence: for each field the key paths in falling order, then the value that
upstream hard-codes. The first path that exists and is not null wins, whatever the dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from uocr.errors import ConversionError
from uocr.modelconfig import ModelConfig

_SAM = ("vision_config.width.sam_vit_b.", "vision_config.sam_config.")
_CLIP = ("vision_config.width.clip-l-14-224.", "vision_config.encoder_config.")

Values = dict[str, Any]
_REQUIRED = object()


def _text(*names: str) -> tuple[str, ...]:
    """Paths of a decoder key: golden_extra, top level, transformers' section, the repeated section."""
    return tuple(prefix + name for name in names
                 for prefix in ("golden_extra.", "", "text_config.", "language_config."))


def _clip_positions(values: Values) -> int:
    return (values["clip_image"] // values["clip_patch"]) ** 2 + 1


# field: (key paths in falling precedence, hard-coded value or a function of the fields before it)
SOURCES: dict[str, tuple[tuple[str, ...], Any | Callable[[Values], Any]]] = {
    "vocab_size": (_text("vocab_size"), _REQUIRED),
    "bos_id": (_text("bos_token_id"), 0),
    "eos_id": (_text("eos_token_id"), 1),
    "pad_id": (_text("pad_token_id"), 2),
    "image_id": (("golden_extra.image_token_id", "image_token_id"), 128815),
    "hidden_size": (_text("hidden_size"), _REQUIRED),
    "num_hidden_layers": (_text("num_hidden_layers"), _REQUIRED),
    "num_attention_heads": (_text("num_attention_heads"), _REQUIRED),
    "head_dim": (_text("head_dim"), lambda v: v["hidden_size"] // max(v["num_attention_heads"], 1)),
    "intermediate_size": (_text("intermediate_size"), _REQUIRED),
    "moe_intermediate_size": (_text("moe_intermediate_size"), _REQUIRED),
    "n_routed_experts": (_text("n_routed_experts", "num_experts"), _REQUIRED),
    "num_experts_per_tok": (_text("num_experts_per_tok"), _REQUIRED),
    "n_shared_experts": (_text("n_shared_experts"), _REQUIRED),
    "first_k_dense_replace": (_text("first_k_dense_replace"), 1),
    "max_position_embeddings": (_text("max_position_embeddings"), 32768),
    "sliding_window": (_text("sliding_window_size", "sliding_window"), 128),
    "norm_topk_prob": (_text("norm_topk_prob"), False),
    "routed_scaling_factor": (_text("routed_scaling_factor"), 1.0),
    "rope_theta": (_text("rope_theta", "rope_parameters.rope_theta"), 10000.0),
    "rms_norm_eps": (_text("rms_norm_eps"), 1e-6),
    "sam_width": ((_SAM[0] + "width", _SAM[1] + "hidden_size"), 768),
    "sam_blocks": ((_SAM[0] + "layers", _SAM[1] + "num_hidden_layers"), 12),
    "sam_heads": ((_SAM[0] + "heads", _SAM[1] + "num_attention_heads"), 12),
    "sam_mlp_ratio": (("golden_extra.sam_mlp_ratio",), 4),
    "sam_mlp": ((_SAM[0] + "mlp_dim", _SAM[1] + "mlp_dim"), lambda v: v["sam_mlp_ratio"] * v["sam_width"]),
    "sam_window": (("golden_extra.sam_window", _SAM[0] + "window_size", _SAM[1] + "window_size"), 14),
    "sam_patch": (("golden_extra.sam_patch", _SAM[0] + "patch_size", _SAM[1] + "patch_size"), 16),
    "sam_image": (("vision_config.image_size", _SAM[1] + "image_size"), 1024),
    "sam_grid": ((), lambda v: v["sam_image"] // max(v["sam_patch"], 1)),
    "sam_neck": (("golden_extra.sam_neck_channels", _SAM[0] + "out_chans", _SAM[1] + "output_channels"), 256),
    "sam_downsample": ((_SAM[0] + "downsample_channels", _SAM[1] + "downsample_channels"), [512, 1024]),
    "sam_net2": ((), lambda v: v["sam_downsample"][0]),
    "sam_net3": ((), lambda v: v["sam_downsample"][1]),
    "sam_global": ((_SAM[0] + "global_attn_indexes", _SAM[1] + "global_attn_indexes"), [2, 5, 8, 11]),
    "sam_global_mask": ((), lambda v: sum(1 << i for i in set(v["sam_global"]))),
    "sam_ln_eps": (("golden_extra.sam_ln_eps", _SAM[1] + "layer_norm_eps"), 1e-6),
    "sam_neck_eps": ((), 1e-6),
    "clip_width": ((_CLIP[0] + "width", _CLIP[1] + "hidden_size"), 1024),
    "clip_layers": ((_CLIP[0] + "layers", _CLIP[1] + "num_hidden_layers"), 24),
    "clip_heads": ((_CLIP[0] + "heads", _CLIP[1] + "num_attention_heads"), 16),
    "clip_mlp": (("golden_extra.clip_mlp", _CLIP[1] + "intermediate_size"), lambda v: 4 * v["clip_width"]),
    "clip_image": ((_CLIP[0] + "image_size", _CLIP[1] + "image_size"), 224),
    "clip_patch": ((_CLIP[0] + "patch_size", _CLIP[1] + "patch_size"), 14),
    "clip_positions": (("golden_extra.clip_positions", _CLIP[0] + "num_positions"), _clip_positions),
    "clip_ln_eps": (("golden_extra.clip_ln_eps", _CLIP[1] + "layer_norm_eps"), 1e-5),
    "projector_input": (("projector_config.input_dim",), lambda v: v["sam_net3"] + v["clip_width"]),
}
_HELPERS = ("sam_mlp_ratio", "sam_image", "sam_downsample", "sam_global", "clip_image", "clip_patch")
# fields that are lists: their length if it is fixed, and what every item must be below
_LISTS: dict[str, tuple[int | None, int]] = {"sam_downsample": (2, 1 << 20), "sam_global": (None, 64)}
_INTEGERS_MAX = 2**32 - 1

# Variants of the architecture family that the engine does not have: key paths, values that are fine, why not.
UNSUPPORTED: tuple[tuple[tuple[str, ...], tuple[Any, ...], str], ...] = (
    (_text("use_mla"), (False,), "latent attention"),
    (_text("scoring_func"), ("softmax",), "another router scoring"),
    (_text("topk_method"), ("greedy",), "grouped expert choice"),
    (_text("n_group"), (1,), "grouped expert choice"),
    (_text("hidden_act"), ("silu",), "another activation"),
    (_text("tie_word_embeddings"), (False,), "a shared output head"),
    (_text("attention_bias"), (False,), "attention biases"),
    (_text("mlp_bias"), (False,), "MLP biases"),
    (_text("moe_layer_freq"), (1,), "dense layers between expert layers"),
    (_text("rope_scaling"), (), "scaled rotary positions"),
    (_text("rope_parameters.rope_type"), ("default",), "scaled rotary positions"),
    (("projector_config.projector_type",), ("linear",), "another projector"),
    ((_SAM[1] + "hidden_act",), ("gelu",), "another SAM activation"),
    ((_CLIP[1] + "hidden_act",), ("quick_gelu",), "another CLIP activation"),
    ((_SAM[1] + "use_abs_pos", _SAM[1] + "use_rel_pos", _SAM[1] + "qkv_bias"), (True,), "another SAM"),
)


@dataclass(frozen=True)
class Reading:
    """What config.json says: its dialect, the config, and remarks on keys that lost to a stronger one."""

    dialect: str
    config: ModelConfig
    remarks: list[str] = field(default_factory=list)


def dialect_of(raw: Mapping[str, Any]) -> str:
    """Name of the dialect, by the key only that dialect has."""
    if "golden_extra" in raw:
        return "golden_extra"
    if any(_look_up(raw, key) is not None for key in ("text_config", "vision_config.sam_config")):
        return "transformers"
    if _look_up(raw, "vision_config.width.sam_vit_b.out_chans") is not None:
        return "built-in"
    return "upstream"


def read_config(raw: Mapping[str, Any], usable_vocab: int | None = None) -> Reading:
    """Take a parsed config.json apart.

    ``usable_vocab`` is the tokenizer's highest id plus one, None without a tokenizer. Raises ConversionError
    for a missing key, a wrong type, an unsupported variant or a value out of range.
    """
    _refuse_variants(raw)
    values: Values = {}
    remarks: list[str] = []
    for name, (paths, default) in SOURCES.items():
        found = [(path, value) for path in paths if (value := _look_up(raw, path)) is not None]
        if found:
            path, value = found[0]
            values[name] = _typed(name, path, value)
            remarks += [f"{path} = {value} was taken, {other} = {lost} was not"
                        for other, lost in found[1:] if lost != value]
        elif default is _REQUIRED:
            raise ConversionError(f"config.json has no {paths[1]}; it is not an Unlimited-OCR checkpoint.")
        else:
            values[name] = default(values) if callable(default) else default
    if _look_up(raw, "text_config.mlp_layer_types") is not None:
        values["first_k_dense_replace"] = _dense_layers(raw, values["num_hidden_layers"])
    _equal_heads(raw, values["num_attention_heads"])
    for helper in _HELPERS:
        del values[helper]
    values["usable_vocab"] = values["vocab_size"] if usable_vocab is None else usable_vocab
    values["norm_topk_prob"] = int(values["norm_topk_prob"])
    config = ModelConfig(**values)
    problem = config.problem()
    if problem:
        raise ConversionError(f"config.json: {problem}.")
    return Reading(dialect_of(raw), ModelConfig.unpack(config.pack()), remarks)


def _look_up(raw: Mapping[str, Any], path: str) -> Any:
    """Value at a dotted path, None if it or a part of the way is missing."""
    value: Any = raw
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _typed(name: str, path: str, value: Any) -> Any:
    """The value in the type of its field, or a ConversionError that names the key."""
    if name in _LISTS:
        length, limit = _LISTS[name]
        if (isinstance(value, list) and length in (None, len(value))
                and all(type(i) is int and 0 <= i < limit for i in value)):
            return value
    elif name == "norm_topk_prob":
        if isinstance(value, bool):
            return value
    elif name in ("routed_scaling_factor", "rope_theta") or name.endswith("_eps"):
        if type(value) in (int, float) and abs(value) < 3e38:
            return float(value)
    elif type(value) is int and 0 <= value <= _INTEGERS_MAX:
        return value
    raise ConversionError(f"config.json: {path} is {value!r}, which is no usable value.")


def _refuse_variants(raw: Mapping[str, Any]) -> None:
    for paths, fine, words in UNSUPPORTED:
        for path in paths:
            value = _look_up(raw, path)
            if value is not None and value not in fine:
                raise ConversionError(f"config.json: {path} is {value!r}; {words} is not supported.")
    kinds = _look_up(raw, "text_config.layer_types")
    if kinds is not None and kinds != ["reference_sliding_attention"] * len(kinds):
        raise ConversionError("config.json: text_config.layer_types names another attention than "
                              "reference_sliding_attention; that is not supported.")


def _dense_layers(raw: Mapping[str, Any], layers: int) -> int:
    """How many leading layers are dense, from transformers' list of layer kinds."""
    kinds = _look_up(raw, "text_config.mlp_layer_types")
    dense = kinds.count("dense") if isinstance(kinds, list) else -1
    if not isinstance(kinds, list) or kinds != ["dense"] * dense + ["sparse"] * (layers - dense):
        raise ConversionError("config.json: text_config.mlp_layer_types is not a run of dense layers "
                              "followed "
                              f"by sparse ones, {layers} in all.")
    return dense


def _equal_heads(raw: Mapping[str, Any], heads: int) -> None:
    for path in _text("num_key_value_heads"):
        value = _look_up(raw, path)
        if value is not None and value != heads:
            raise ConversionError(f"config.json: {path} is {value}, {heads} attention heads need as many; "
                                  "grouped key and value heads are not supported.")
