"""Writes a ``.uocr`` file tensor by tensor; the final name appears only when every hash has been read back.

Source: docs/model-format.md. The sizes of the sections before the payload are known at the start, so payloads are
streamed behind them and the metadata is filled in at the end.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np

from uocr.convert.tensors import TensorSpec
from uocr.errors import OutputExists, OutputFailed
from uocr.modelconfig import RECORD_BYTES, ModelConfig
from uocr.modelfile import (
    ALIGNMENT,
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


def align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def directory_bytes(specs: Iterable[TensorSpec]) -> int:
    """Size of the tensor directory, which does not depend on the types chosen."""
    return DIRECTORY_HEAD.size + sum(ENTRY.size + len(spec.name.encode()) for spec in specs)


class ModelWriter:
    """Writes ``target`` through ``target.partial``; a context manager.

    ``specs`` are all tensors in payload order. Call ``tensor`` for each in that order, then ``finish``. Leaving the
    context without ``finish`` removes the partial file; a killed process leaves the partial file and no other trace.
    """

    def __init__(self, target: Path, specs: list[TensorSpec], profile: str, config: ModelConfig, front_end: bytes,
                 tokenizer: bytes, provenance: bytes, overwrite: bool) -> None:
        if target.exists() and not overwrite:
            raise OutputExists(f"{target} exists already; choose another name or allow overwriting.")
        self.target = target
        self.partial = target.with_name(target.name + ".partial")
        self._specs = specs
        self._profile = PROFILES.index(profile)
        self._next = 0
        self._entries: dict[str, TensorInfo] = {}
        self._metadata = [config.pack(), front_end, b"", tokenizer, provenance]
        self._groups = list(dict.fromkeys(spec.group for spec in specs))
        sizes = [RECORD_BYTES, len(front_end), directory_bytes(specs), len(tokenizer), len(provenance)]
        end = HEADER.size + SECTION.size * (len(sizes) + len(self._groups))
        self._places: list[tuple[int, int]] = []  # offset and bytes of each section
        for size in sizes:
            offset = align(end, ALIGNMENT)
            self._places.append((offset, size))
            end = offset + size
        self._end = end
        self._file = self._create()

    def _create(self) -> BinaryIO:
        try:
            file = self.partial.open("ab", buffering=0)
        except OSError as error:
            raise OutputFailed(f"{self.partial} cannot be written: {error.strerror}.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise OutputFailed(f"{self.partial} is being written by another conversion; wait for it to end.") from error
        file.close()
        file = self.partial.open("r+b", buffering=0)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.truncate(0)
        return file

    def __enter__(self) -> ModelWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if not self._file.closed:
            self._file.close()
            self.partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise OutputFailed(f"{self.target} could not be written: {os.strerror(error.errno)} after {self._end} "
                               f"bytes; make room and try again.") from error

    def tensor(self, spec: TensorSpec, dtype: str, reason: int, blocks: Iterable[Encoded],
               advance: Callable[[int], None] | None = None) -> None:
        """Append one tensor: its codes block by block, then its scales; ``advance`` is told bytes written."""
        assert spec is self._specs[self._next], f"{spec.name} out of order"
        if self._next == 0 or self._specs[self._next - 1].group != spec.group:
            self._begin_section()
        self._next += 1
        size, scale_size = payload_bytes(dtype, spec.shape)
        offset = align(self._end, PAYLOAD_ALIGNMENT)
        scale_offset = align(offset + size, PAYLOAD_ALIGNMENT) if scale_size else 0
        digest = hashlib.sha256()
        scales: list[np.ndarray] = []
        self._file.seek(offset)
        for codes, block_scales in blocks:
            self._append(codes, digest, advance)
            if block_scales is not None:
                scales.append(block_scales)
        assert self._file.tell() == offset + size, f"{spec.name} has {self._file.tell() - offset} bytes, not {size}"
        if scale_size:
            self._file.seek(scale_offset)
            for block_scales in scales:
                self._append(block_scales, digest, advance)
            assert self._file.tell() == scale_offset + scale_size, spec.name
        self._end = self._file.tell()
        index = len(self._places) - 1
        self._places[index] = (self._places[index][0], self._end - self._places[index][0])
        self._entries[spec.name] = TensorInfo(spec.name, dtype, spec.shape, reason, offset, size, scale_offset,
                                              scale_size, index, digest.digest())

    def finish(self, progress: Progress | None = None) -> tuple[int, str]:
        """Fill in the metadata, read everything back, take the final name; the file's bytes and model id in hex."""
        assert self._next == len(self._specs), "tensors are missing"
        tensors = [self._entries[name] for name in sorted(self._entries, key=str.encode)]
        self._metadata[2] = pack_directory(tensors)
        file_bytes = align(self._end, ALIGNMENT)
        table = self._section_table()
        model_id = hashlib.sha256(b"".join(t.sha256 for t in tensors)).digest()
        head = HEADER.pack(MAGIC, FORMAT_VERSION, HEADER.size, file_bytes, len(self._places), self._profile,
                           HEADER.size, 0, hashlib.sha256(table).digest(), model_id, bytes(32))
        head = head[:224] + hashlib.sha256(head[:224]).digest()
        self._file.truncate(file_bytes)
        for offset, piece in ((0, head + table), *((self._places[i][0], m) for i, m in enumerate(self._metadata))):
            self._file.seek(offset)
            write_all(self._file, piece)
        os.fsync(self._file.fileno())
        with ModelFile.open(self.partial) as written:
            written.verify(progress)
        os.replace(self.partial, self.target)
        self._file.close()
        sync_folder(self.target.parent)
        return file_bytes, model_id.hex()

    def _begin_section(self) -> None:
        self._end = align(self._end, ALIGNMENT)
        self._places.append((self._end, 0))

    def _append(self, array: np.ndarray, digest: hashlib._Hash, advance: Callable[[int], None] | None) -> None:
        data = memoryview(np.ascontiguousarray(array)).cast("B")
        digest.update(data)
        write_all(self._file, data)
        if advance:
            advance(len(data))

    def _section_table(self) -> bytes:
        rows = []
        for kind, (offset, size), data in zip(METADATA_KINDS, self._places, self._metadata, strict=False):
            assert len(data) == size
            rows.append(SECTION.pack(kind, 0, offset, size, 0, hashlib.sha256(data).digest()))
        for group, (offset, size) in zip(self._groups, self._places[len(METADATA_KINDS):], strict=True):
            rows.append(SECTION.pack(PAYLOAD, group, offset, size, 0, bytes(32)))
        return b"".join(rows)


def pack_directory(tensors: list[TensorInfo]) -> bytes:
    """The directory section for tensors that are sorted by name."""
    names = b"".join(t.name.encode() for t in tensors)
    rows = [DIRECTORY_HEAD.pack(len(tensors), ENTRY.size, DIRECTORY_HEAD.size + len(tensors) * ENTRY.size,
                                len(names), 0)]
    at = 0
    for t in tensors:
        length = len(t.name.encode())
        rows.append(ENTRY.pack(at, length, DTYPES.index(t.dtype), 0, len(t.shape), t.reason,
                               *t.shape, *[1] * (4 - len(t.shape)), t.offset, t.size, t.scale_offset, t.scale_size,
                               t.section, 0, t.sha256))
        at += length
    return b"".join([*rows, names])


def write_all(file: BinaryIO, data: bytes | memoryview) -> None:
    """Write every byte; an unbuffered write may take only a part."""
    view = memoryview(data)
    while view:
        count = file.write(view)
        view = view[count:]


def sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
