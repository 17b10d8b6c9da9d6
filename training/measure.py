"""Where a training step spends its time on this GPU, one line of JSON a fact.

`python -m training.measure attention` times every tiling of the attention kernels beside attention as written, and
says how far results are from float32 arithmetic. `python -m training.measure step` runs whole steps on random pages and
names the kernels that take longest, and the lines at which the host waits for the GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.attention import check_kernels, errors, extended_attention, random_case
from training.config import PATCH, TILE, VIEW, Config, default_config
from training.loader import Batch
from training.pages.views import SLOTS
from training.recipe import Recipe
from training.targets import Vocabulary
from training.train import Log, Trainer

_HEADS = 4
_CASES = {"views": (48, 64), "tiles": (96, 40), "windows of views": (48 * 25, 14)}
"""Name: grids in a call of the tower, side of a grid."""

_TOKENS = 1024
_GRID = (2, 3)
_SHOWN = 25


def _say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def milliseconds(work: Callable[[], object], most: int = 10) -> float:
    """Median time of `work` on the GPU, after two runs that do not count."""
    work()
    work()
    times = []
    for _ in range(most):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return round(statistics.median(times), 3)


def _as_written(case: list[Tensor]) -> tuple[float, float]:
    """Milliseconds of attention as written: forward, forward and backward."""
    *inputs, grad = case
    q, k, v, bias_h, bias_w = (x.detach().requires_grad_() for x in inputs)

    def both() -> None:
        extended_attention(q, k, v, bias_h.mT, bias_w.mT).backward(grad)
        for x in (q, k, v, bias_h, bias_w):
            x.grad = None

    with torch.no_grad():
        forward = milliseconds(lambda: extended_attention(q, k, v, bias_h.mT, bias_w.mT))
    return forward, milliseconds(both)


def measure_attention() -> None:
    """Times are those of a whole call of the tower; errors are relative, the worst of result and gradients (all of them
    in the last line of a case), on two small images."""
    from training.kernels import PLANS, Tiling, backward_keys, backward_queries, forward

    tilings = {
        ("forward", 64): [(1, 64, 4, 2), (1, 64, 4, 3), (1, 128, 8, 2), (1, 128, 8, 3), (1, 128, 4, 3), (2, 128, 8, 2)],
        ("queries", 64): [(1, 64, 4, 2), (1, 64, 4, 3), (1, 128, 8, 2), (1, 128, 8, 3)],
        ("keys", 64): [(1, 64, 4, 2), (1, 64, 4, 3), (1, 128, 8, 2), (2, 64, 8, 2), (2, 64, 8, 3)],
        ("forward", 40): [(1, 64, 4, 3), (3, 64, 4, 2), (3, 64, 4, 3), (3, 128, 8, 2)],
        ("queries", 40): [(1, 64, 4, 2), (1, 128, 8, 2), (3, 64, 4, 2), (3, 128, 8, 2)],
        ("keys", 40): [(1, 64, 4, 2), (1, 64, 4, 3), (3, 64, 8, 2), (3, 64, 8, 3)],
        ("forward", 14): [(4, 64, 4, 2), (8, 64, 4, 1)],
        ("queries", 14): [(4, 64, 4, 1), (4, 64, 4, 2)],
        ("keys", 14): [(4, 64, 4, 2), (8, 64, 8, 2)],
    }
    for name, (batch, side) in _CASES.items():
        once, both = _as_written(random_case(batch, _HEADS, side, side, torch.device("cuda")))
        _say(case=name, attention="as written", forward_ms=once, forward_backward_ms=both)
        case = random_case(batch, _HEADS, side, side, torch.device("cuda"))
        q, k, v, bias_h, bias_w, grad = case
        small, plan = random_case(2, 2, side, side, q.device), PLANS[side, side]
        out, lse = forward(q, k, v, bias_h, bias_w, plan.forward)
        delta = backward_queries(q, k, v, bias_h, bias_w, out, lse, grad, plan.queries)[3]
        passes: dict[str, Callable[[Tiling], object]] = {
            "forward": lambda t: forward(q, k, v, bias_h, bias_w, t),  # noqa: B023
            "queries": lambda t: backward_queries(q, k, v, bias_h, bias_w, out, lse, grad, t),  # noqa: B023
            "keys": lambda t: backward_keys(q, k, v, bias_h, bias_w, lse, grad, delta, t),  # noqa: B023
        }
        for part, run in passes.items():
            for tiling in (Tiling(*numbers) for numbers in tilings[part, side]):
                facts = {"case": name, "pass": part, **asdict(tiling), "planned": tiling == getattr(plan, part)}
                try:
                    PLANS[side, side] = replace(plan, **{part: tiling})
                    worst = max(math.inf if math.isnan(x) else x for x in errors(small).values())
                    _say(**facts, ms=milliseconds(lambda: run(tiling)), error=round(worst, 5))  # noqa: B023
                except Exception as failure:  # a tiling that does not fit this GPU; the others are still of interest
                    _say(**facts, failed=f"{type(failure).__name__}: {failure}"[:200])
                finally:
                    PLANS[side, side] = plan
        _say(case=name, errors={key: round(value, 5) for key, value in errors(small).items()})


class Pages:
    """Random batches in place of the loader's: base pages and pages with crops in turn."""

    def __init__(self, pages: int, device: torch.device) -> None:
        self._batches = [_random_batch(pages, grid, device) for grid in (None, _GRID)]
        self._turn = 0

    def next(self) -> Batch:
        self._turn += 1
        return self._batches[(self._turn - 1) % 2]


def _random_batch(pages: int, grid: tuple[int, int] | None, device: torch.device) -> Batch:
    crops = grid[0] * grid[1] if grid else 0

    def draw(least: int, most: int, *shape: int) -> Tensor:
        return torch.randint(least, most, shape, device=device, dtype=torch.uint8)

    return Batch(
        view=draw(0, 256, pages, VIEW, VIEW),
        rect=torch.tensor([[100, 0, 824, VIEW]] * pages, device=device),
        tiles=draw(0, 256, pages, crops, TILE, TILE) if grid else None,
        ids=torch.randint(3, 2000, (pages, _TOKENS), device=device).short(),
        places=draw(0, VIEW // PATCH, pages, _TOKENS, 2),
        labels=draw(0, 100, pages, VIEW // PATCH, VIEW // PATCH, SLOTS),
        tile_labels=draw(0, 100, pages, crops, TILE // PATCH, TILE // PATCH, SLOTS) if grid else None,
        length=torch.full((pages,), _TOKENS, device=device),
        level=torch.zeros(pages, dtype=torch.long, device=device),
        grid=grid,
    )


def random_steps(trainer: Trainer, pages: Any, steps: int) -> float:
    """Seconds a step, over `steps` of them."""
    begin = time.perf_counter()
    facts = [trainer.step(pages, 0.5) for _ in range(steps)]
    trainer.look(facts)  # waits for the device
    return (time.perf_counter() - begin) / steps


def waits(trainer: Trainer, pages: Any) -> list[str]:
    """Where in a step the host waits for the GPU, as PyTorch notices it: file, line and reason."""
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trainer.step(pages, 0.5)
    torch.cuda.set_sync_debug_mode("default")
    return sorted({f"{each.filename}:{each.lineno}: {each.message}"[:200] for each in caught})


def measure_step(kernels: bool, whole: bool, config: Config) -> None:
    device = torch.device("cuda")
    torch.set_float32_matmul_precision("high")
    vocabulary = Vocabulary(Path(__file__).with_name("tokenizer.json"))
    trainer = Trainer(config, Recipe(), vocabulary, device, Log(None))
    begin = time.perf_counter()
    reason = check_kernels(device)
    _say(kernels=kernels and not reason, reason=reason, check_seconds=round(time.perf_counter() - begin, 1))
    trainer.compile(kernels)
    if not whole:
        trainer.objective.compile(tower_alone=True)
    pages = Pages(Recipe.pages, device)
    begin = time.perf_counter()
    random_steps(trainer, pages, 2)
    _say(first_steps_seconds=round(time.perf_counter() - begin, 1))
    _say(seconds_a_step=round(random_steps(trainer, pages, 5), 4))
    _say(waits=waits(trainer, pages))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        random_steps(trainer, pages, 1)
    found = sorted(profile.key_averages(), key=lambda event: -event.self_device_time_total)
    total = sum(event.self_device_time_total for event in found)
    _say(
        kernels_ms=round(total / 1000, 1),
        kinds=len(found),
        peak_gib=round(torch.cuda.max_memory_allocated() / 2**30, 1),
    )
    for event in found[:_SHOWN]:
        share = round(event.self_device_time_total / total, 4)
        _say(ms=round(event.self_device_time_total / 1000, 2), share=share, calls=event.count, kernel=event.key[:150])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("attention", "step"))
    parser.add_argument("--attention", choices=("kernels", "plain"), default="kernels", help="of a step")
    parser.add_argument("--whole", action="store_true", help="compile all that training compiles, not the tower alone")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("no GPU that PyTorch can use: there is nothing to measure here")
    if args.what == "attention":
        measure_attention()
    else:
        measure_step(args.attention == "kernels", args.whole, default_config())


if __name__ == "__main__":
    main()
