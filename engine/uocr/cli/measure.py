"""`uocr bench`: speed of decode, prefill and vision on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from uocr import bench as benchmarks
from uocr import models
from uocr.cli import view


def bench(
    model: Annotated[str | None, typer.Option(help="built-in, a pulled name or a .uocr file.")] = None,
    random_full: Annotated[
        str | None, typer.Option(help="Make a model of the full shapes with random weights on the spot: f16, q8 or q4.")
    ] = None,
    threads: Annotated[int, typer.Option(help="0: all this process may use.")] = 0,
    precision: Annotated[str, typer.Option(help="fast, integer or exact.")] = "fast",
    decode_tokens: Annotated[int, typer.Option(min=0, help="Tokens to decode.")] = 64,
    views: Annotated[bool, typer.Option(help="Time the 1024 and 640 views too.")] = True,
    profile: Annotated[bool, typer.Option(help="Show the share of every operator.")] = False,
    trace: Annotated[
        bool, typer.Option(help="Count instead: what a view and a token ask of the GPU, dispatches and bytes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Numbers as JSON on standard output.")] = False,
) -> int:
    """Measure tokens a second and seconds a view."""

    if trace:
        return show_trace(random_full, model, threads, precision, decode_tokens, as_json)

    def measure(path: Path) -> benchmarks.Figures:
        return benchmarks.measure(
            path, threads=threads, precision=precision, decode_tokens=decode_tokens, views=views, profile=profile
        )

    if random_full is not None:
        with benchmarks.random_full_model(random_full) as path:
            figures = measure(path)
    else:
        figures = measure(models.resolve(model, None))
    if as_json:
        view.write(json.dumps(figures.as_dict()) + "\n")
        return 0
    for name, value in figures.as_dict().items():
        view.out.print(f"{name}: {value:.2f}" if isinstance(value, float) else f"{name}: {value}", markup=False)
    if figures.profile:
        view.out.print(view.profile_table(figures.profile))
    return 0


def show_trace(
    random_full: str | None, model: str | None, threads: int, precision: str, tokens: int, as_json: bool
) -> int:
    """`uocr bench --trace`: one table a phase; on the CPU, which has no dispatches, its operators instead."""

    def count(path: Path) -> benchmarks.Trace:
        return benchmarks.trace(path, threads=threads, precision=precision, tokens=tokens)

    if random_full is not None:
        with benchmarks.random_full_model(random_full) as path:
            counted = count(path)
    else:
        counted = count(models.resolve(model, None))
    if as_json:
        view.write(json.dumps(counted.as_dict()) + "\n")
        return 0
    view.out.print(f"back end {counted.backend}: a page of 1024 pixels and {tokens} tokens")
    for phase in counted.phases:
        view.out.print(view.trace_table(phase))
    if not counted.phases:
        view.out.print("The CPU has no dispatches: it runs one operator after another. These it ran:")
        view.out.print(view.profile_table(counted.operators))
    return 0
