"""From a checkpoint folder to a ``.uocr`` file: validate, choose types, stream, verify."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from uocr.convert import front_end as front
from uocr.convert.checkpoint import Checkpoint, file_sha256
from uocr.convert.dialects import read_config
from uocr.convert.policy import RANGE, Choice, choose
from uocr.convert.quantize import Range, encode, fits
from uocr.convert.tensors import SEPARATOR_SPELLINGS, TensorSpec, stored_tensors, unused_tensors
from uocr.convert.writer import ModelWriter
from uocr.errors import ConversionError, OutputFailed
from uocr.modelconfig import ModelConfig
from uocr.modelfile import PROFILES, Progress, payload_bytes

CONVERTER_VERSION = 1  # of the bytes it writes: raised when the same checkpoint gives another file
SPACE_MARGIN = 64 << 20  # bytes left free on the disk, padding and metadata included
BLOCK = 1 << 20  # elements that are in memory at a time, in about six copies


@dataclass(frozen=True)
class RangeNote:
    """Values of one tensor that f16 cannot hold (``overflow``) or holds with loss; ``greatest`` magnitude."""

    tensor: str
    overflow: int
    subnormal: int
    flushed: int
    greatest: float


@dataclass
class Report:
    """What a conversion did. Sizes in bytes; ``dtypes`` counts stored tensors by type."""

    profile: str
    dialect: str
    source_tensors: int
    file_bytes: int = 0
    model_id: str = ""
    dtypes: dict[str, int] = field(default_factory=dict)
    kept_f32: list[RangeNote] = field(default_factory=list)  # a value left the range of f16
    lossy: list[RangeNote] = field(default_factory=list)  # f16 holds small values with fewer bits or as 0
    remarks: list[str] = field(default_factory=list)


def convert_checkpoint(src: Path, dst: Path, profile: str, *, progress: Progress | None = None,
                       overwrite: bool = False, front_end: Mapping[str, Any] | None = None,
                       origin: str | None = None) -> Report:
    """Convert the checkpoint folder ``src`` to the model file ``dst``.

    ``profile`` is f32, f16, q8 or q4. ``progress`` hears bytes done and bytes in total. ``front_end`` replaces
    top-level front-end settings; ``origin`` (a name and revision) goes into the provenance. Equal inputs give equal
    bytes. Raises ConversionError, OutputExists or OutputFailed; ``dst`` is then as it was.
    """
    if profile not in PROFILES:
        raise ConversionError(f"the profile {profile!r} is unknown; choose one of {', '.join(PROFILES)}.")
    src, dst = Path(src), Path(dst)
    with Checkpoint(src) as checkpoint:
        reading = read_config(checkpoint.config, front.usable_vocab(checkpoint.tokenizer_json))
        specs = stored_tensors(reading.config)
        sources = check_tensors(checkpoint, reading.config, specs)
        choices = {spec.name: choose(spec.name, spec.shape, profile) for spec in specs}
        planned = planned_bytes(specs, choices)
        check_space(dst, planned)
        report = Report(profile, reading.dialect, len(checkpoint.tensors), remarks=reading.remarks)
        source_bytes = sum(checkpoint.tensors[name].size for name in sources.values())
        file_total = sum(file.stat().st_size for file in checkpoint.files)
        meter = _Meter(progress, file_total + source_bytes + planned)
        provenance = _provenance(checkpoint, reading.dialect, profile, origin, meter)
        settings = front.json_bytes(front.settings_for(reading.dialect, front_end))
        with ModelWriter(dst, specs, profile, reading.config, settings, checkpoint.tokenizer_json, provenance,
                         overwrite) as writer:
            for spec in specs:
                choice = _settle(checkpoint, spec, sources, choices[spec.name], report)
                report.dtypes[choice.dtype] = report.dtypes.get(choice.dtype, 0) + 1
                writer.tensor(spec, choice.dtype, choice.reason,
                              _encoded(checkpoint, spec, sources, choice.dtype, meter))
            written = writer.finish(
                lambda done, total: meter.at(file_total + source_bytes + done, file_total + source_bytes + total))
        report.file_bytes, report.model_id = written
    return report


def check_tensors(checkpoint: Checkpoint, config: ModelConfig, specs: list[TensorSpec]) -> dict[str, str]:
    """Compare the checkpoint's tensors with what ``config`` needs: expected name to the name in the checkpoint."""
    wanted = {source: spec.source_shape for spec in specs for source in spec.sources}
    names = {source: source for source in wanted}
    spellings = [name for name in SEPARATOR_SPELLINGS if name in checkpoint.tensors]
    if len(spellings) == 2:
        raise ConversionError(f"{checkpoint.folder}: the checkpoint holds both {' and '.join(spellings)}.")
    names[SEPARATOR_SPELLINGS[0]] = (spellings or SEPARATOR_SPELLINGS)[0]
    optional = {unused.source: unused.source_shape for unused in unused_tensors(config)}
    for source, shape in wanted.items():
        found = checkpoint.tensors.get(names[source])
        if found is None:
            raise ConversionError(f"{checkpoint.folder}: the tensor {source} of shape {list(shape)} is missing.")
        if found.shape != shape:
            raise ConversionError(f"{found.file}: the tensor {names[source]} has the shape {list(found.shape)}, "
                                  f"config.json asks for {list(shape)}.")
    for name, found in checkpoint.tensors.items():
        if name in optional and found.shape != optional[name]:
            raise ConversionError(f"{found.file}: the tensor {name} has the shape {list(found.shape)}, "
                                  f"config.json asks for {list(optional[name])}.")
    extra = sorted(set(checkpoint.tensors) - set(names.values()) - set(optional))
    if extra:
        first = checkpoint.tensors[extra[0]]
        raise ConversionError(f"{first.file}: the tensor {extra[0]} of shape {list(first.shape)} has no place in this "
                              f"network ({len(extra)} such tensors).")
    return names


def planned_bytes(specs: list[TensorSpec], choices: Mapping[str, Choice]) -> int:
    """Bytes of all payloads before any value is seen."""
    return sum(sum(payload_bytes(choices[spec.name].dtype, spec.shape)) for spec in specs)


def check_space(target: Path, payload: int) -> None:
    """Refuse before the start if the disk of ``target`` cannot take the file; ``payload`` in bytes."""
    try:
        free = shutil.disk_usage(target.parent).free
    except OSError as error:
        raise OutputFailed(f"{target.parent} cannot be written: {error.strerror}.") from error
    needed = payload + SPACE_MARGIN
    if free < needed:
        raise OutputFailed(f"{target} needs {needed / 1e6:,.0f} MB, the disk has {free / 1e6:,.0f} MB free; make room "
                           f"and try again.")


class _Meter:
    """Adds up the bytes of hashing, converting and verifying for one progress callback."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def advance(self, count: int) -> None:
        self.at(self._done + count, self._total)

    def at(self, done: int, total: int) -> None:
        self._done, self._total = done, total
        if self._progress:
            self._progress(min(done, total), total)


def _provenance(checkpoint: Checkpoint, dialect: str, profile: str, origin: str | None, meter: _Meter) -> bytes:
    files = {file.name: {"bytes": file.stat().st_size, "sha256": file_sha256(file, meter.advance)}
             for file in checkpoint.files}
    for name in ("config.json", "tokenizer.json"):
        path = checkpoint.folder / name
        if path.is_file():
            files[name] = {"bytes": path.stat().st_size, "sha256": file_sha256(path, lambda _count: None)}
    record: dict[str, Any] = {"converter": CONVERTER_VERSION, "dialect": dialect, "files": files, "profile": profile,
                              "source_tensors": len(checkpoint.tensors)}
    return front.json_bytes(record | ({"origin": origin} if origin else {}))


def _blocks(checkpoint: Checkpoint, spec: TensorSpec, sources: Mapping[str, str]) -> Iterator[np.ndarray]:
    for source in spec.sources:
        yield from checkpoint.rows(sources[source], spec.source_rows, spec.channels_last, BLOCK)


def _settle(checkpoint: Checkpoint, spec: TensorSpec, sources: Mapping[str, str], choice: Choice,
            report: Report) -> Choice:
    """The final type of a tensor, once all its values were seen; notes in ``report`` what f16 loses."""
    seen = Range()
    for block in _blocks(checkpoint, spec, sources):
        seen.add(block, counted=choice.dtype == "f16")
        if math.isnan(seen.greatest):
            raise ConversionError(f"{checkpoint.folder}: the tensor {spec.name} holds an infinite value or NaN; the "
                                  f"checkpoint is damaged.")
    note = RangeNote(spec.name, seen.overflow, seen.subnormal, seen.flushed, seen.greatest)
    if not fits(seen.greatest, choice.dtype):
        report.kept_f32.append(note)
        return Choice("f32", RANGE)
    if seen.subnormal or seen.flushed:
        report.lossy.append(note)
    return choice


def _encoded(checkpoint: Checkpoint, spec: TensorSpec, sources: Mapping[str, str], dtype: str,
             meter: _Meter) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    for source in spec.sources:
        tensor = checkpoint.tensors[sources[source]]
        for block in checkpoint.rows(sources[source], spec.source_rows, spec.channels_last, BLOCK):
            yield encode(block, dtype)
            meter.advance(block.size * tensor.itemsize)
