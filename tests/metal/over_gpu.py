"""The Python package over an engine whose GPU back end runs on the host device; a process of its own.

    over_gpu.py LIBRARY COMMAND ...

``LIBRARY`` is libuocr built with UOCR_GPU and device_host.c. Results go to standard output as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from uocr import native


def use(library: Path) -> None:
    """Makes the package load this library, and every engine open on the GPU unless it asks for the cpu."""
    built = importlib.import_module("uocr._declarations")
    declarations = ModuleType("uocr._declarations")
    declarations.ffi, declarations.MACROS = built.ffi, built.MACROS
    declarations.__file__ = str(library.parent / "_declarations.py")
    sys.modules["uocr._declarations"] = declarations
    native._LIBRARY_NAMES = (library.name,)
    original = native.Engine.__init__

    def opened(self: native.Engine, path: Path, *, backend: str = "auto", **options: Any) -> None:
        original(self, path, backend="metal" if backend == "auto" else backend, **options)
        found = self.info().backend
        assert found in (("cpu",) if backend == "cpu" else ("host", "metal")), f"opened on {found}"

    native.Engine.__init__ = opened  # type: ignore[method-assign, assignment]


def golden(
    folder: str, profile: str, precision: str, part: str, *cases: str
) -> list[tuple[str, float, bool]]:
    """Name, error over tolerance, whether a network array, of every comparison; `cases`: of vision."""
    from uocr.golden import check_golden, compare

    load = compare.GoldenSet.__init__

    def some(self: compare.GoldenSet, folder: Path) -> None:
        load(self, folder)
        if cases:
            inputs = self.index["vision_inputs"]
            self.index["vision_inputs"] = {case: inputs[case] for case in cases}

    compare.GoldenSet.__init__ = some  # type: ignore[method-assign]
    results = check_golden(Path(folder), profile=profile, precision=precision, parts=(part,))
    return [(result.name, float(result.ratio), result.network) for result in results]


def steps(
    engine: native.Engine, plan: native.Plan, views: list[Any], follow: list[int], look: bool = True
) -> tuple[list[int], Any]:
    """Chosen ids and logits [steps, vocab]; the ids of `follow` are fed back instead where there are any.

    Without `look` nothing is captured, so that a back end that can choose tokens by itself does.
    """
    chosen: list[int] = []
    logits = []
    with engine.begin(plan) as run:
        if look:
            run.capture("logits")
        if follow:
            run.force_token(follow[0])
        for event in run.events():
            if event.kind == native.NEED_VIEW:
                run.feed(event.view, views[event.view])
            elif event.kind == native.TOKEN:
                chosen.append(event.token)
                if look:
                    logits.append(run.fetch("logits")[-1])
                if len(chosen) < len(follow):
                    run.force_token(follow[len(chosen)])
    return chosen, np.array(logits)


def page(document: str, number: str, preset: str, most: str, follow: str) -> dict[str, Any]:
    """A page read by both back ends: "free", each feeding back its own ids, or the GPU "forced" to the CPU's.

    Says what each chose and memory; where forced also where the largest logits agree, and how far the CPU's first is
    ahead.
    """
    from uocr import UnlimitedOCR
    from uocr.sources import open_source
    from uocr.views import make_views

    forced = follow == "forced"
    with (
        UnlimitedOCR(backend="cpu", precision="exact") as cpu,
        UnlimitedOCR() as gpu,
        open_source(document) as source,
    ):
        image = source.page(int(number)).image
        settings = cpu.settings.with_changes({"preset": preset, "max_new_tokens": int(most)})
        views = make_views(image, preset)
        plan = cpu._reader.plan_page(*image.size, settings)[1]
        ids, expected = steps(cpu.engine, plan, views.views, [], look=forced)
        chosen, found = steps(gpu.engine, plan, views.views, ids if forced else [], look=forced)
        texts = [cpu.tokenizer.decode(ids), cpu.tokenizer.decode(chosen)]
        estimate, memory = gpu.engine.estimate(plan), gpu.engine.memory()
    answer = {"cpu": ids, "gpu": chosen, "texts": texts, "estimate": estimate.category, "peak": memory.peak}
    if forced:
        top = np.sort(expected, axis=1)
        answer["margins"] = (top[:, -1] - top[:, -2]).tolist()
        answer["agree"] = (expected.argmax(1) == found.argmax(1)).tolist()
    return answer


def trace(tokens: str) -> dict[str, Any]:
    """`uocr bench --trace` of the built-in model over a view of 512 pixels: what it prints, and its numbers."""
    from uocr import bench
    from uocr.cli import measure, view

    whole, counted = bench.trace, []

    def smaller(path: Path, **options: Any) -> bench.Trace:
        counted.append(whole(path, size=512, **options))
        return counted[-1]

    bench.trace = smaller
    with view.out.capture() as shown:
        measure.bench(trace=True, decode_tokens=int(tokens))
    return {"shown": shown.get(), **counted[0].as_dict()}


COMMANDS = {"golden": golden, "page": page, "trace": trace}

if __name__ == "__main__":
    use(Path(sys.argv[1]))
    json.dump(COMMANDS[sys.argv[2]](*sys.argv[3:]), sys.stdout)
