"""Files changed or cut at random: pages or one clear error, never anything else."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from uocr.errors import InputError
from uocr.sources import Limits, open_source

LIMITS = Limits(max_pixels=20_000_000, max_pages=50)


def mutant(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, one time in three the end cut off too."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 10, 40))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed[:rng.randrange(1, len(changed))] if rng.random() < 0.3 else changed)


def outcome(data: bytes, seen: Counter[str]) -> None:
    """Open `data` and read its pages, counting what comes; fails on anything but pages and InputErrors."""
    try:
        with open_source(data, dpi=36, limits=LIMITS) as source:
            for i in range(len(source)):
                try:
                    size = source.page_size(i)
                    assert source.page(i).image.size == size
                    seen["page"] += 1
                except InputError as error:
                    seen[one_sentence(error)] += 1
    except InputError as error:
        seen[one_sentence(error)] += 1


def one_sentence(error: InputError) -> str:
    message = str(error)
    assert "\n" not in message and message.endswith(".") and len(message) < 500
    return type(error).__name__


def run(files: dict[str, Path], count: int, seed: int) -> Counter[str]:
    rng = random.Random(seed)
    samples = [path.read_bytes() for name, path in files.items() if not name.startswith(("extreme", "empty"))]
    seen: Counter[str] = Counter()
    for _ in range(count):
        outcome(mutant(rng.choice(samples), rng), seen)
    return seen


@pytest.mark.filterwarnings("error")
def test_300_mutants(files: dict[str, Path]):
    seen = run(files, 300, seed=1)
    assert seen["page"] > 50 and seen["UnreadableFile"] > 50


@pytest.mark.slow
def test_20000_mutants(files: dict[str, Path]):
    seen = run(files, 20_000, seed=2)
    assert seen["page"] > 5000 and seen["UnreadableFile"] > 5000
