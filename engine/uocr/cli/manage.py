"""`uocr convert`, `uocr pull`, `uocr info`: model files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from uocr import errors, languages, models, native, rereading
from uocr.cli import check, view
from uocr.convert import convert_checkpoint
from uocr.modelfile import PROFILES, ModelFile

Quant = Annotated[str, typer.Option(help="f32, f16, q8 or q4.")]


class _Bar:
    """A progress bar that is drawn with the first step: by then the arguments were found right."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=view.err,
        )

    def step(self, what: str, done: int, total: int) -> None:
        """`done` of `total` bytes."""
        if not self._progress.tasks:
            self._progress.start()
            self._progress.add_task(what)
        self._progress.update(self._progress.task_ids[0], description=what, completed=done, total=total)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress.tasks:
            self._progress.stop()


def convert(
    source: Annotated[Path, typer.Argument(help="Folder of a checkpoint: config.json, *.safetensors, tokenizer.json.")],
    target: Annotated[Path, typer.Argument(help="The .uocr file to write.")],
    quant: Quant = "q4",
    overwrite: Annotated[bool, typer.Option(help="Replace the target if it exists.")] = False,
) -> int:
    """Convert a checkpoint to one .uocr file, tensor by tensor."""
    if not overwrite and os.path.lexists(target):
        raise errors.OutputExists(f"{target} exists; add --overwrite or name another file.")
    with _Bar() as bar:
        report = convert_checkpoint(
            source,
            target,
            quant,
            overwrite=overwrite,
            progress=lambda done, total: bar.step(f"{source.name} to {quant}", done, total),
        )
    for line in report.lines():
        view.out.print(line, markup=False)
    return 0


def pull(
    name: Annotated[str, typer.Argument(help='For example "baidu/Unlimited-OCR".')],
    quant: Quant = "q4",
    size: Annotated[bool, typer.Option("--size", help="Only say what it would take; download nothing.")] = False,
) -> int:
    """Download a model (it resumes), convert it and keep it in the cache; works offline afterwards."""
    if size:
        if quant not in PROFILES:
            raise errors.DownloadError(f"The quantisation {quant!r} is unknown; choose one of {', '.join(PROFILES)}.")
        checkpoint = models.checkpoint_bytes(name)
        arrived = models.arrived_bytes(name)
        here = f" ({view.size(arrived)} are here)" if arrived else ""
        view.out.print(
            f"{name} as {quant}: downloads {view.size(checkpoint)}{here}, takes about "
            f"{view.size(models.model_bytes(checkpoint, quant))} when converted, "
            f"{view.size(models.room_needed(checkpoint, quant, arrived))} until then",
            markup=False,
        )
        return 0
    with _Bar() as bar:
        path = models.pull(name, quant, progress=bar.step)
    view.out.print(f"{name} ({quant}) is ready: {path}", markup=False)
    return 0


def _several_pages(front: Mapping[str, Any]) -> str:
    """Whether the model reads several pages in one pass, and with how many it was trained."""
    most = front.get("multi_page_most")
    return f"yes{f', up to {most}' if most else ''}" if front.get("multi_page") else "no"


def _reads_again(front: Mapping[str, Any]) -> str:
    """A line on when the model has a page read a second time, if it ever does."""
    below = rereading.read_again_below(front)
    when = f"the model is less than {100 * below:.0f} % sure of its tokens, or went in circles"
    return f"  a page is read again where {when}\n" if below else ""


def _languages(front: Mapping[str, Any]) -> str:
    """Lines on what the model reads, where its file says it."""
    names = languages.names(front)
    others = "other languages in Latin letters come out with wrong accents, often without a warning"
    return f"  reads {names};\n  {others}\n" if names else ""


def info(
    model: Annotated[
        str | None, typer.Argument(help="A .uocr file or a model's name; default: the built-in one.")
    ] = None,
    tensors: Annotated[bool, typer.Option(help="List every tensor.")] = False,
) -> int:
    """Show what a model file holds; without one, also this machine and the installed models."""
    path = models.resolve(model, None)
    if model is None:
        with native.Engine(path) as engine:
            check.tell_machine(engine.info())
    with ModelFile.open(path) as file:
        front = file.front_end
        count = sum(t.count for t in file.tensors.values())
        view.out.print(
            f"{path}\n  {front.get('name')}: {front.get('description', '')}\n  profile {file.profile}, "
            f"{len(file.tensors)} tensors, {count:,} parameters, {view.size(path.stat().st_size)}\n"
            f"  presets {', '.join(front.get('trained_presets', []))}; default {front.get('default_preset')}; "
            f"several pages in one pass: {_several_pages(front)}; "
            f"finds words (--locate): {'yes' if front.get('prompts', {}).get('locate') else 'no'}\n"
            f"{_reads_again(front)}"
            f"{_languages(front)}"
            f"  model id {file.model_id.hex()}",
            markup=False,
        )
        if tensors:
            for tensor in file.tensors.values():
                shape = " x ".join(map(str, tensor.shape))
                view.out.print(f"  {tensor.dtype:4} {shape:22} {tensor.name}", markup=False)
    if model is None:
        view.out.print(f"models are kept in {models.cache_folder()}", markup=False)
        for entry in models.installed():
            view.out.print(f"installed: {entry}", markup=False)
    return 0
