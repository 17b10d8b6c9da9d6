"""From a checkpoint folder to a ``.uocr`` file: validate, choose types, stream, verify."""

from __future__ import annotations

import math
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
from uocr.convert.writer import Encoded, Metadata, ModelWriter, check_space
from uocr.errors import ConversionError
from uocr.modelconfig import ModelConfig
from uocr.modelfile import PROFILES, Progress, payload_bytes

CONVERTER_VERSION = 2  # of the bytes it writes: raised when the same checkpoint gives another file
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

    def lines(self) -> list[str]:
        """The report in plain sentences, the most important first."""
        types = ", ".join(f"{count} {dtype}" for dtype, count in sorted(self.dtypes.items()))
        lines = [f"{self.file_bytes:,} bytes, model {self.model_id[:16]}, {self.source_tensors} source "
                 f"tensors stored as {types}"]
        lines += [f"kept in f32: {note.tensor} ({note.overflow} values beyond f16, up to {note.greatest:g})"
                  for note in self.kept_f32]
        if self.lossy:
            fewer = sum(note.subnormal for note in self.lossy)
            zero = sum(note.flushed for note in self.lossy)
            lines.append(f"small values: in {len(self.lossy)} tensors f16 holds {fewer:,} with fewer bits "
                         f"and rounds {zero:,} to 0")
        return lines + [f"config.json: {remark}" for remark in self.remarks]


def convert_checkpoint(src: Path, dst: Path, profile: str, *, progress: Progress | None = None,
                       overwrite: bool = False, front_end: Mapping[str, Any] | None = None,
                       origin: str | None = None, types: Mapping[str, str] | None = None) -> Report:
    """Convert the checkpoint folder ``src`` to the model file ``dst``.

    ``profile`` is f32, f16, q8 or q4. ``progress`` hears bytes done and bytes in total; what it raises ends
    the conversion. ``front_end`` replaces top-level front-end settings; ``origin`` (a name and revision) goes
    into the provenance; ``types`` (glob of tensor names: type) goes before the type policy. Equal inputs
    give equal bytes. Raises ConversionError, OutputExists or OutputFailed; ``dst`` is then as it was.
    """
    if profile not in PROFILES:
        raise ConversionError(f"the profile {profile!r} is unknown; choose one of {', '.join(PROFILES)}.")
    src, dst = Path(src), Path(dst)
    with Checkpoint(src) as checkpoint:
        reading = read_config(checkpoint.config, front.usable_vocab(checkpoint.tokenizer_json))
        specs = stored_tensors(reading.config)
        names = check_tensors(checkpoint, reading.config, specs)
        choices = [choose(spec.name, spec.shape, profile, types, reading.dialect) for spec in specs]
        planned = sum(sum(payload_bytes(choice.dtype, spec.shape))
                      for spec, choice in zip(specs, choices, strict=True))
        check_space(dst, planned)
        report = Report(profile, reading.dialect, len(checkpoint.tensors), remarks=reading.remarks)
        source = _Source(checkpoint, names, _Meter(progress))
        source.meter.expect(source.file_bytes + source.tensor_bytes + planned)
        provenance = source.provenance(reading.dialect, profile, origin)
        if types:
            provenance["types"] = dict(types)
        settings = front.settings_for(reading.dialect, front_end)
        metadata = Metadata(profile, reading.config, front.json_bytes(settings), checkpoint.tokenizer_json,
                            front.json_bytes(provenance))
        with ModelWriter(dst, specs, metadata, overwrite) as writer:
            for spec, choice in zip(specs, choices, strict=True):
                final = source.settle(spec, choice, report)
                report.dtypes[final.dtype] = report.dtypes.get(final.dtype, 0) + 1
                writer.tensor(spec, final.dtype, final.reason, source.encoded(spec, final.dtype))
            report.file_bytes, report.model_id = writer.finish(source.meter.last_stage())
    return report


def check_tensors(checkpoint: Checkpoint, config: ModelConfig, specs: list[TensorSpec]) -> dict[str, str]:
    """Compare the checkpoint's tensors with what ``config`` needs; published names to those found."""
    wanted = {source: spec.source_shape for spec in specs for source in spec.sources}
    names = {source: source for source in wanted}
    spellings = [name for name in SEPARATOR_SPELLINGS if name in checkpoint.tensors]
    if len(spellings) == 2:
        raise ConversionError(f"{checkpoint.folder}: the checkpoint holds both {' and '.join(spellings)}.")
    names[SEPARATOR_SPELLINGS[0]] = (spellings or SEPARATOR_SPELLINGS)[0]
    if any(name.startswith("model.language_model.") for name in checkpoint.tensors):
        raise ConversionError(f"{checkpoint.folder}: the tensors have the names that transformers uses "
                              "inside; save the model again with save_original_format=True.")
    for source, shape in wanted.items():
        if names[source] not in checkpoint.tensors:
            raise ConversionError(f"{checkpoint.folder}: the tensor {source} of shape {list(shape)} is "
                                  f"missing.")
    optional = {unused.source: unused.source_shape for unused in unused_tensors(config)}
    allowed = {names[source]: shape for source, shape in wanted.items()} | optional
    for name, found in checkpoint.tensors.items():
        if name not in allowed:
            count = len(set(checkpoint.tensors) - set(allowed))
            raise ConversionError(f"{found.file}: the tensor {name} of shape {list(found.shape)} has no "
                                  f"place in this network ({count} such tensors).")
        if found.shape != allowed[name]:
            raise ConversionError(f"{found.file}: the tensor {name} has the shape {list(found.shape)}, "
                                  f"config.json asks for {list(allowed[name])}.")
    return names


class _Meter:
    """Adds up the bytes of hashing, converting and reading back for one progress callback."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._total = 0
        self._done = 0

    def expect(self, total: int) -> None:
        self._total = total

    def advance(self, count: int) -> None:
        self._done += count
        if self._progress:
            self._progress(min(self._done, self._total), self._total)

    def last_stage(self) -> Progress:
        """A progress callback for reading back; its own total corrects the one expected."""
        base = self._done

        def progress(done: int, total: int) -> None:
            self._total = base + total
            self.advance(base + done - self._done)

        return progress


class _Source:
    """The values of a validated checkpoint; ``names`` maps published names to those in the checkpoint."""

    def __init__(self, checkpoint: Checkpoint, names: Mapping[str, str], meter: _Meter) -> None:
        self.checkpoint = checkpoint
        self.names = names
        self.meter = meter
        self.tensor_bytes = sum(checkpoint.tensors[name].size for name in names.values())
        self.file_bytes = sum(file.stat().st_size for file in checkpoint.files)

    def provenance(self, dialect: str, profile: str, origin: str | None) -> dict[str, Any]:
        """Where the file comes from: every source file with its size and SHA-256."""
        folder = self.checkpoint.folder
        texts = [folder / name for name in ("config.json", "tokenizer.json") if (folder / name).is_file()]
        files = {file.name: {"bytes": file.stat().st_size, "sha256": file_sha256(file, self.meter.advance)}
                 for file in self.checkpoint.files}
        files |= {file.name: {"bytes": file.stat().st_size, "sha256": file_sha256(file)} for file in texts}
        record = {"converter": CONVERTER_VERSION, "dialect": dialect, "files": files, "profile": profile,
                  "source_tensors": len(self.checkpoint.tensors)}
        return record | ({"origin": origin} if origin else {})

    def blocks(self, spec: TensorSpec) -> Iterator[np.ndarray]:
        """Float32 blocks of rows, all sources one after the other."""
        for source in spec.sources:
            yield from self.checkpoint.rows(self.names[source], spec.source_rows, spec.channels_last, BLOCK)

    def settle(self, spec: TensorSpec, choice: Choice, report: Report) -> Choice:
        """The final type of a tensor, once all its values were seen; ``report`` notes what f16 loses."""
        seen = Range()
        for block in self.blocks(spec):
            seen.add(block, counted=choice.dtype == "f16")
            if math.isnan(seen.greatest):
                raise ConversionError(f"{self.checkpoint.folder}: the tensor {spec.name} holds an infinite "
                                      f"value or NaN; the checkpoint is damaged, download it again.")
        note = RangeNote(spec.name, seen.overflow, seen.subnormal, seen.flushed, seen.greatest)
        if not fits(seen.greatest, choice.dtype):
            report.kept_f32.append(note)
            return Choice("f32", RANGE)
        if seen.subnormal or seen.flushed:
            report.lossy.append(note)
        return choice

    def encoded(self, spec: TensorSpec, dtype: str) -> Iterator[Encoded]:
        """Stored codes and scales, block by block; tells the meter the source bytes used up."""
        itemsize = self.checkpoint.tensors[self.names[spec.sources[0]]].itemsize
        for block in self.blocks(spec):
            yield encode(block, dtype)
            self.meter.advance(block.size * itemsize)
