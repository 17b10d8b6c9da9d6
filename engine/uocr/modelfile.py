"""Reader of ``.uocr`` model files: header, sections, config, front end, tensors.

Source: docs/model-format.md. ``ModelFile.open`` makes every check of "Reading it safely" before it touches a
payload; ``verify`` checks the payload hashes. Numbers come out as numpy arrays for tests and tools; the
engine reads the file itself.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uocr.errors import ModelFileError
from uocr.modelconfig import ModelConfig

MAGIC = b"UOCR\r\n\x1a\n"
FORMAT_VERSION = 1
ALIGNMENT = 16384  # of sections
PAYLOAD_ALIGNMENT = 128  # of tensors inside a payload section
GROUP = 64  # weights that share one scale
PROFILES = ("f32", "f16", "q8", "q4")  # index = number in the header
DTYPES = ("f32", "f16", "q8", "q4")  # index = number in a directory entry
REASONS = ("follows the profile", "width not a multiple of 64", "kept by policy", "left the range of f16")

CONFIG, FRONT_END, DIRECTORY, TOKENIZER, PROVENANCE, PAYLOAD = 1, 2, 3, 4, 5, 16
METADATA_KINDS = (CONFIG, FRONT_END, DIRECTORY, TOKENIZER, PROVENANCE)

HEADER = struct.Struct("<8sIIQIIQQ32s32s112x32s")
SECTION = struct.Struct("<IIQQQ32s")
DIRECTORY_HEAD = struct.Struct("<IIQQQ")
ENTRY = struct.Struct("<IIIIII4QQQQQII32s")
assert (HEADER.size, SECTION.size, DIRECTORY_HEAD.size, ENTRY.size) == (256, 64, 32, 128)

Progress = Callable[[int, int], None]  # bytes done, bytes in total
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Section:
    """One entry of the section table; ``offset`` and ``size`` in bytes."""

    kind: int
    group: int
    offset: int
    size: int
    sha256: bytes


@dataclass(frozen=True)
class TensorInfo:
    """One entry of the tensor directory; offsets from the start of the file and sizes in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    reason: int
    offset: int
    size: int
    scale_offset: int
    scale_size: int
    section: int
    sha256: bytes

    @property
    def count(self) -> int:
        """Elements."""
        return math.prod(self.shape)


def payload_bytes(dtype: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Bytes of the codes and of the scales of a tensor; quantised types need a last axis of whole groups."""
    count = math.prod(shape)
    if dtype == "f32":
        return 4 * count, 0
    if dtype == "f16":
        return 2 * count, 0
    if shape[-1] % GROUP:
        raise ValueError(f"a last axis of {shape[-1]} is not a multiple of {GROUP}")
    return (count if dtype == "q8" else count // 2), 2 * (count // GROUP)


def dequantise_q8(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Codes int8 ``[..., cols]`` and scales f16 ``[..., cols/64]`` to float32 ``[..., cols]``."""
    grouped = codes.reshape(*scales.shape, GROUP).astype(np.float32)
    return (grouped * scales.astype(np.float32)[..., None]).reshape(codes.shape)


def dequantise_q4(packed: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Half-split nibbles uint8 ``[..., cols/2]``, scales f16 ``[..., cols/64]`` to float32 [..., cols]."""
    pairs = packed.reshape(*scales.shape, GROUP // 2)
    codes = np.concatenate([pairs & 15, pairs >> 4], axis=-1).astype(np.float32) - 8
    values = codes * scales.astype(np.float32)[..., None]
    return values.reshape(*packed.shape[:-1], packed.shape[-1] * 2)


class ModelFile:
    """An open, checked model file. Use as a context manager, or call ``close()``."""

    def __init__(self, path: Path, data: mmap.mmap, profile: str, model_id: bytes, sections: list[Section],
                 config: ModelConfig, front_end: dict[str, Any], provenance: dict[str, Any],
                 tensors: dict[str, TensorInfo]) -> None:
        self.path = path
        self.profile = profile
        self.model_id = model_id
        self.sections = sections
        self.config = config
        self.front_end = front_end
        self.provenance = provenance
        self.tensors = tensors
        self._data = data

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> ModelFile:
        """Map ``path`` and check all of it but the payloads; raises ModelFileError with one sentence."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < HEADER.size:
                    raise ModelFileError(f"{path} is no model file: it has only {size} bytes; convert or "
                                         f"pull the model again.")
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise ModelFileError(f"{path} cannot be opened: {error.strerror}.") from error
        try:
            return _Check(path, data).model()
        except BaseException:
            data.close()
            raise

    def close(self) -> None:
        self._data.close()

    def __enter__(self) -> ModelFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tokenizer_json(self) -> bytes:
        """The embedded tokenizer.json; ``{}`` if the checkpoint had none."""
        section = self.sections[METADATA_KINDS.index(TOKENIZER)]
        return self._data[section.offset:section.offset + section.size]

    @property
    def payload_size(self) -> int:
        """Bytes of all codes and scales, without padding."""
        return sum(t.size + t.scale_size for t in self.tensors.values())

    def codes(self, name: str) -> np.ndarray:
        """The stored numbers as they lie: float32, float16, int8 ``[..., cols]``, uint8 ``[..., cols/2]``."""
        info = self.tensors[name]
        kind = {"f32": "<f4", "f16": "<f2", "q8": "i1", "q4": "u1"}[info.dtype]
        shape = info.shape if info.dtype != "q4" else (*info.shape[:-1], info.shape[-1] // 2)
        raw = self._data[info.offset:info.offset + info.size]
        return np.frombuffer(raw, kind).reshape(shape)

    def scales(self, name: str) -> np.ndarray:
        """The float16 scales ``[..., cols/64]`` of a quantised tensor."""
        info = self.tensors[name]
        raw = self._data[info.scale_offset:info.scale_offset + info.scale_size]
        return np.frombuffer(raw, "<f2").reshape(*info.shape[:-1], info.shape[-1] // GROUP)

    def precision(self, asked: str) -> str:
        """What the engine takes where `asked` was asked for: "fast" in 8 bits for vision too, if the file allows it."""
        return "integer" if asked == "fast" and self.front_end.get("integer_activations", False) else asked

    def tensor(self, name: str) -> np.ndarray:
        """The tensor as float32 in its shape, dequantised if need be (a copy)."""
        dtype = self.tensors[name].dtype
        if dtype == "q8":
            return dequantise_q8(self.codes(name), self.scales(name))
        if dtype == "q4":
            return dequantise_q4(self.codes(name), self.scales(name))
        return self.codes(name).astype(np.float32)

    def verify(self, progress: Progress | None = None) -> None:
        """Hash every payload and compare with the directory; raises ModelFileError at the first difference.

        Reads through a file handle, not the mapping, so that resident memory stays small.
        """
        total, done = self.payload_size, 0
        buffer = memoryview(bytearray(_CHUNK))
        with self.path.open("rb", buffering=0) as file:
            for info in self.tensors.values():
                digest = hashlib.sha256()
                for offset, size in ((info.offset, info.size), (info.scale_offset, info.scale_size)):
                    file.seek(offset)
                    while size:
                        count = file.readinto(buffer[:min(size, _CHUNK)])
                        if not count:
                            raise ModelFileError(f"{self.path} became shorter while it was read.")
                        digest.update(buffer[:count])
                        size -= count
                        done += count
                        if progress:
                            progress(done, total)
                if digest.digest() != info.sha256:
                    raise ModelFileError(f"{self.path} is damaged: tensor {info.name} does not have its "
                                         f"SHA-256 {info.sha256.hex()[:16]}…; convert or pull it again.")


class _Check:
    """The checks of "Reading it safely", in the order of the file."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path = path
        self.data = data

    def refuse(self, words: str) -> ModelFileError:
        return ModelFileError(f"{self.path}: {words}; convert or pull the model again.")

    def model(self) -> ModelFile:
        profile, model_id, count, table_hash = self.header()
        sections = self.section_table(count, table_hash)
        config_at, front_end_at, directory_at, tokenizer_at, provenance_at = sections[:5]
        for section in sections[:5]:
            if hashlib.sha256(self.bytes_of(section)).digest() != section.sha256:
                raise self.refuse(f"the section of kind {section.kind} does not have its SHA-256")
        try:
            config = ModelConfig.unpack(self.bytes_of(config_at))
        except ValueError as error:
            raise self.refuse(str(error)) from error
        front_end = self.json_object(front_end_at, "front-end")
        provenance = self.json_object(provenance_at, "provenance")
        self.json_object(tokenizer_at, "tokenizer")
        tensors = self.directory(directory_at, sections)
        if hashlib.sha256(b"".join(t.sha256 for t in tensors.values())).digest() != model_id:
            raise self.refuse("the model id is not the hash of the tensor hashes")
        return ModelFile(self.path, self.data, profile, model_id, sections, config, front_end, provenance,
                         tensors)

    def header(self) -> tuple[str, bytes, int, bytes]:
        (magic, version, header_bytes, file_bytes, count, profile, table_at, reserved, table_hash, model_id,
         header_hash) = HEADER.unpack_from(self.data, 0)
        if magic != MAGIC:
            raise ModelFileError(self.foreign(magic))
        if version > FORMAT_VERSION:
            raise ModelFileError(f"{self.path} has format version {version}, this program reads up to "
                                 f"{FORMAT_VERSION}; update the program.")
        if version < 1 or header_bytes != HEADER.size or table_at != HEADER.size:
            raise self.refuse(f"the header is damaged (version {version}, {header_bytes} bytes)")
        if file_bytes != len(self.data):
            raise self.refuse(f"the file has {len(self.data)} bytes, its header says {file_bytes}")
        if hashlib.sha256(self.data[:224]).digest() != header_hash:
            raise self.refuse("the header does not have its SHA-256")
        if reserved or any(self.data[112:224]):
            raise self.refuse("reserved bytes of the header are not zero")
        if profile >= len(PROFILES):
            raise self.refuse(f"profile {profile} is unknown")
        if not len(METADATA_KINDS) < count <= 4096:
            raise self.refuse(f"{count} sections, allowed are 6 to 4096")
        return PROFILES[profile], model_id, count, table_hash

    def foreign(self, magic: bytes) -> str:
        if magic[:4] == MAGIC[:4]:
            if struct.unpack("<I", magic[4:])[0] == 1:
                return (f"{self.path} is a .uocr file of another engine, its container version 1; convert "
                        f"the original checkpoint instead.")
            return f"{self.path} went through a text-mode transfer or is damaged: its magic is {magic.hex()}."
        if magic[:4] == b"GGUF":
            return f"{self.path} is a GGUF file, not a .uocr file; convert the original checkpoint instead."
        return f"{self.path} is no model file: it starts with {magic.hex()} instead of {MAGIC.hex()}."

    def section_table(self, count: int, table_hash: bytes) -> list[Section]:
        end = HEADER.size + count * SECTION.size
        if end > len(self.data):
            raise self.refuse(f"{count} sections do not fit into {len(self.data)} bytes")
        table = self.data[HEADER.size:end]
        if hashlib.sha256(table).digest() != table_hash:
            raise self.refuse("the section table does not have its SHA-256")
        sections: list[Section] = []
        for index, (kind, group, offset, size, reserved, digest) in enumerate(SECTION.iter_unpack(table)):
            wanted = METADATA_KINDS[index] if index < len(METADATA_KINDS) else PAYLOAD
            if kind != wanted or reserved or (kind != PAYLOAD and group):
                raise self.refuse(f"section {index} has kind {kind}, group {group}, reserved {reserved}; its "
                                  f"kind should be {wanted}")
            if offset % ALIGNMENT or offset < end or offset + size > len(self.data):
                raise self.refuse(f"section {index} at {offset} with {size} bytes does not lie in the file")
            sections.append(Section(kind, group, offset, size, digest))
            end = offset + size
        if len(self.data) % ALIGNMENT:
            raise self.refuse(f"{len(self.data)} bytes are not a multiple of {ALIGNMENT}")
        return sections

    def bytes_of(self, section: Section) -> bytes:
        return self.data[section.offset:section.offset + section.size]

    def json_object(self, section: Section, what: str) -> dict[str, Any]:
        try:
            value = json.loads(self.bytes_of(section))
        except (ValueError, RecursionError) as error:
            raise self.refuse(f"the {what} section is not JSON ({error})") from error
        if not isinstance(value, dict):
            raise self.refuse(f"the {what} section is not a JSON object")
        return value

    def directory(self, section: Section, sections: list[Section]) -> dict[str, TensorInfo]:
        raw = self.bytes_of(section)
        if len(raw) < DIRECTORY_HEAD.size:
            raise self.refuse(f"the tensor directory has only {len(raw)} bytes")
        count, entry_bytes, names_at, names_bytes, reserved = DIRECTORY_HEAD.unpack_from(raw, 0)
        if (entry_bytes != ENTRY.size or reserved or names_at != DIRECTORY_HEAD.size + count * ENTRY.size
                or names_at + names_bytes != len(raw)):
            raise self.refuse(f"a tensor directory of {count} entries does not fit its {len(raw)} bytes")
        names = raw[names_at:]
        tensors: dict[str, TensorInfo] = {}
        last = b""
        for values in ENTRY.iter_unpack(raw[DIRECTORY_HEAD.size:names_at]):
            name = names[values[0]:values[0] + values[1]]
            if not 1 <= values[1] <= 255 or values[0] + values[1] > names_bytes:
                raise self.refuse(f"a tensor name of {values[1]} bytes at {values[0]} leaves the directory")
            if name <= last:
                raise self.refuse(f"tensor names are not unique and sorted at {name!r}")
            last = name
            info = self.entry(name, values, sections)
            tensors[info.name] = info
        return tensors

    def entry(self, raw_name: bytes, values: tuple[Any, ...], sections: list[Section]) -> TensorInfo:
        (_, _, dtype, layout, rank, reason, d0, d1, d2, d3, offset, size, scale_offset, scale_size, index,
         reserved, digest) = values
        try:
            name = raw_name.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.refuse(f"the tensor name {raw_name!r} is not UTF-8") from error
        dims = (d0, d1, d2, d3)
        if dtype >= len(DTYPES) or layout or not 1 <= rank <= 4 or reason >= len(REASONS) or reserved:
            raise self.refuse(f"tensor {name} has dtype {dtype}, layout {layout}, rank {rank}, reason "
                              f"{reason} and {reserved} in a reserved place")
        shape = dims[:rank]
        if min(shape) < 1 or any(d != 1 for d in dims[rank:]):
            raise self.refuse(f"tensor {name} has the shape {dims} with rank {rank}")
        try:
            wanted = payload_bytes(DTYPES[dtype], shape)
        except ValueError as error:
            raise self.refuse(f"tensor {name}: {error}") from error
        if (size, scale_size) != wanted:
            raise self.refuse(f"tensor {name} of shape {shape} has {size} + {scale_size} bytes, needs "
                              f"{wanted[0]} + {wanted[1]}")
        if not len(METADATA_KINDS) <= index < len(sections):
            raise self.refuse(f"tensor {name} lies in section {index}, which holds no payload")
        home = sections[index]
        places = [(offset, size)] + ([(scale_offset, scale_size)] if scale_size else [])
        for start, length in places:
            if start % PAYLOAD_ALIGNMENT or start < home.offset or start + length > home.offset + home.size:
                raise self.refuse(f"tensor {name} at {start} with {length} bytes leaves its section {index}")
        if not scale_size and scale_offset:
            raise self.refuse(f"tensor {name} has a scale offset and no scales")
        return TensorInfo(name, DTYPES[dtype], shape, reason, offset, size, scale_offset, scale_size, index,
                          digest)
