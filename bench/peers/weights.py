"""Random weights of the full published shapes as GGUF, for llama.cpp: the decoder, and the vision part ("mmproj").

Speed does not depend on the values, only on shapes and types; norms are 1, biases 0 and weights have a standard
deviation of 0.02, so that numbers stay finite. Every matrix of a quantised decoder has the file's type (llama.cpp
calls that "pure"): fewer bytes than its usual mixture, to the peer's advantage. Routers and norms stay f32, as
llama.cpp needs them. The vision part is f16 with f32 convolutions, norms and positions, as its own converter writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from uocr.convert.random_full import PUBLISHED_CONFIG, STANDARD_DEVIATION

from bench.peers import gguf
from bench.peers.gguf import TYPES, Tensor, TensorType, Value

ARCHITECTURE = "deepseek2-ocr"
PROJECTOR = "deepseekocr"
_POOL = 1 << 23  # elements drawn once; tensors are cut from them at different places
_FILE_TYPES = {"f16": 1, "q4_0": 2, "q8_0": 7}  # general.file_type
_DECODER = PUBLISHED_CONFIG["language_config"]
_VISION = PUBLISHED_CONFIG["vision_config"]["width"]
_HEAD_DIM = 64  # of SAM
_WINDOW = 14
_TRAINED_GRID = 64  # patches a side of the 1024-pixel view
_PATCH = 16
_NECK = 256


class Draw:
    """Cuts random weights of every type from pools drawn once. Equal seeds give equal bytes."""

    def __init__(self, seed: int) -> None:
        random = np.random.Generator(np.random.SFC64(seed))
        normal = random.standard_normal(_POOL, np.float32) * np.float32(STANDARD_DEVIATION)
        blocks = _POOL // gguf.BLOCK
        q4 = np.zeros(blocks, np.dtype([("scale", "<f2"), ("codes", "u1", gguf.BLOCK // 2)]))
        q4["scale"] = STANDARD_DEVIATION / math.sqrt((16**2 - 1) / 12)  # codes are drawn evenly
        q4["codes"] = random.integers(0, 256, (blocks, gguf.BLOCK // 2), np.uint8)
        q8 = np.zeros(blocks, np.dtype([("scale", "<f2"), ("codes", "i1", gguf.BLOCK)]))
        q8["scale"] = STANDARD_DEVIATION / math.sqrt((255**2 - 1) / 12)
        q8["codes"] = random.integers(-127, 128, (blocks, gguf.BLOCK), np.int8)
        self._pools: dict[str, np.ndarray] = {"f32": normal, "f16": normal.astype("<f2"), "q4_0": q4, "q8_0": q8}
        self._at = 0

    def blocks(self, tensor: Tensor) -> Iterator[np.ndarray]:
        constant = 0.0 if tensor.name.endswith(".bias") else 1.0 if _is_norm(tensor.name) else None
        if constant is not None:
            yield np.full(tensor.elements, constant, np.float32)
            return
        pool = self._pools[tensor.type.name]
        left = tensor.elements // tensor.type.elements
        while left:
            self._at = (self._at + 7919) % len(pool)
            piece = pool[self._at:self._at + left]
            left -= len(piece)
            yield piece


def _is_norm(name: str) -> bool:
    stem = name.removesuffix(".weight")
    return name.endswith(".weight") and (stem.endswith(("_norm", "_ln", ".ln1", ".ln2")) or stem in _NECK_NORMS)


_NECK_NORMS = ("v.sam.neck.1", "v.sam.neck.3", "v.pre_ln")


def decoder_tensors(dtype: str) -> list[Tensor]:
    """Every tensor of the decoder; matrices in `dtype` (f16, q8_0, q4_0)."""
    c = _DECODER
    hidden, vocab, dense = c["hidden_size"], c["vocab_size"], c["intermediate_size"]
    experts, width = c["n_routed_experts"], c["moe_intermediate_size"]
    shared = c["n_shared_experts"] * width
    matrix, f32 = TYPES[dtype], TYPES["f32"]
    out = [Tensor("token_embd.weight", (vocab, hidden), matrix), Tensor("output.weight", (vocab, hidden), matrix),
           Tensor("output_norm.weight", (hidden,), f32)]
    for layer in range(c["num_hidden_layers"]):
        shapes: dict[str, tuple[int, ...]] = {f"attn_{part}": (hidden, hidden) for part in ("q", "k", "v", "output")}
        if layer < c["first_k_dense_replace"]:
            shapes |= {"ffn_gate": (dense, hidden), "ffn_up": (dense, hidden), "ffn_down": (hidden, dense)}
        else:
            shapes |= {"ffn_gate_exps": (experts, width, hidden), "ffn_up_exps": (experts, width, hidden),
                       "ffn_down_exps": (experts, hidden, width), "ffn_gate_shexp": (shared, hidden),
                       "ffn_up_shexp": (shared, hidden), "ffn_down_shexp": (hidden, shared)}
            out.append(Tensor(f"blk.{layer}.ffn_gate_inp.weight", (experts, hidden), f32))
        out += [Tensor(f"blk.{layer}.{name}.weight", shape, matrix) for name, shape in shapes.items()]
        out += [Tensor(f"blk.{layer}.{name}.weight", (hidden,), f32) for name in ("attn_norm", "ffn_norm")]
    return out


def decoder_metadata(dtype: str) -> dict[str, Value]:
    c, a = _DECODER, ARCHITECTURE
    numbers = {
        "block_count": c["num_hidden_layers"], "context_length": c["max_position_embeddings"],
        "embedding_length": c["hidden_size"], "feed_forward_length": c["intermediate_size"],
        "attention.head_count": c["num_attention_heads"], "attention.head_count_kv": c["num_key_value_heads"],
        "rope.dimension_count": c["v_head_dim"], "expert_count": c["n_routed_experts"],
        "expert_used_count": c["num_experts_per_tok"], "expert_shared_count": c["n_shared_experts"],
        "expert_feed_forward_length": c["moe_intermediate_size"],
        "leading_dense_block_count": c["first_k_dense_replace"], "vocab_size": c["vocab_size"],
        "attention.sliding_window": c["sliding_window_size"],
    }
    tokens = ["<bos>", "<eos>", *(f"token{i}" for i in range(2, c["vocab_size"]))]
    return {
        "general.architecture": gguf.text(a), "general.name": gguf.text(f"random full shapes, {dtype}"),
        "general.file_type": gguf.u32(_FILE_TYPES[dtype]),
        **{f"{a}.{name}": gguf.u32(value) for name, value in numbers.items()},
        f"{a}.attention.layer_norm_rms_epsilon": gguf.f32(1e-6), f"{a}.rope.freq_base": gguf.f32(10000.0),
        f"{a}.expert_weights_scale": gguf.f32(1.0),
        "tokenizer.ggml.model": gguf.text("gpt2"), "tokenizer.ggml.pre": gguf.text("deepseek-v3"),
        "tokenizer.ggml.tokens": gguf.array(gguf.STRING, tokens),
        "tokenizer.ggml.token_type": gguf.array(gguf.I32, [3, 3, *[1] * (len(tokens) - 2)]),
        "tokenizer.ggml.merges": gguf.array(gguf.STRING, ["t o"]),
        "tokenizer.ggml.bos_token_id": gguf.u32(c["bos_token_id"]),
        "tokenizer.ggml.eos_token_id": gguf.u32(c["eos_token_id"]),
    }


def vision_tensors() -> list[Tensor]:
    """SAM, CLIP and the projector, under the names that llama.cpp's loader asks for."""
    sam, clip = _VISION["sam_vit_b"], _VISION["clip-l-14-224"]
    half, f32 = TYPES["f16"], TYPES["f32"]
    width, wide = sam["width"], clip["width"]
    down = sam["downsample_channels"]
    hidden = PUBLISHED_CONFIG["projector_config"]["n_embed"]
    out: list[Tensor] = []

    def linear(name: str, rows: int, cols: int) -> None:
        out.extend([Tensor(f"{name}.weight", (rows, cols), half), Tensor(f"{name}.bias", (rows,), f32)])

    def norm(name: str, size: int) -> None:
        out.extend([Tensor(f"{name}.weight", (size,), f32), Tensor(f"{name}.bias", (size,), f32)])

    def plain(name: str, shape: tuple[int, ...], dtype: TensorType = f32) -> None:
        out.append(Tensor(name, shape, dtype))

    plain("v.sam.pos_embd.weight", (1, _TRAINED_GRID, _TRAINED_GRID, width))
    plain("v.sam.patch_embd.weight", (width, 3, _PATCH, _PATCH), half)
    plain("v.sam.patch_embd.bias", (width,))
    for block in range(sam["layers"]):
        side = _TRAINED_GRID if block in sam["global_attn_indexes"] else _WINDOW
        p = f"v.sam.blk.{block}"
        norm(f"{p}.pre_ln", width)
        norm(f"{p}.post_ln", width)
        plain(f"{p}.attn.pos_h.weight", (2 * side - 1, _HEAD_DIM))
        plain(f"{p}.attn.pos_w.weight", (2 * side - 1, _HEAD_DIM))
        linear(f"{p}.attn.qkv", 3 * width, width)
        linear(f"{p}.attn.out", width, width)
        linear(f"{p}.mlp.lin1", 4 * width, width)
        linear(f"{p}.mlp.lin2", width, 4 * width)
    plain("v.sam.neck.0.weight", (_NECK, width, 1, 1))
    norm("v.sam.neck.1", _NECK)
    plain("v.sam.neck.2.weight", (_NECK, _NECK, 3, 3))
    norm("v.sam.neck.3", _NECK)
    plain("v.sam.net_2.weight", (down[0], _NECK, 3, 3))
    plain("v.sam.net_3.weight", (down[1], down[0], 3, 3))
    plain("v.class_embd", (wide,))
    plain("v.position_embd.weight", (257, wide))
    norm("v.pre_ln", wide)
    for block in range(clip["layers"]):
        p = f"v.blk.{block}"
        linear(f"{p}.attn_qkv", 3 * wide, wide)
        linear(f"{p}.attn_out", wide, wide)
        norm(f"{p}.ln1", wide)
        norm(f"{p}.ln2", wide)
        linear(f"{p}.ffn_up", 4 * wide, wide)
        linear(f"{p}.ffn_down", wide, 4 * wide)
    linear("mm.model.fc", hidden, PUBLISHED_CONFIG["projector_config"]["input_dim"])
    plain("v.image_newline", (hidden,))
    plain("v.view_seperator", (1, hidden))
    return out


def vision_metadata() -> dict[str, Value]:
    sam, clip = _VISION["sam_vit_b"], _VISION["clip-l-14-224"]
    half = gguf.array(gguf.FLOAT32, [0.5, 0.5, 0.5])
    numbers = {
        "image_size": 1024, "patch_size": _PATCH, "embedding_length": clip["width"],
        "feed_forward_length": 4 * clip["width"], "block_count": clip["layers"],
        "attention.head_count": clip["heads"], "projection_dim": PUBLISHED_CONFIG["projector_config"]["n_embed"],
        "window_size": _WINDOW, "sam.block_count": sam["layers"], "sam.embedding_length": sam["width"],
        "sam.head_count": sam["heads"], "preproc_min_tiles": 2, "preproc_max_tiles": 32,
    }
    return {
        "general.architecture": gguf.text("clip"), "general.type": gguf.text("mmproj"),
        "general.file_type": gguf.u32(_FILE_TYPES["f16"]), "clip.has_vision_encoder": gguf.flag(True),
        "clip.projector_type": gguf.text(PROJECTOR), "clip.use_gelu": gguf.flag(True),
        **{f"clip.vision.{name}": gguf.u32(value) for name, value in numbers.items()},
        "clip.vision.image_mean": half, "clip.vision.image_std": half,
        "clip.vision.attention.layer_norm_epsilon": gguf.f32(1e-6),
    }


def make(folder: Path, name: str) -> Path:
    """`name` is "vision" or a decoder type (q4_0, q8_0); the file is written once and kept in `folder`."""
    path = folder / f"random-full-{name}.gguf"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        vision = name == "vision"
        tensors = vision_tensors() if vision else decoder_tensors(name)
        draw = Draw(seed=1)
        gguf.write(path, vision_metadata() if vision else decoder_metadata(name), tensors,
                   (draw.blocks(tensor) for tensor in tensors))
    return path
