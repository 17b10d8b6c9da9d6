"""`uocr doctor` and `uocr check-golden`: is everything as it should be?"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Annotated

import typer

from uocr import errors, models, native
from uocr.cli import view


def tell_machine(info: native.ModelInfo) -> None:
    """What reading works with here: system, back end, vector code, threads, memory."""
    view.out.print(f"Python {sys.version.split()[0]} on {platform.platform()}, {platform.machine()}")
    view.out.print(f"libuocr {native.version()}")
    view.out.print(
        f"back end {info.backend}, vector code {info.simd}, {info.threads} threads, "
        f"memory budget {view.size(info.budget)}"
    )


def tell_backends(path: Path) -> None:
    """The back ends of this build, and what keeps one from opening."""
    view.out.print("back end cpu: built in")
    try:
        with native.Engine(path, backend="metal") as engine:
            view.out.print(f"back end metal: built in, holds {view.size(engine.info().budget)} at once")
    except errors.UocrError as error:
        view.out.print(f"back end metal: {error}", markup=False)


def doctor(
    model: Annotated[str | None, typer.Option(help="built-in, a pulled name or a .uocr file.")] = None,
    verify: Annotated[bool, typer.Option(help="Check the hash of every tensor in the file.")] = False,
) -> int:
    """Say what this machine and installation can do, and what is wrong."""
    path = models.resolve(model, None)
    with native.Engine(path) as engine:
        info = engine.info()
        tell_machine(info)
        tell_backends(path)
        if info.simd == "portable":
            view.out.print("This processor has no vector code of ours: reading works and is several times slower.")
        view.out.print(
            f"model {path}: {info.profile}, {info.parameters:,} parameters, {view.size(info.file_bytes)}, "
            f"id {info.model_id[:16]}",
            markup=False,
        )
        if verify:
            engine.verify()
            view.out.print("every payload hash is right")
    return 0


def check_golden(
    folder: Annotated[Path, typer.Argument(help="A golden set: index.json, arrays and its checkpoint.")],
    profile: Annotated[str, typer.Option(help="f32, f16, q8 or q4.")] = "f32",
    precision: Annotated[str, typer.Option(help="exact, fast or integer.")] = "exact",
    simd: Annotated[str, typer.Option(help="auto, portable or baseline.")] = "auto",
    threads: Annotated[int, typer.Option(help="0: all.")] = 0,
    quiet: Annotated[bool, typer.Option(help="Only failures and the last line.")] = False,
) -> int:
    """Compare the engine with reference numbers, array by array: error over tolerance."""
    from uocr.golden import check_golden as run

    if profile not in ("f32", "f16", "q8", "q4"):
        raise errors.InvalidRequest(f"--profile is {profile!r}; choose f32, f16, q8 or q4.")
    worst, unequal, count = 0.0, 0, 0
    for result in run(folder, profile=profile, precision=precision, threads=threads, simd=simd):
        count += 1
        failed = not result.ratio <= 1.0
        if result.network:
            worst = max(worst, result.ratio)
        else:
            unequal += failed
        if failed or not quiet:
            ratio = f"{result.ratio:9.3f}" if result.network else ("    equal" if not failed else "  DIFFERS")
            view.out.print(f"{ratio}  {result.name}  {result.note}", markup=False, style="red" if failed else None)
    view.out.print(f"{count} comparisons, {unequal} exact ones differ; worst ratio {worst:.3f}")
    return 1 if unequal or not worst <= 1.0 else 0
