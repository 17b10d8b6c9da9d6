"""Writes a ``.uocr`` file tensor by tensor; the final name appears only when every hash has been read back.

Source: docs/model-format.md. The sizes of the sections before the payload are known at the start, so payloads
are streamed behind them and the metadata is filled in at the end.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np

from uocr.convert.tensors import TensorSpec
from uocr.errors import OutputExists, OutputFailed
from uocr.modelconfig import RECORD_BYTES, ModelConfig
from uocr.modelfile import (
    ALIGNMENT,
    DIRECTORY,
    DIRECTORY_HEAD,
    DTYPES,
    ENTRY,
    FORMAT_VERSION,
    HEADER,
    MAGIC,
    METADATA_KINDS,
    PAYLOAD,
    PAYLOAD_ALIGNMENT,
    PROFILES,
    SECTION,
    ModelFile,
    Progress,
    TensorInfo,
    payload_bytes,
)

Encoded = tuple[np.ndarray, np.ndarray | None]  # codes and f16 scales of some rows
SPACE_MARGIN = 64 << 20  # bytes left free on the disk, padding and metadata included


@dataclass(frozen=True)
class Metadata:
    """What a model file says before its weights; ``front_end`` and ``provenance`` are JSON."""

    profile: str
    config: ModelConfig
    front_end: bytes
    tokenizer: bytes
    provenance: bytes


class ModelWriter:
    """Writes ``target`` through ``target.partial``; a context manager.

    ``specs`` are all tensors in payload order. Call ``tensor`` for each in that order, then ``finish``.
    Leaving the context without ``finish`` removes the partial file; a killed process leaves it, and no other
    trace.
    """

    def __init__(self, target: Path, specs: list[TensorSpec], metadata: Metadata, overwrite: bool) -> None:
        self.target = target
        self.partial = target.with_name(target.name + ".partial")
        self._overwrite = overwrite
        self._refuse_existing()
        self._specs = specs
        self._next = 0
        self._entries: dict[str, TensorInfo] = {}
        self._profile = PROFILES.index(metadata.profile)
        self._metadata = [metadata.config.pack(), metadata.front_end, b"", metadata.tokenizer,
                          metadata.provenance]
        self._groups = list(dict.fromkeys(spec.group for spec in specs))
        sizes = [RECORD_BYTES, *(len(data) for data in self._metadata[1:])]
        sizes[METADATA_KINDS.index(DIRECTORY)] = directory_bytes(specs)
        self._end = HEADER.size + SECTION.size * (len(sizes) + len(self._groups))
        self._places: list[tuple[int, int]] = []  # offset and bytes in use of each section
        for size in sizes:
            offset = align(self._end, ALIGNMENT)
            self._places.append((offset, size))
            self._end = offset + size
        self._file = self._create()

    def __enter__(self) -> ModelWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if not self._file.closed:
            self.partial.unlink(missing_ok=True)
            self._file.close()
        if isinstance(error, OSError):
            raise OutputFailed(f"{self.target} could not be written after {self._end:,} bytes: "
                               f"{error.strerror}; make room or choose another place and try "
                               f"again.") from error

    def tensor(self, spec: TensorSpec, dtype: str, reason: int, blocks: Iterable[Encoded]) -> None:
        """Append one tensor: its codes block by block, then its scales."""
        assert spec is self._specs[self._next], f"{spec.name} out of order"
        if self._next == 0 or self._specs[self._next - 1].group != spec.group:
            self._end = align(self._end, ALIGNMENT)
            self._places.append((self._end, 0))
        self._next += 1
        size, scale_size = payload_bytes(dtype, spec.shape)
        offset = align(self._end, PAYLOAD_ALIGNMENT)
        scale_offset = align(offset + size, PAYLOAD_ALIGNMENT) if scale_size else 0
        digest = hashlib.sha256()
        scales: list[np.ndarray] = []
        self._file.seek(offset)
        for codes, block_scales in blocks:
            self._append(codes, digest.update)
            if block_scales is not None:
                scales.append(block_scales)
        assert self._file.tell() == offset + size, spec.name
        if scale_size:
            self._file.seek(scale_offset)
            for block_scales in scales:
                self._append(block_scales, digest.update)
            assert self._file.tell() == scale_offset + scale_size, spec.name
        self._end = self._file.tell()
        index = len(self._places) - 1
        self._places[index] = (self._places[index][0], self._end - self._places[index][0])
        self._entries[spec.name] = TensorInfo(spec.name, dtype, spec.shape, reason, offset, size,
                                              scale_offset, scale_size, index, digest.digest())

    def finish(self, progress: Progress | None = None) -> tuple[int, str]:
        """Fill in the metadata, read everything back, take the final name.

        Returns the bytes of the file and its model id in hex; ``progress`` hears the bytes read back.
        """
        assert self._next == len(self._specs), "tensors are missing"
        tensors = [self._entries[name] for name in sorted(self._entries, key=str.encode)]
        self._metadata[METADATA_KINDS.index(DIRECTORY)] = pack_directory(tensors)
        file_bytes = align(self._end, ALIGNMENT)
        table = self._section_table()
        model_id = hashlib.sha256(b"".join(t.sha256 for t in tensors)).digest()
        head = HEADER.pack(MAGIC, FORMAT_VERSION, HEADER.size, file_bytes, len(self._places), self._profile,
                           HEADER.size, 0, hashlib.sha256(table).digest(), model_id, bytes(32))
        head = head[:224] + hashlib.sha256(head[:224]).digest()
        self._file.truncate(file_bytes)
        self._write_at(0, head + table)
        for data, (offset, _size) in zip(self._metadata, self._places, strict=False):
            self._write_at(offset, data)
        os.fsync(self._file.fileno())
        with ModelFile.open(self.partial) as written:
            written.verify(progress)
        self._refuse_existing()
        os.replace(self.partial, self.target)
        self._file.close()
        sync_folder(self.target.parent)
        return file_bytes, model_id.hex()

    def _refuse_existing(self) -> None:
        if self.target.exists() and not self._overwrite:
            raise OutputExists(f"{self.target} exists already; choose another name or allow overwriting.")

    def _create(self) -> BinaryIO:
        """The empty partial file, locked, so that two conversions to one name do not mix."""
        try:
            handle = os.open(self.partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise OutputFailed(f"{self.partial} cannot be written: {error.strerror}.") from error
        file = os.fdopen(handle, "r+b", buffering=0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The other writer may have renamed or removed the file between our opening and our locking it.
            if not os.path.samestat(os.fstat(handle), os.stat(self.partial)):
                raise FileNotFoundError
            file.truncate(0)
        except OSError as error:
            file.close()
            raise OutputFailed(f"{self.partial} is in use by another conversion; wait for it to "
                               f"end.") from error
        return file

    def _write_at(self, offset: int, data: bytes) -> None:
        self._file.seek(offset)
        write_all(self._file, data)

    def _append(self, array: np.ndarray, hash_update: Callable[[memoryview], None]) -> None:
        data = np.ascontiguousarray(array).data.cast("B")
        hash_update(data)
        write_all(self._file, data)

    def _section_table(self) -> bytes:
        rows = []
        for kind, (offset, size), data in zip(METADATA_KINDS, self._places, self._metadata, strict=False):
            assert len(data) == size
            rows.append(SECTION.pack(kind, 0, offset, size, 0, hashlib.sha256(data).digest()))
        for group, (offset, size) in zip(self._groups, self._places[len(METADATA_KINDS):], strict=True):
            rows.append(SECTION.pack(PAYLOAD, group, offset, size, 0, bytes(32)))
        return b"".join(rows)


def check_space(target: Path, payload: int) -> None:
    """Refuse before the start if the disk of ``target`` cannot take ``payload`` bytes and the padding."""
    try:
        free = shutil.disk_usage(target.parent).free
    except OSError as error:
        raise OutputFailed(f"{target.parent} cannot be written: {error.strerror}.") from error
    needed = payload + SPACE_MARGIN
    if free < needed:
        raise OutputFailed(f"{target} needs {needed / 1e6:,.0f} MB, the disk has {free / 1e6:,.0f} MB free; "
                           f"make room and try again.")


def align(offset: int, alignment: int) -> int:
    """The next multiple of ``alignment`` from ``offset`` on."""
    return -(-offset // alignment) * alignment


def directory_bytes(specs: Iterable[TensorSpec]) -> int:
    """Size of the tensor directory, which does not depend on the types chosen."""
    return DIRECTORY_HEAD.size + sum(ENTRY.size + len(spec.name.encode()) for spec in specs)


def pack_directory(tensors: list[TensorInfo]) -> bytes:
    """The directory section for tensors that are sorted by name."""
    names = [tensor.name.encode() for tensor in tensors]
    rows = [DIRECTORY_HEAD.pack(len(tensors), ENTRY.size, DIRECTORY_HEAD.size + len(tensors) * ENTRY.size,
                                sum(map(len, names)), 0)]
    at = 0
    for t, name in zip(tensors, names, strict=True):
        shape = (*t.shape, *[1] * (4 - len(t.shape)))
        rows.append(ENTRY.pack(at, len(name), DTYPES.index(t.dtype), 0, len(t.shape), t.reason, *shape,
                               t.offset, t.size, t.scale_offset, t.scale_size, t.section, 0, t.sha256))
        at += len(name)
    return b"".join([*rows, *names])


def write_all(file: BinaryIO, data: bytes | memoryview) -> None:
    """Write every byte; an unbuffered write may take only a part."""
    view = memoryview(data)
    while view:
        view = view[file.write(view):]


def sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
