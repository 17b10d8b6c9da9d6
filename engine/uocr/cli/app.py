"""The commands and their common help."""

from __future__ import annotations

from typing import Annotated

import typer

import uocr
from uocr import errors, native
from uocr.cli import check, manage, measure, read, view
from uocr.modelfile import FORMAT_VERSION

EXIT_CODES = """
Exit codes, one a cause:

0 everything complete · 2 wrong usage · 3 a page was cut short (length or loop) ·
10 input · 11 unreadable file · 12 encrypted PDF · 13 nothing to read in it · 14 too large · 15 contradicting options ·
20 model · 21 model not found · 22 model file damaged or foreign · 23 conversion · 24 download ·
30 engine · 31 over the memory budget · 32 engine busy · 33 Inf or NaN in the network · 34 native library missing ·
40 output · 41 output exists · 42 output failed (full, read-only) · 43 journal does not fit · 130 stopped
"""

app = typer.Typer(
    name="uocr",
    add_completion=False,
    no_args_is_help=True,
    epilog=EXIT_CODES,
    help="Read pictures and PDFs on this machine.",
    rich_markup_mode="rich",
)


def _show_version(asked: bool) -> None:
    if not asked:
        return
    try:
        engine = native.version()
    except errors.EngineMissing:
        engine = "missing"
    view.out.print(f"uocr {uocr.__version__}, engine {engine}, model format {FORMAT_VERSION}")
    raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Versions of package, engine and model format.", callback=_show_version,
                     is_eager=True),
    ] = False,
) -> None:
    """Read pictures and PDFs on this machine."""


app.command(epilog=EXIT_CODES)(read.read)
app.command()(manage.convert)
app.command()(manage.pull)
app.command()(manage.info)
app.command()(check.doctor)
app.command("check-golden")(check.check_golden)
app.command()(measure.bench)
