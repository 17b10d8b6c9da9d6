"""Whole runs, tested by C programs on a tiny model, and by Python on the golden one.

The programs run with the address and undefined-behaviour sanitizers where the compiler has them; that whose
runs are cancelled from another thread also under the thread sanitizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from c_programs import ADDRESS, THREAD, compiler, run, sanitizes
from uocr import native
from whole_engine import build_with_engine

PROGRAMS = ["test_positions", "test_run", "test_run_memory", "test_run_plan", "test_run_tokens"]

needs_compiler = pytest.mark.skipif(not compiler(),
                                    reason="no C compiler: install one, or the PyPI package ziglang")


def run_program(name: str, sanitizer: str) -> str:
    program = build_with_engine(name, sanitizer)
    try:
        return run(program)
    finally:
        program.unlink()


@needs_compiler
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_check_of_the_program_holds(name: str) -> None:
    output = run_program(name, ADDRESS if sanitizes(ADDRESS) else "")
    assert re.search(r"^[1-9]\d* checks held, 0 failed$", output, re.MULTILINE), output


@needs_compiler
def test_no_data_race_is_found_in_runs() -> None:
    if not sanitizes(THREAD):
        pytest.skip("this compiler has no thread sanitizer")
    run_program("test_run", THREAD)


# -- the golden model --


@pytest.fixture(scope="module")
def engine(golden_model: Path) -> Iterator[native.Engine]:
    with native.Engine(golden_model, precision="exact") as opened:
        yield opened


def tokens_of(engine: native.Engine, plan: native.Plan) -> tuple[list[int], str]:
    """Reads grey views to the end."""
    tokens = []
    with engine.begin(plan) as run:
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                size = 640 if event.view < plan.crop_cols * plan.crop_rows else plan.global_size
                run.feed(event.view, np.full((size, size, 3), 200, np.uint8))
            elif event.kind == native.TOKEN:
                tokens.append(event.token)
    return tokens, event.finish


def test_ten_thousand_tokens_take_the_memory_of_a_hundred(engine: native.Engine) -> None:
    peaks = []
    for count in (100, 10_000):
        plan = native.Plan([0, 17, 18, 19], pages=0, max_new_tokens=count, ignore_eos=True, loop_history=0)
        tokens, finish = tokens_of(engine, plan)
        assert (len(tokens), finish) == (count, "length")
        peaks.append(engine.memory().peak)
    assert peaks[0] == peaks[1]


@pytest.mark.parametrize(("pages", "size", "cols", "rows"), [(1, 640, 0, 0), (1, 512, 2, 1), (3, 512, 0, 0)])
def test_a_run_takes_what_was_promised(engine: native.Engine, pages: int, size: int, cols: int,
                                       rows: int) -> None:
    side = size // 64
    count = pages * (side * (side + 1) + 1) + 10 * rows * (10 * cols + 1 if rows else 0)
    plan = native.Plan([0, *[500] * count, 3], pages=pages, global_size=size, crop_cols=cols, crop_rows=rows,
                       max_new_tokens=5, ignore_eos=True)
    before, promised = engine.memory().current_total, engine.estimate(plan)
    tokens_of(engine, plan)
    taken = engine.memory()
    for name, most in promised.category.items():
        assert most - max(0.02 * most, 65_536) <= taken.peak[name] <= most, name
    assert taken.peak_total <= promised.total
    assert taken.current_total == before
