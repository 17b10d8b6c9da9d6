"""A small random checkpoint with the published tensor names, readable by transformers and by our converter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

VOCAB, HIDDEN, LAYERS, HEADS, DENSE = 512, 128, 3, 2, 192
EXPERTS, EXPERT_WIDTH, SHARED, TOP_K, RING = 8, 64, 2, 2, 32
SAM, SAM_BLOCKS, SAM_HEADS, NECK, DOWN = 128, 3, 2, 64, (96, 128)
CLIP, CLIP_LAYERS, CLIP_HEADS = 128, 2, 2
IMAGE_ID, GLOBAL_BLOCKS = 500, (2,)


def write_weights(folder: Path, seed: int = 1234) -> None:
    """model.safetensors in f32: normal values scaled so that activations stay near one."""
    rng = np.random.default_rng(seed)
    tensors: dict[str, np.ndarray] = {}

    def normal(name: str, *shape: int, std: float | None = None) -> None:
        std = std if std is not None else 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else shape[0])
        tensors[name] = (rng.standard_normal(shape) * std).astype(np.float32)

    def norm(name: str, width: int, bias: bool = True) -> None:
        tensors[name + ".weight"] = (1 + 0.1 * rng.standard_normal(width)).astype(np.float32)
        if bias:
            normal(name + ".bias", width, std=0.1)

    def linear(name: str, out: int, in_: int, bias: bool = True) -> None:
        normal(name + ".weight", out, in_)
        if bias:
            normal(name + ".bias", out, std=0.1)

    def mlp(name: str, width: int) -> None:
        for part, shape in (("gate", (width, HIDDEN)), ("up", (width, HIDDEN)), ("down", (HIDDEN, width))):
            linear(f"{name}.{part}_proj", *shape, bias=False)

    normal("model.embed_tokens.weight", VOCAB, HIDDEN, std=1.0)
    normal("lm_head.weight", VOCAB, HIDDEN)
    norm("model.norm", HIDDEN, bias=False)
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        for part in "qkvo":
            linear(f"{layer}.self_attn.{part}_proj", HIDDEN, HIDDEN, bias=False)
        norm(f"{layer}.input_layernorm", HIDDEN, bias=False)
        norm(f"{layer}.post_attention_layernorm", HIDDEN, bias=False)
        if i == 0:
            mlp(f"{layer}.mlp", DENSE)
            continue
        normal(f"{layer}.mlp.gate.weight", EXPERTS, HIDDEN)
        for e in range(EXPERTS):
            mlp(f"{layer}.mlp.experts.{e}", EXPERT_WIDTH)
        mlp(f"{layer}.mlp.shared_experts", SHARED * EXPERT_WIDTH)
    normal("model.image_newline", HIDDEN, std=0.5)
    normal("model.view_seperator", HIDDEN, std=0.5)
    linear("model.projector.layers", HIDDEN, CLIP + DOWN[1])
    sam = "model.sam_model"
    normal(f"{sam}.pos_embed", 1, 64, 64, SAM, std=0.1)
    normal(f"{sam}.patch_embed.proj.weight", SAM, 3, 16, 16)
    normal(f"{sam}.patch_embed.proj.bias", SAM, std=0.1)
    for i in range(SAM_BLOCKS):
        block, side = f"{sam}.blocks.{i}", 64 if i in GLOBAL_BLOCKS else 14
        norm(f"{block}.norm1", SAM)
        norm(f"{block}.norm2", SAM)
        linear(f"{block}.attn.qkv", 3 * SAM, SAM)
        linear(f"{block}.attn.proj", SAM, SAM)
        linear(f"{block}.mlp.lin1", 4 * SAM, SAM)
        linear(f"{block}.mlp.lin2", SAM, 4 * SAM)
        for axis in "hw":
            normal(f"{block}.attn.rel_pos_{axis}", 2 * side - 1, SAM // SAM_HEADS, std=0.3)
    normal(f"{sam}.neck.0.weight", NECK, SAM, 1, 1)
    norm(f"{sam}.neck.1", NECK)
    normal(f"{sam}.neck.2.weight", NECK, NECK, 3, 3)
    norm(f"{sam}.neck.3", NECK)
    normal(f"{sam}.net_2.weight", DOWN[0], NECK, 3, 3)
    normal(f"{sam}.net_3.weight", DOWN[1], DOWN[0], 3, 3)
    clip = "model.vision_model"
    normal(f"{clip}.embeddings.class_embedding", CLIP, std=0.5)
    normal(f"{clip}.embeddings.position_embedding.weight", 257, CLIP, std=0.3)
    normal(f"{clip}.embeddings.patch_embedding.weight", CLIP, 3, 14, 14)
    norm(f"{clip}.pre_layrnorm", CLIP)
    for i in range(CLIP_LAYERS):
        layer = f"{clip}.transformer.layers.{i}"
        norm(f"{layer}.layer_norm1", CLIP)
        norm(f"{layer}.layer_norm2", CLIP)
        linear(f"{layer}.self_attn.qkv_proj", 3 * CLIP, CLIP)
        linear(f"{layer}.self_attn.out_proj", CLIP, CLIP)
        linear(f"{layer}.mlp.fc1", 4 * CLIP, CLIP)
        linear(f"{layer}.mlp.fc2", CLIP, 4 * CLIP)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
