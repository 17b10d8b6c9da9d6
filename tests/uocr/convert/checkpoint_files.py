"""Checkpoint and model files for tests, read and written without the converter's own code where that is tested."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from uocr.convert.front_end import json_bytes
from uocr.modelfile import FRONT_END, ModelFile

Tensors = dict[str, np.ndarray]  # uint16 arrays are BF16
Make = Callable[..., Path]  # a fixture that makes a file or folder


def load_safetensors(path: Path) -> Tensors:
    """Every tensor of a BF16 file, as uint16."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert entry["dtype"] == "BF16"
        tensors[name] = np.frombuffer(raw[8 + length + begin:8 + length + end], "<u2").reshape(entry["shape"])
    return tensors


def save_safetensors(path: Path, tensors: Tensors) -> None:
    """Write tensors; the numpy type decides the stored one."""
    names = {"uint16": "BF16", "float16": "F16", "float32": "F32", "int64": "I64"}
    header, end = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": names[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(a.tobytes() for a in tensors.values()))


def widen(bf16: np.ndarray) -> np.ndarray:
    """BF16 in uint16 to float32."""
    return (bf16.astype(np.uint32) << 16).view(np.float32)


def reseal(data: bytearray) -> bytes:
    """Make every hash of a changed model file right again, so that the checks behind them are reached."""
    (count,) = struct.unpack_from("<I", data, 24)
    for index in range(count):
        at = 256 + 64 * index
        kind, _group, offset, size, _reserved = struct.unpack_from("<IIQQQ", data, at)
        if kind <= 5:
            data[at + 32:at + 64] = hashlib.sha256(data[offset:offset + size]).digest()
    data[48:80] = hashlib.sha256(data[256:256 + 64 * count]).digest()
    data[224:256] = hashlib.sha256(data[:224]).digest()
    return bytes(data)


def with_front_end(model: Path, path: Path, **changes: object) -> Path:
    """A copy of a model file at `path` whose front end says other things. It must not become longer: the description
    makes room."""
    with ModelFile.open(model) as file:
        said = file.front_end | {"description": ""} | changes
        section = next(s for s in file.sections if s.kind == FRONT_END)
    data = bytearray(model.read_bytes())
    data[section.offset:section.offset + section.size] = json_bytes(said).ljust(section.size)
    path.write_bytes(reseal(data))
    return path
