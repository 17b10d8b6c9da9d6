"""A checkpoint folder in Hugging Face form: config.json, tokenizer.json, one or more safetensors files.

Reads tensors by rows with plain file reads, so that resident memory does not grow with the checkpoint. The
safetensors header is parsed here because numpy has no BF16: those numbers are handed out as uint16.

safetensors: u64 header length, that many bytes of JSON ``{name: {dtype, shape, data_offsets}}``, then data.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from uocr.convert.quantize import to_float32
from uocr.errors import ConversionError

NUMPY_TYPES = {"BF16": "<u2", "F16": "<f2", "F32": "<f4"}
INDEX_NAME = "model.safetensors.index.json"
_HEADER_MAX = 100_000_000  # the limit that the safetensors format itself sets
_CHUNK = 1 << 22


@dataclass(frozen=True)
class SourceTensor:
    """One tensor of a safetensors file; ``offset`` in bytes from the start of ``file``."""

    file: Path
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def itemsize(self) -> int:
        return np.dtype(NUMPY_TYPES[self.dtype]).itemsize

    @property
    def size(self) -> int:
        """Bytes of the data."""
        return math.prod(self.shape) * self.itemsize


class Checkpoint:
    """The files of a checkpoint folder, opened for reading; a context manager."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ConversionError(f"{folder} is no folder with a checkpoint (config.json and *.safetensors).")
        self.folder = folder
        self._open_files: dict[Path, BufferedReader] = {}
        self.config: dict[str, Any] = self._json("config.json")
        tokenizer = folder / "tokenizer.json"
        self.tokenizer_json = tokenizer.read_bytes() if tokenizer.is_file() else b"{}"
        self.files = self._data_files()
        self.tensors: dict[str, SourceTensor] = {}
        for file in self.files:
            for name, tensor in read_header(file).items():
                if name in self.tensors:
                    raise ConversionError(f"{file}: the tensor {name} stands in two files of the checkpoint.")
                self.tensors[name] = tensor
        self._check_index()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for file in self._open_files.values():
            file.close()
        self._open_files.clear()

    def _json(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        try:
            value = json.loads(path.read_bytes())
        except FileNotFoundError as error:
            raise ConversionError(f"{path} is missing; a checkpoint folder needs it.") from error
        except (OSError, ValueError, RecursionError) as error:
            raise ConversionError(f"{path} cannot be read as JSON: {error}.") from error
        if not isinstance(value, dict):
            raise ConversionError(f"{path} is not a JSON object.")
        return value

    def _data_files(self) -> list[Path]:
        if (self.folder / INDEX_NAME).is_file():
            places = self._json(INDEX_NAME).get("weight_map")
            if not isinstance(places, dict) or not all(isinstance(p, str) for p in places.values()):
                raise ConversionError(f"{self.folder / INDEX_NAME} has no weight_map of names to files.")
            names = sorted(set(places.values()))
            for name in names:
                if Path(name).name != name or not name.endswith(".safetensors"):
                    raise ConversionError(f"{self.folder / INDEX_NAME} names the file {name!r}, which is no "
                                          f".safetensors file of this folder.")
                if not (self.folder / name).is_file():
                    raise ConversionError(f"{self.folder / name} is missing; {INDEX_NAME} names it, download "
                                          f"it again.")
            return [self.folder / name for name in names]
        files = sorted(self.folder.glob("*.safetensors"))
        if not files:
            raise ConversionError(f"{self.folder} holds no .safetensors file.")
        return files

    def _check_index(self) -> None:
        if (self.folder / INDEX_NAME).is_file():
            for name, place in self._json(INDEX_NAME)["weight_map"].items():
                tensor = self.tensors.get(name)
                if tensor is None or tensor.file.name != place:
                    raise ConversionError(f"{self.folder / place} does not hold the tensor {name} that "
                                          f"{INDEX_NAME} places there.")

    def rows(self, name: str, rows: int, channels_last: bool, block: int) -> Iterator[np.ndarray]:
        """The tensor as float32 blocks ``[up to n, elements / rows]`` of about ``block`` elements.

        ``rows`` divides the elements. ``channels_last`` turns a row's ``[in, kh, kw]`` into ``[kh, kw, in]``.
        """
        tensor = self.tensors[name]
        width = math.prod(tensor.shape) // rows
        step = max(1, block // width)
        file = self._open(tensor.file)
        for first in range(0, rows, step):
            count = min(step, rows - first)
            raw = np.empty((count, width), NUMPY_TYPES[tensor.dtype])
            try:
                file.seek(tensor.offset + first * width * tensor.itemsize)
                got = file.readinto(raw.data.cast("B"))
            except OSError as error:
                raise ConversionError(f"{tensor.file} cannot be read: {error.strerror}.") from error
            if got != raw.nbytes:
                raise ConversionError(f"{tensor.file} became shorter while the tensor {name} was read.")
            values = to_float32(raw, tensor.dtype)
            if channels_last:
                values = values.reshape(count, *tensor.shape[1:]).transpose(0, 2, 3, 1).reshape(count, width)
            yield values

    def _open(self, path: Path) -> BufferedReader:
        if path not in self._open_files:
            self._open_files[path] = path.open("rb")
        return self._open_files[path]


def read_header(path: Path) -> dict[str, SourceTensor]:
    """Tensors of one safetensors file, with every offset checked against the file's length."""
    length = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        header_bytes = int.from_bytes(start, "little")
        if len(start) < 8 or header_bytes > min(length - 8, _HEADER_MAX):
            raise ConversionError(f"{path} has {length} bytes and is cut short or no safetensors file: its "
                                  f"header should have {header_bytes}; download it again.")
        try:
            header = json.loads(file.read(header_bytes))
        except (ValueError, RecursionError) as error:
            raise ConversionError(f"{path} is no safetensors file: its header is no JSON "
                                  f"({error}).") from error
    if not isinstance(header, dict):
        raise ConversionError(f"{path} is no safetensors file: its header is not a JSON object.")
    data_at = 8 + header_bytes
    header.pop("__metadata__", None)
    return {name: _source_tensor(path, name, entry, data_at, length) for name, entry in header.items()}


def _source_tensor(path: Path, name: str, entry: Any, data_at: int, length: int) -> SourceTensor:
    try:
        dtype, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        sound = isinstance(dtype, str) and all(type(n) is int and n >= 0 for n in (*shape, begin, end))
    except (TypeError, KeyError, ValueError):
        sound = False
    if not sound:
        raise ConversionError(f"{path}: the header entry of the tensor {name} is damaged; download it again.")
    if dtype not in NUMPY_TYPES:
        raise ConversionError(f"{path}: the tensor {name} has the type {dtype}; BF16, F16 and F32 can be "
                              f"converted.")
    tensor = SourceTensor(path, dtype, shape, data_at + begin)
    if end - begin != tensor.size:
        raise ConversionError(f"{path}: the tensor {name} of shape {list(shape)} has {end - begin} bytes, "
                              f"needs {tensor.size}.")
    if data_at + end > length:
        raise ConversionError(f"{path} has {length} bytes, but the tensor {name} ends at {data_at + end}; it "
                              f"is cut short, download it again.")
    return tensor


def file_sha256(path: Path, advance: Callable[[int], None] | None = None) -> str:
    """SHA-256 of a whole file in hex; ``advance`` is told the bytes of each chunk."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_CHUNK))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            digest.update(buffer[:count])
            if advance:
                advance(count)
    return digest.hexdigest()
