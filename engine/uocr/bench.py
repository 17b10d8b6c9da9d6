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


@contextmanager
def random_full_model(profile: str) -> Iterator[Path]:
    """A temporary model of the full shapes with random weights (1.9 GB as q4)."""
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
