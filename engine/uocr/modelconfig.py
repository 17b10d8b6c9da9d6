"""Shapes and constants of one model: the fixed 256-byte config record of a ``.uocr`` file.

Source: docs/model-format.md, "Config, kind 1". The converter fills it from config.json
(``uocr.convert.dialects``), the reader takes it from the file; both ask ``problem()`` before using it.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, fields

RECORD_BYTES = 256
RECORD_VERSION = 1


@dataclass(frozen=True)
class ModelConfig:
    """One Unlimited-OCR network. Widths and counts are elements, ids are token ids, eps are dimensionless."""

    vocab_size: int
    usable_vocab: int
    bos_id: int
    eos_id: int
    pad_id: int
    image_id: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    head_dim: int
    intermediate_size: int
    moe_intermediate_size: int
    n_routed_experts: int
    num_experts_per_tok: int
    n_shared_experts: int
    first_k_dense_replace: int
    max_position_embeddings: int
    sliding_window: int
    norm_topk_prob: int
    routed_scaling_factor: float
    rope_theta: float
    rms_norm_eps: float
    sam_width: int
    sam_blocks: int
    sam_heads: int
    sam_mlp: int
    sam_window: int
    sam_patch: int
    sam_grid: int
    sam_neck: int
    sam_net2: int
    sam_net3: int
    sam_global_mask: int
    sam_ln_eps: float
    sam_neck_eps: float
    clip_width: int
    clip_layers: int
    clip_heads: int
    clip_mlp: int
    clip_positions: int
    clip_ln_eps: float
    projector_input: int

    def pack(self) -> bytes:
        """The 256 bytes of the record."""
        record = bytearray(RECORD_BYTES)
        struct.pack_into("<I", record, 0, RECORD_VERSION)
        for name, (offset, code, _low, _high) in _PLACES.items():
            struct.pack_into("<" + code, record, offset, getattr(self, name))
        return bytes(record)

    @classmethod
    def unpack(cls, record: bytes) -> ModelConfig:
        """Read a record; raises ValueError with the reason if it is not one that this version knows."""
        if len(record) != RECORD_BYTES:
            raise ValueError(f"the config record has {len(record)} bytes instead of {RECORD_BYTES}")
        (version,) = struct.unpack_from("<I", record, 0)
        if version != RECORD_VERSION:
            raise ValueError(f"the config record has version {version}, this program knows {RECORD_VERSION}")
        config = cls(**{name: struct.unpack_from("<" + code, record, offset)[0]
                        for name, (offset, code, _low, _high) in _PLACES.items()})
        problem = config.problem()
        if problem:
            raise ValueError(problem)
        return config

    @property
    def global_blocks(self) -> tuple[int, ...]:
        """Indexes of the SAM blocks that attend over the whole grid instead of windows."""
        return tuple(i for i in range(self.sam_blocks) if self.sam_global_mask >> i & 1)

    def problem(self) -> str | None:
        """The first value out of range or in contradiction with another one, in words; None if sound."""
        for name, (_offset, _code, low, high) in _PLACES.items():
            value = getattr(self, name)
            if not math.isfinite(value) or not low <= value <= high:
                return f"{name} is {value}, allowed are {low} to {high}"
        rules = (
            (self.usable_vocab <= self.vocab_size,
             f"usable_vocab {self.usable_vocab} is above vocab_size {self.vocab_size}"),
            (max(self.bos_id, self.eos_id, self.pad_id, self.image_id) < self.vocab_size,
             f"a special token id is not below vocab_size {self.vocab_size}"),
            (self.num_attention_heads * self.head_dim == self.hidden_size,
             f"{self.num_attention_heads} heads of {self.head_dim} do not make hidden_size "
             f"{self.hidden_size}"),
            (self.head_dim % 2 == 0, f"head_dim {self.head_dim} is odd, rotary positions need pairs"),
            (self.num_experts_per_tok <= self.n_routed_experts,
             f"num_experts_per_tok {self.num_experts_per_tok} is above n_routed_experts "
             f"{self.n_routed_experts}"),
            (self.first_k_dense_replace <= self.num_hidden_layers,
             f"first_k_dense_replace {self.first_k_dense_replace} is above num_hidden_layers "
             f"{self.num_hidden_layers}"),
            (self.sam_width % self.sam_heads == 0,
             f"SAM width {self.sam_width} is not a multiple of its {self.sam_heads} heads"),
            (self.sam_global_mask >> self.sam_blocks == 0,
             f"a global-attention index is not below the number of SAM blocks, {self.sam_blocks}"),
            (self.clip_width % self.clip_heads == 0,
             f"CLIP width {self.clip_width} is not a multiple of its {self.clip_heads} heads"),
            (math.isqrt(self.clip_positions - 1) ** 2 == self.clip_positions - 1,
             f"CLIP positions {self.clip_positions} is not 1 plus a square"),
            (self.sam_net3 == self.clip_width,
             f"net_3 gives {self.sam_net3} channels, CLIP takes {self.clip_width}"),
            (self.projector_input == self.sam_net3 + self.clip_width,
             f"projector input {self.projector_input} is not net_3 {self.sam_net3} + CLIP {self.clip_width}"),
        )
        return next((words for sound, words in rules if not sound), None)


_U32 = 2**32 - 1
_WIDTH = 65536  # no matrix of this family is wider; keeps every shape product far from 64-bit overflow
# field: (offset in the record, struct code, least and greatest value)
_PLACES: dict[str, tuple[int, str, float, float]] = {
    "vocab_size": (4, "I", 2, 1 << 20),
    "usable_vocab": (8, "I", 1, 1 << 20),
    "bos_id": (12, "I", 0, _U32),
    "eos_id": (16, "I", 0, _U32),
    "pad_id": (20, "I", 0, _U32),
    "image_id": (24, "I", 0, _U32),
    "hidden_size": (28, "I", 1, _WIDTH),
    "num_hidden_layers": (32, "I", 1, 256),
    "num_attention_heads": (36, "I", 1, 256),
    "head_dim": (40, "I", 2, 512),
    "intermediate_size": (44, "I", 1, _WIDTH),
    "moe_intermediate_size": (48, "I", 1, _WIDTH),
    "n_routed_experts": (52, "I", 1, 1024),
    "num_experts_per_tok": (56, "I", 1, 64),
    "n_shared_experts": (60, "I", 1, 16),
    "first_k_dense_replace": (64, "I", 0, 256),
    "max_position_embeddings": (68, "I", 1, 1 << 20),
    "sliding_window": (72, "I", 1, 1 << 16),
    "norm_topk_prob": (76, "I", 0, 1),
    "routed_scaling_factor": (80, "f", 1e-6, 1e6),
    "rope_theta": (84, "f", 1.0, 1e9),
    "rms_norm_eps": (88, "f", 1e-12, 1e-1),
    "sam_width": (128, "I", 1, _WIDTH),
    "sam_blocks": (132, "I", 1, 64),
    "sam_heads": (136, "I", 1, 256),
    "sam_mlp": (140, "I", 1, _WIDTH),
    "sam_window": (144, "I", 1, 256),
    "sam_patch": (148, "I", 1, 64),
    "sam_grid": (152, "I", 1, 256),
    "sam_neck": (156, "I", 1, _WIDTH),
    "sam_net2": (160, "I", 1, _WIDTH),
    "sam_net3": (164, "I", 1, _WIDTH),
    "sam_global_mask": (168, "Q", 0, 2**64 - 1),
    "sam_ln_eps": (176, "f", 1e-12, 1e-1),
    "sam_neck_eps": (180, "f", 1e-12, 1e-1),
    "clip_width": (184, "I", 1, _WIDTH),
    "clip_layers": (188, "I", 1, 256),
    "clip_heads": (192, "I", 1, 256),
    "clip_mlp": (196, "I", 1, _WIDTH),
    "clip_positions": (200, "I", 2, 1 << 16),
    "clip_ln_eps": (204, "f", 1e-12, 1e-1),
    "projector_input": (208, "I", 1, 2 * _WIDTH),
}
assert set(_PLACES) == {f.name for f in fields(ModelConfig)}
