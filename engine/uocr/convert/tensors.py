"""The tensors of a network: what a checkpoint must hold and what a ``.uocr`` file stores for it.

Source: the published checkpoint's names and shapes; docs/model-format.md, "Tensors".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from uocr.modelconfig import ModelConfig

EMBEDDINGS, HEAD, PROJECTOR, DECODER_LAYER = 0, 1, 2, 100  # groups of payload sections
SAM, SAM_BLOCK, CLIP, CLIP_LAYER = 1000, 1001, 2000, 2001

SEPARATOR_SPELLINGS = ("model.view_seperator", "model.view_separator")


@dataclass(frozen=True)
class TensorSpec:
    """A tensor to store, and where it comes from.

    ``sources`` are checkpoint names, more than one when they are stacked along a new first axis; each has
    ``source_shape``. ``channels_last`` turns ``[out, in, kh, kw]`` into ``[out, kh, kw, in]``.
    """

    name: str
    group: int
    shape: tuple[int, ...]
    sources: tuple[str, ...]
    source_shape: tuple[int, ...]
    channels_last: bool = False

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def source_rows(self) -> int:
        """Rows of one source that can be converted apart: a convolution's filters, else all axes but one."""
        return self.source_shape[0] if self.channels_last else math.prod(self.source_shape[:-1])


@dataclass(frozen=True)
class UnusedSpec:
    """A checkpoint tensor that may be present and is not stored."""

    source: str
    source_shape: tuple[int, ...]


def stored_tensors(config: ModelConfig) -> list[TensorSpec]:
    """Every tensor of the file, in payload order (ascending group)."""
    return [*_text_ends(config), *_projector(config), *_decoder(config), *_sam(config), *_clip(config)]


def unused_tensors(config: ModelConfig) -> list[UnusedSpec]:
    """CLIP's own patch convolution: in the published checkpoint, never used (SAM's features replace it)."""
    shape = (config.clip_width, 3, 14, 14)
    return [UnusedSpec("model.vision_model.embeddings.patch_embedding.weight", shape)]


def _plain(group: int, source: str, *shape: int) -> TensorSpec:
    return TensorSpec(source.removeprefix("model."), group, shape, (source,), shape)


def _conv(group: int, source: str, out: int, inner: int, kernel: int) -> TensorSpec:
    return TensorSpec(source.removeprefix("model."), group, (out, kernel, kernel, inner), (source,),
                      (out, inner, kernel, kernel), channels_last=True)


def _affine(group: int, source: str, width: int) -> Iterator[TensorSpec]:
    yield _plain(group, source + ".weight", width)
    yield _plain(group, source + ".bias", width)


def _linear(group: int, source: str, out: int, inner: int) -> Iterator[TensorSpec]:
    yield _plain(group, source + ".weight", out, inner)
    yield _plain(group, source + ".bias", out)


def _text_ends(c: ModelConfig) -> Iterator[TensorSpec]:
    yield _plain(EMBEDDINGS, "model.embed_tokens.weight", c.vocab_size, c.hidden_size)
    yield _plain(HEAD, "model.norm.weight", c.hidden_size)
    yield _plain(HEAD, "lm_head.weight", c.vocab_size, c.hidden_size)


def _projector(c: ModelConfig) -> Iterator[TensorSpec]:
    yield from _linear(PROJECTOR, "model.projector.layers", c.hidden_size, c.projector_input)
    yield _plain(PROJECTOR, "model.image_newline", c.hidden_size)
    yield TensorSpec("view_separator", PROJECTOR, (c.hidden_size,), SEPARATOR_SPELLINGS[:1], (c.hidden_size,))


def _decoder(c: ModelConfig) -> Iterator[TensorSpec]:
    heads = c.num_attention_heads * c.head_dim
    for layer in range(c.num_hidden_layers):
        group, prefix = DECODER_LAYER + layer, f"model.layers.{layer}."
        yield _plain(group, prefix + "input_layernorm.weight", c.hidden_size)
        for letter in "qkv":
            yield _plain(group, f"{prefix}self_attn.{letter}_proj.weight", heads, c.hidden_size)
        yield _plain(group, prefix + "self_attn.o_proj.weight", c.hidden_size, heads)
        yield _plain(group, prefix + "post_attention_layernorm.weight", c.hidden_size)
        if layer < c.first_k_dense_replace:
            yield from _mlp(c, group, prefix + "mlp.", c.intermediate_size)
            continue
        yield _plain(group, prefix + "mlp.gate.weight", c.n_routed_experts, c.hidden_size)
        shared = c.n_shared_experts * c.moe_intermediate_size
        yield from _mlp(c, group, prefix + "mlp.shared_experts.", shared)
        for part, out, inner in (("gate", c.moe_intermediate_size, c.hidden_size),
                                 ("up", c.moe_intermediate_size, c.hidden_size),
                                 ("down", c.hidden_size, c.moe_intermediate_size)):
            yield TensorSpec(
                f"layers.{layer}.mlp.experts.{part}_proj.weight", group, (c.n_routed_experts, out, inner),
                tuple(f"{prefix}mlp.experts.{e}.{part}_proj.weight" for e in range(c.n_routed_experts)),
                (out, inner))


def _mlp(c: ModelConfig, group: int, prefix: str, width: int) -> Iterator[TensorSpec]:
    yield _plain(group, prefix + "gate_proj.weight", width, c.hidden_size)
    yield _plain(group, prefix + "up_proj.weight", width, c.hidden_size)
    yield _plain(group, prefix + "down_proj.weight", c.hidden_size, width)


def _sam(c: ModelConfig) -> Iterator[TensorSpec]:
    prefix = "model.sam_model."
    yield TensorSpec("sam_model.pos_embed", SAM, (c.sam_grid, c.sam_grid, c.sam_width),
                     (prefix + "pos_embed",), (1, c.sam_grid, c.sam_grid, c.sam_width))
    yield _conv(SAM, prefix + "patch_embed.proj.weight", c.sam_width, 3, c.sam_patch)
    yield _plain(SAM, prefix + "patch_embed.proj.bias", c.sam_width)
    yield _conv(SAM, prefix + "neck.0.weight", c.sam_neck, c.sam_width, 1)
    yield from _affine(SAM, prefix + "neck.1", c.sam_neck)
    yield _conv(SAM, prefix + "neck.2.weight", c.sam_neck, c.sam_neck, 3)
    yield from _affine(SAM, prefix + "neck.3", c.sam_neck)
    yield _conv(SAM, prefix + "net_2.weight", c.sam_net2, c.sam_neck, 3)
    yield _conv(SAM, prefix + "net_3.weight", c.sam_net3, c.sam_net2, 3)
    head = c.sam_width // c.sam_heads
    for block in range(c.sam_blocks):
        group, at = SAM_BLOCK + block, f"{prefix}blocks.{block}."
        side = c.sam_grid if block in c.global_blocks else c.sam_window
        yield from _affine(group, at + "norm1", c.sam_width)
        yield from _linear(group, at + "attn.qkv", 3 * c.sam_width, c.sam_width)
        yield _plain(group, at + "attn.rel_pos_h", 2 * side - 1, head)
        yield _plain(group, at + "attn.rel_pos_w", 2 * side - 1, head)
        yield from _linear(group, at + "attn.proj", c.sam_width, c.sam_width)
        yield from _affine(group, at + "norm2", c.sam_width)
        yield from _linear(group, at + "mlp.lin1", c.sam_mlp, c.sam_width)
        yield from _linear(group, at + "mlp.lin2", c.sam_width, c.sam_mlp)


def _clip(c: ModelConfig) -> Iterator[TensorSpec]:
    prefix = "model.vision_model."
    yield _plain(CLIP, prefix + "embeddings.class_embedding", c.clip_width)
    yield _plain(CLIP, prefix + "embeddings.position_embedding.weight", c.clip_positions, c.clip_width)
    yield from _affine(CLIP, prefix + "pre_layrnorm", c.clip_width)
    for layer in range(c.clip_layers):
        group, at = CLIP_LAYER + layer, f"{prefix}transformer.layers.{layer}."
        yield from _affine(group, at + "layer_norm1", c.clip_width)
        yield from _linear(group, at + "self_attn.qkv_proj", 3 * c.clip_width, c.clip_width)
        yield from _linear(group, at + "self_attn.out_proj", c.clip_width, c.clip_width)
        yield from _affine(group, at + "layer_norm2", c.clip_width)
        yield from _linear(group, at + "mlp.fc1", c.clip_mlp, c.clip_width)
        yield from _linear(group, at + "mlp.fc2", c.clip_width, c.clip_mlp)
