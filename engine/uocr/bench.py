"""Speed of the engine in this process: decode and prefill rates, seconds a view.

The figures come from the engine's own clock around each phase. Nothing is compared here: see bench/peers for that.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from uocr import errors, native
from uocr.convert.random_full import write_random_model
from uocr.views import visual_tokens


@dataclass(slots=True)
class Figures:
    """What was measured. Rates in tokens a second, the rest in seconds; None where not measured."""

    open_s: float
    decode_tokens_per_s: float
    prefill_tokens_per_s: float
    view_1024_s: float | None
    view_640_s: float | None
    prompt_tokens: int
    threads: int
    simd: str
    quantisation: str
    peak_bytes: int
    profile: list[native.ProfileRow] = field(default_factory=list)

    def as_dict(self) -> dict[str, float | int | str | None]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "profile"}


@dataclass(slots=True)
class PhaseTrace:
    """What one phase of a page asked of the GPU, in all: kernels, command buffers, bytes read and written."""

    phase: str
    unit: str
    units: int
    dispatches: int
    command_buffers: int
    read: int
    written: int


@dataclass(slots=True)
class Trace:
    """What a page took, counted and not timed. `phases` is empty on a back end without dispatches."""

    backend: str
    phases: list[PhaseTrace]
    operators: list[native.ProfileRow]

    def as_dict(self) -> dict[str, object]:
        return {
            "backend": self.backend,
            "phases": [{name: getattr(p, name) for name in PhaseTrace.__dataclass_fields__} for p in self.phases],
            "operators": [{"name": row.name, "calls": row.calls, "bytes": row.bytes} for row in self.operators],
        }


@contextmanager
def random_full_model(profile: str) -> Iterator[Path]:
    """A temporary model of the full shapes with random weights (2.0 GB as q4)."""
    if profile not in ("f16", "q8", "q4"):
        raise errors.InvalidRequest(f"--random-full is {profile!r}; choose f16, q8 or q4.")
    with tempfile.TemporaryDirectory(prefix="uocr-bench-") as folder:
        path = Path(folder) / f"random-full-{profile}.uocr"
        write_random_model(path, profile, seed=1)
        yield path


def measure(
    path: Path,
    *,
    threads: int = 0,
    precision: str = "fast",
    decode_tokens: int = 64,
    views: bool = True,
    profile: bool = False,
) -> Figures:
    """Opens the model and times one page of 1024 pixels, `decode_tokens` tokens and one view of 640 pixels."""
    start = time.perf_counter()
    with native.Engine(path, threads=threads, precision=precision, profile=profile) as engine:
        open_s = time.perf_counter() - start
        last, prompt = _run(engine, 1024, decode_tokens, encode=views)
        view_640 = _run(engine, 640, 1, encode=True)[0].vision_s if views else None
        info = engine.info()
        return Figures(
            open_s,
            last.done / last.decode_s if last.decode_s else 0.0,
            prompt / last.prefill_s if last.prefill_s else 0.0,
            last.vision_s if views else None,
            view_640,
            prompt,
            info.threads,
            info.simd,
            info.profile,
            engine.memory().peak_total,
            engine.profile() if profile else [],
        )


_COUNTERS = ("dispatches", "written", "command buffers")


def trace(path: Path, *, size: int = 1024, threads: int = 0, precision: str = "fast", tokens: int = 64) -> Trace:
    """Counts what one page of `size` pixels and `tokens` tokens ask of the back end."""
    with native.Engine(path, threads=threads, precision=precision, profile=native.PROFILE_COUNTS) as engine:
        last, prompt = _run(engine, size, tokens, encode=True)
        rows = {row.name: row for row in engine.profile()}
        units = {
            "vision": (f"a view of {size} pixels", 1),
            "prefill": ("a prompt token", prompt),
            "decode": ("a token", last.done),
        }
        phases = [
            PhaseTrace(
                phase,
                unit,
                count,
                rows[f"{phase}/dispatches"].calls,
                rows[f"{phase}/command buffers"].calls,
                rows[f"{phase}/dispatches"].bytes,
                rows[f"{phase}/written"].bytes,
            )
            for phase, (unit, count) in units.items()
            if f"{phase}/dispatches" in rows
        ]
        operators = [row for name, row in rows.items() if name.split("/")[-1] not in _COUNTERS]
        return Trace(engine.info().backend, phases, operators)


def _run(engine: native.Engine, size: int, tokens: int, *, encode: bool) -> tuple[native.Event, int]:
    info = engine.info()
    rows = visual_tokens(size)
    ids = [info.bos_id, *[info.image_id] * rows, *[min(7, info.usable_vocab - 1)] * 3]
    page = np.full((size, size, 3), 255, np.uint8)
    page[::5] = 0
    plan = native.Plan(ids, global_size=size, max_new_tokens=tokens, ignore_eos=True, ngram_size=0, loop_history=0)
    with engine.begin(plan) as run:
        if not encode:
            run.set_rows(np.random.default_rng(1).normal(0, 0.02, (rows, info.hidden_size)).astype(np.float32))
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                run.feed(event.view, page)
    return event, len(ids)
