"""Runs every part of the golden check on a set's own checkpoint."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from uocr import errors, native
from uocr.convert import convert_checkpoint
from uocr.golden import inputs, network
from uocr.golden.compare import GoldenSet, Result
from uocr.golden.pictures import picture

PARTS = ("pixels", "text", "layout", "ngram", "vision", "decoder")


def check_golden(
    folder: Path,
    *,
    profile: str = "f32",
    precision: str = "exact",
    threads: int = 0,
    simd: str = "auto",
    parts: tuple[str, ...] = PARTS,
) -> Iterator[Result]:
    """Yields one Result an array. f32 weights in EXACT precision must give ratios of at most 1 everywhere.

    Other profiles and FAST follow the stored tokens (teacher forcing) and report how far they are.
    Raises InvalidRequest when `folder` is no golden set.
    """
    if not (folder / "index.json").is_file() or not (folder / "model").is_dir():
        raise errors.InvalidRequest(f"{folder} is no golden set: it has no index.json beside a folder model.")
    golden = GoldenSet(folder)

    @lru_cache(maxsize=4)
    def pictures(name: str) -> Any:
        return picture(golden.index["set"], name)

    if "pixels" in parts:
        yield from inputs.check_pixels(golden, pictures)
    if "text" in parts:
        yield from inputs.check_text(golden)
    with tempfile.TemporaryDirectory(prefix="uocr-golden-") as scratch:
        model = Path(scratch) / f"golden-{profile}.uocr"
        convert_checkpoint(folder / "model", model, profile)
        with native.Engine(model, precision=precision, threads=threads, simd=simd) as engine:
            if "layout" in parts:
                yield from network.check_layout(golden, engine)
            if "ngram" in parts:
                yield from network.check_ngram(golden, engine)
            if "vision" in parts:
                yield from network.check_vision(golden, engine, pictures)
            if "decoder" in parts:
                exact = profile == "f32" and precision == "exact"
                yield from network.check_decoder(golden, engine, pictures, forced=not exact)
