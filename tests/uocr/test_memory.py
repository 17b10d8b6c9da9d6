"""Memory: what was promised, what was counted, and what the operating system saw."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from uocr import native
from uocr.views import visual_tokens

from tests.conftest import BUILT_IN

WATCHED = """
import sys
import numpy as np
from uocr import native
from uocr.views import visual_tokens

def resident():
    text = open("/proc/self/status").read()
    return int(text.split("RssAnon:")[1].split()[0]) * 1024

native.library()
size, cols, rows = map(int, sys.argv[2:5])
view = {s: np.full((s, s, 3), 200, np.uint8) for s in (size, 640)}
count = visual_tokens(size, *((cols, rows) if cols else (1, 1)))
before = resident()
engine = native.Engine(sys.argv[1], precision=sys.argv[5])
info = engine.info()
ids = [info.bos_id, *[info.image_id] * count, 70, 403]
plan = native.Plan(ids, global_size=size, crop_cols=cols, crop_rows=rows, max_new_tokens=200, ignore_eos=True,
                   loop_history=0)
estimate = engine.estimate(plan)
peak = 0
with engine.begin(plan) as run:
    for event in run.events():
        if event.kind == native.NEED_VIEW:
            run.feed(event.view, view[size if event.view == cols * rows else 640])
        if event.kind != native.TOKEN or event.done % 50 == 0:
            peak = max(peak, resident())
print(peak - before, estimate.total - estimate.category["model views"])
"""


def plan_for(engine: native.Engine, tokens: int, size: int = 512) -> native.Plan:
    info = engine.info()
    ids = [info.bos_id, *[info.image_id] * visual_tokens(size), 7]
    return native.Plan(ids, global_size=size, max_new_tokens=tokens, ignore_eos=True, ngram_size=0, loop_history=0)


def run_to_the_end(engine: native.Engine, plan: native.Plan) -> tuple[int, dict[str, int]]:
    tokens = 0
    with engine.begin(plan) as run:
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                run.feed(event.view, np.zeros((plan.global_size, plan.global_size, 3), np.uint8))
            tokens += event.kind == native.TOKEN
        return tokens, engine.memory().peak


def test_ten_thousand_tokens_take_no_more_memory_than_a_hundred(golden_model: Path) -> None:
    with native.Engine(golden_model) as engine:
        short_tokens, short = run_to_the_end(engine, plan_for(engine, 100))
        long_tokens, long = run_to_the_end(engine, plan_for(engine, 10_000))
    assert (short_tokens, long_tokens) == (100, 10_000)
    assert long == short


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads resident memory from /proc")
@pytest.mark.parametrize(
    ("size", "cols", "rows", "precision"), [(1024, 0, 0, "fast"), (1024, 2, 1, "exact"), (640, 0, 0, "exact")]
)
def test_the_operating_system_sees_no_more_than_was_promised(size: int, cols: int, rows: int, precision: str) -> None:
    """Growth of anonymous resident memory, a count that the engine has no part in."""
    output = subprocess.run(
        [sys.executable, "-c", WATCHED, BUILT_IN, str(size), str(cols), str(rows), precision],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    growth, promised = map(int, output.split())
    assert 0.5 * promised < growth <= promised + 16 * 2**20


@pytest.mark.parametrize("size", [512, 640, 1024, 1280])
def test_every_category_peaks_at_its_estimate(golden_model: Path, size: int) -> None:
    with native.Engine(golden_model) as engine:
        plan = plan_for(engine, 5, size)
        estimate = engine.estimate(plan)
        _, peak = run_to_the_end(engine, plan)
    for name, promised in estimate.category.items():
        assert peak[name] <= promised, name
        assert promised - peak[name] <= max(0.02 * promised, 65536), name


def test_vision_and_decoder_peaks_do_not_add() -> None:
    with native.Engine(BUILT_IN) as engine:
        estimate = engine.estimate(plan_for(engine, 5, 1024))
        assert estimate.total < estimate.category["model views"] + estimate.vision_peak + estimate.decoder_peak
        assert estimate.total == estimate.category["model views"] + max(estimate.vision_peak, estimate.decoder_peak)


def test_what_fits_is_told_before_anything_is_allocated() -> None:
    with native.Engine(BUILT_IN, memory_budget=60_000_000) as engine:
        estimate = engine.estimate(plan_for(engine, 0, 1024))
        assert estimate.fits and estimate.most_pages_that_fit >= 1
        info = engine.info()
        many = native.Plan([info.bos_id, *[info.image_id] * (273 * 12), 7], pages=12)
        assert not engine.estimate(many).fits
        assert engine.estimate(many).most_pages_that_fit < 12
        before = engine.memory().current
        with pytest.raises(Exception, match="budget"):
            engine.begin(many)
        assert engine.memory().current == before
