"""Random weights in the full published shapes, for benchmarks and for tests of memory and speed.

``write_random_checkpoint`` writes a checkpoint folder (BF16, 6.7 GB in full shapes) to convert;
``write_random_model`` writes a model file at once, drawing codes and scales instead of quantising. Weights
have a standard deviation of about 0.02, norms are 1 and biases 0, so that activations stay finite. Equal
seeds give equal bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from uocr.convert import front_end as front
from uocr.convert.dialects import read_config
from uocr.convert.policy import choose
from uocr.convert.tensors import TensorSpec, stored_tensors, unused_tensors
from uocr.convert.writer import Encoded, Metadata, ModelWriter, check_space
from uocr.modelfile import GROUP, Progress, payload_bytes

STANDARD_DEVIATION = 0.02
USABLE_VOCAB = 128827  # ids that the published tokenizer knows
_BLOCK = 1 << 22  # elements that are drawn at a time
# standard deviation of codes drawn evenly from -127..127 and from -8..7
_SPREAD = {"q8": math.sqrt((255**2 - 1) / 12), "q4": math.sqrt((16**2 - 1) / 12)}

_DECODER: dict[str, Any] = {
    "vocab_size": 129280, "hidden_size": 1280, "num_hidden_layers": 12, "num_attention_heads": 10,
    "num_key_value_heads": 10, "v_head_dim": 128, "intermediate_size": 6848, "moe_intermediate_size": 896,
    "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
    "n_group": 1, "topk_group": 1, "topk_method": "greedy", "use_mla": False, "q_lora_rank": None,
    "kv_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "max_position_embeddings": 32768,
    "sliding_window_size": 128, "bos_token_id": 0, "eos_token_id": 1,
}
PUBLISHED_CONFIG: dict[str, Any] = {
    **_DECODER,
    "model_type": "unlimited-ocr", "architectures": ["UnlimitedOCRForCausalLM"], "torch_dtype": "bfloat16",
    "sliding_window": 128, "language_config": _DECODER,
    "projector_config": {"projector_type": "linear", "input_dim": 2048, "n_embed": 1280},
    "vision_config": {"image_size": 1024, "width": {
        "sam_vit_b": {"width": 768, "layers": 12, "heads": 12, "global_attn_indexes": [2, 5, 8, 11],
                      "downsample_channels": [512, 1024]},
        "clip-l-14-224": {"width": 1024, "layers": 24, "heads": 16, "image_size": 224, "patch_size": 14},
    }},
}
"""config.json of the published checkpoint, as far as it says anything of the network."""


def write_random_model(dst: Path, profile: str, seed: int = 0, *,
                       config: Mapping[str, Any] = PUBLISHED_CONFIG, overwrite: bool = False,
                       progress: Progress | None = None) -> tuple[int, str]:
    """Write a model file of random weights in the shapes of ``config``; its bytes and model id in hex.

    ``progress`` hears bytes done and in total, first of writing, then of reading back.
    """
    dst = Path(dst)
    reading = read_config(config, USABLE_VOCAB if config is PUBLISHED_CONFIG else None)
    specs = stored_tensors(reading.config)
    choices = [choose(spec.name, spec.shape, profile) for spec in specs]
    sizes = [sum(payload_bytes(choice.dtype, spec.shape))
             for spec, choice in zip(specs, choices, strict=True)]
    check_space(dst, sum(sizes))
    settings = front.settings_for(reading.dialect, {"name": "random", "description": "Random weights."})
    metadata = Metadata(profile, reading.config, front.json_bytes(settings), b"{}",
                        front.json_bytes({"seed": seed, "random": True, "profile": profile}))
    draw = _Draw(seed)
    done = 0
    with ModelWriter(dst, specs, metadata, overwrite) as writer:
        for spec, choice, size in zip(specs, choices, sizes, strict=True):
            writer.tensor(spec, choice.dtype, choice.reason, draw.encoded(spec, choice.dtype))
            done += size
            if progress:
                progress(done, 2 * sum(sizes))
        return writer.finish(lambda read, _total: progress(done + read, 2 * done) if progress else None)


def write_random_checkpoint(folder: Path, seed: int = 0, *,
                            config: Mapping[str, Any] = PUBLISHED_CONFIG) -> int:
    """Write config.json, one BF16 safetensors file and its index to ``folder``; the bytes of the tensors."""
    folder.mkdir(parents=True, exist_ok=True)
    reading = read_config(config)
    shapes = {source: spec.source_shape for spec in stored_tensors(reading.config) for source in spec.sources}
    shapes |= {unused.source: unused.source_shape for unused in unused_tensors(reading.config)}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + 2 * math.prod(shape)]}
        end += 2 * math.prod(shape)
    check_space(folder / "config.json", end)
    head = json.dumps(header).encode()
    data_name = "model-00001-of-000001.safetensors"
    draw = _Draw(seed)
    with (folder / data_name).open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name, shape in shapes.items():
            for block in draw.blocks(name, math.prod(shape), "BF16"):
                file.write(block.data)
    index = {"metadata": {"total_size": end}, "weight_map": dict.fromkeys(shapes, data_name)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text(json.dumps(config))
    return end


class _Draw:
    """Draws weights block by block: 16 random bits choose one of 65,536 normal quantiles."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.Generator(np.random.SFC64(seed))
        normal = NormalDist(0.0, STANDARD_DEVIATION)
        table = np.array([normal.inv_cdf((i + 0.5) / 65536) for i in range(65536)], np.float32)
        self._tables: dict[str, np.ndarray] = {
            "f32": table, "f16": table.astype(np.float16), "BF16": _bf16(table)}

    def blocks(self, name: str, elements: int, kind: str) -> Iterator[np.ndarray]:
        """One tensor as flat blocks of float32, float16 or BF16 in uint16."""
        table = self._tables[kind]
        constant = _constant(name)
        for first in range(0, elements, _BLOCK):
            count = min(_BLOCK, elements - first)
            if constant is not None:
                value = np.full(count, constant, np.float32)
                yield _bf16(value) if kind == "BF16" else value.astype(table.dtype)
            else:
                yield table[np.frombuffer(self._random.bytes(2 * count), np.uint16)]

    def encoded(self, spec: TensorSpec, dtype: str) -> Iterator[Encoded]:
        """One stored tensor as blocks of codes and scales."""
        if dtype in ("f32", "f16"):
            for block in self.blocks(spec.name, spec.elements, dtype):
                yield block, None
            return
        scale = STANDARD_DEVIATION / _SPREAD[dtype]
        for first in range(0, spec.elements, _BLOCK):
            count = min(_BLOCK, spec.elements - first)
            scales = self._random.uniform(0.75, 1.25, count // GROUP).astype(np.float32) * np.float32(scale)
            if dtype == "q8":
                codes = np.maximum(np.frombuffer(self._random.bytes(count), np.int8), -127)
            else:
                codes = np.frombuffer(self._random.bytes(count // 2), np.uint8)
            yield codes, scales.astype("<f2")


def _constant(name: str) -> float | None:
    """The one value of a norm's weight or of a bias; None for tensors to draw."""
    if name.endswith(".bias"):
        return 0.0
    return 1.0 if "norm" in name or name.endswith(("neck.1.weight", "neck.3.weight")) else None


def _bf16(values: np.ndarray) -> np.ndarray:
    """Float32 to BF16 in uint16, rounded to nearest."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
