"""Writes GGUF files, version 3: metadata, then tensors one after another, never a whole file in memory.

Only what the peers need: scalars, strings and arrays of one kind; tensors of F32, F16, Q4_0 and Q8_0. Numbers of
kinds and the layout are those of the format's specification in ggml.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

ALIGNMENT = 32
BLOCK = 32  # elements that share a scale in Q4_0 and Q8_0

U32, I32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
_SCALARS = {U32: "<I", I32: "<i", FLOAT32: "<f", BOOL: "<?"}
Value = tuple[int, Any]  # kind and value; an array holds (kind, [values]) of one kind


@dataclass(frozen=True, slots=True)
class TensorType:
    """Number in the file and bytes of `elements` elements."""

    name: str
    number: int
    elements: int
    bytes: int


TYPES = {t.name: t for t in (
    TensorType("f32", 0, 1, 4), TensorType("f16", 1, 1, 2),
    TensorType("q4_0", 2, BLOCK, 2 + BLOCK // 2), TensorType("q8_0", 8, BLOCK, 2 + BLOCK))}


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: shape outermost first, values drawn by the caller."""

    name: str
    shape: tuple[int, ...]
    type: TensorType

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        if self.shape[-1] % self.type.elements:
            raise ValueError(f"{self.name} has rows of {self.shape[-1]} elements; {self.type.name} needs a multiple "
                             f"of {self.type.elements}.")
        return self.elements // self.type.elements * self.type.bytes


def u32(value: int) -> Value:
    return U32, value


def f32(value: float) -> Value:
    return FLOAT32, value


def flag(value: bool) -> Value:
    return BOOL, value


def text(value: str) -> Value:
    return STRING, value


def array(kind: int, values: Sequence[object]) -> Value:
    return ARRAY, (kind, values)


def _string(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def _pack(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return _string(str(value))
    if kind == ARRAY:
        inner, values = value
        return struct.pack("<IQ", inner, len(values)) + b"".join(_pack(inner, v) for v in values)
    return struct.pack(_SCALARS[kind], value)


def _padding(count: int) -> int:
    return -count % ALIGNMENT


def header(metadata: Mapping[str, Value], tensors: Sequence[Tensor]) -> bytes:
    """Everything before the tensors' bytes, padded to the alignment."""
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    for key, (kind, value) in metadata.items():
        parts += [_string(key), struct.pack("<I", kind), _pack(kind, value)]
    offset = 0
    for tensor in tensors:
        dimensions = tensor.shape[::-1]  # innermost first in the file
        parts += [_string(tensor.name), struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions),
                  struct.pack("<IQ", tensor.type.number, offset)]
        offset += tensor.bytes + _padding(tensor.bytes)
    whole = b"".join(parts)
    return whole + bytes(_padding(len(whole)))


def write(path: Path, metadata: Mapping[str, Value], tensors: Sequence[Tensor],
          values: Iterable[Iterator[np.ndarray]]) -> None:
    """The file at `path`, complete or not at all. `values` gives the blocks of each tensor, in order.

    Raises ValueError when a tensor's blocks do not add up to its bytes.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(header(metadata, tensors))
            for tensor, blocks in zip(tensors, values, strict=True):
                _write_tensor(file, tensor, blocks)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _write_tensor(file: BinaryIO, tensor: Tensor, blocks: Iterator[np.ndarray]) -> None:
    written = 0
    for block in blocks:
        written += file.write(np.ascontiguousarray(block).tobytes())
    if written != tensor.bytes:
        raise ValueError(f"{tensor.name} has {written} bytes; its shape and type need {tensor.bytes}.")
    file.write(bytes(_padding(tensor.bytes)))
