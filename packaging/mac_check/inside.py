"""The part of mac_check that runs with the engine: `python inside.py COMMAND ...`, one JSON object on standard output.

Texts that were read never leave this process: only counts and rates do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from uocr import UnlimitedOCR, native
from uocr.reading import Reader
from uocr.score import character_error_rate
from uocr.views import make_views

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
SAMPLES = ROOT / "resources" / "samples"
PICTURES = ("screenshot.png", "scan.jpg", "two-columns.png")
CLEAR_MARGIN = 0.05
"""Where the CPU's first choice leads by more than this (in logits), another choice on the GPU is a fault."""

LETS_GO_AFTER = 25
"""Seconds after the last work when nothing may keep the Mac awake any more."""


@contextmanager
def engines_on(backend: str) -> Iterator[None]:
    """Within, an engine that is not told otherwise opens on this back end, or not at all."""
    original = native.Engine.__init__

    def opened(self: native.Engine, path: Path | str, **options: Any) -> None:
        if options.get("backend", "auto") == "auto":
            options["backend"] = backend
        original(self, path, **options)

    native.Engine.__init__ = opened  # type: ignore[method-assign]
    try:
        yield
    finally:
        native.Engine.__init__ = original  # type: ignore[method-assign]


def golden(backend: str, profile: str, precision: str) -> dict[str, Any]:
    """The published network's numbers: how many comparisons, the largest error over its tolerance, what is unequal."""
    from uocr.golden import check_golden

    with engines_on(backend):
        results = list(check_golden(GOLDEN, profile=profile, precision=precision))
    network = [result for result in results if result.network]
    worst = max(network, key=lambda result: result.ratio)
    return {
        "comparisons": len(results),
        "worst": float(worst.ratio),
        "worst array": worst.name,
        "unequal": [result.name for result in results if not result.network and not result.ratio <= 1],
    }


def page(picture: str, backend: str, precision: str) -> dict[str, Any]:
    """One sample read on the CPU in exact precision, and on `backend` fed the same tokens, then free."""
    from PIL import Image

    path = SAMPLES / picture
    truth = path.with_suffix(".txt").read_text("utf-8")
    with (
        UnlimitedOCR(backend="cpu", precision="exact") as reference,
        UnlimitedOCR(backend=backend, precision=precision) as other,
    ):
        image = Image.open(path).convert("RGB")
        views = make_views(image, "base").views
        settings = reference.settings.with_changes({"preset": "base"})
        reader = Reader(reference.engine, reference.front_end, reference.tokenizer)
        plan = reader.plan_page(*image.size, settings)[1]
        ids, expected = _steps(reference.engine, plan, views, [])
        _, forced = _steps(other.engine, plan, views, ids)
        free, _ = _steps(other.engine, plan, views, [])
        top = np.sort(expected, axis=1)
        margins = top[:, -1] - top[:, -2]
        agree = expected.argmax(1) == forced.argmax(1)
        texts = [reference.tokenizer.decode(ids), other.tokenizer.decode(free)]
        return {
            "backend": other.info.backend,
            "steps": len(ids),
            "agree": int(agree.sum()),
            "clear disagreements": int((~agree & (margins > CLEAR_MARGIN)).sum()),
            "largest logit error": float(np.abs(expected - forced).max()),
            "tokens read freely": len(free),
            "character error rate, CPU": character_error_rate(texts[0], truth),
            "character error rate": character_error_rate(texts[1], truth),
        }


def _steps(
    engine: native.Engine, plan: native.Plan, views: Sequence[Any], follow: list[int]
) -> tuple[list[int], np.ndarray[Any, Any]]:
    """Chosen ids and logits [steps, vocab]; the ids of `follow` are fed back instead where there are any."""
    chosen: list[int] = []
    logits = []
    with engine.begin(plan) as run:
        run.capture("logits")
        if follow:
            run.force_token(follow[0])
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                run.feed(event.view, views[event.view])
            elif event.kind == native.TOKEN:
                chosen.append(event.token)
                logits.append(run.fetch("logits")[-1])
                if len(chosen) < len(follow):
                    run.force_token(follow[len(chosen)])
    return chosen, np.array(logits)


def speed(backend: str, model: str) -> dict[str, Any]:
    """`uocr bench` on this back end; `model` is built-in, or the profile of a random model of the full shapes."""
    from uocr import bench, models

    with engines_on(backend):
        if model == "built-in":
            figures = bench.measure(models.resolve(None), profile=True)
        else:
            with bench.random_full_model(model) as path:
                figures = bench.measure(path, profile=True)
    rows = sorted(figures.profile, key=lambda row: -row.seconds)
    facts: dict[str, Any] = {name: value for name, value in figures.as_dict().items() if value is not None}
    facts["profile"] = {row.name: f"{row.calls} calls, {row.seconds:.4f} s, {row.bytes} bytes" for row in rows}
    return facts


def sleep(backend: str) -> dict[str, Any]:
    """How many assertions keep the Mac awake for this process before, while and some time after it reads a page.

    Another thread looks all the time and the most it saw counts. The device lets go 10 to 20 seconds after the last
    work, with the engine still open.
    """
    seen: list[int] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.append(_assertions())

    with UnlimitedOCR(backend=backend) as ocr:
        before = _assertions()
        looking = threading.Thread(target=look)
        looking.start()
        try:
            ocr.read(SAMPLES / PICTURES[0])
        finally:
            done.set()
            looking.join()
        time.sleep(LETS_GO_AFTER)
        return {"before": before, "during": max(seen, default=0), "looks": len(seen), "after": _assertions()}


def _assertions() -> int:
    """Assertions of this process, counted from `pmset -g assertions`."""
    said = subprocess.run(["pmset", "-g", "assertions"], capture_output=True, text=True, check=True).stdout
    return sum(f"pid {os.getpid()}(" in line for line in said.splitlines())


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "golden": golden,
    "page": page,
    "speed": speed,
    "sleep": sleep,
}

if __name__ == "__main__":
    json.dump(COMMANDS[sys.argv[1]](*sys.argv[2:]), sys.stdout)
