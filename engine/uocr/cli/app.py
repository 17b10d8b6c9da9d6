"""The commands and their common help."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

import uocr

EXIT_CODES = """
Exit codes, one a cause:

0 everything complete · 2 wrong usage · 3 a page was cut short (length or loop) ·
10 input · 11 unreadable file · 12 encrypted PDF · 13 nothing to read in it · 14 too large · 15 contradicting options ·
20 model · 21 model not found · 22 model file damaged or foreign · 23 conversion · 24 download ·
30 engine · 31 over the memory budget · 32 engine busy · 33 Inf or NaN in the network · 34 native library missing ·
40 output · 41 output exists · 42 output failed (full, read-only) · 43 journal does not fit · 130 stopped
"""

COMMANDS = {
    "read": "read:read",
    "convert": "manage:convert",
    "pull": "manage:pull",
    "info": "manage:info",
    "doctor": "check:doctor",
    "check-golden": "check:check_golden",
    "bench": "measure:bench",
}
"""Name of a command: its module in this package and its function, in the order of the help."""


def _show_version(asked: bool) -> None:
    if not asked:
        return
    from uocr import errors, native
    from uocr.cli import view
    from uocr.modelfile import FORMAT_VERSION

    try:
        engine = native.version()
    except errors.EngineMissing:
        engine = "missing"
    view.out.print(f"uocr {uocr.__version__}, engine {engine}, model format {FORMAT_VERSION}")
    raise typer.Exit


def program(
    version: Annotated[
        bool,
        typer.Option("--version", help="Versions of package, engine and model format.", callback=_show_version,
                     is_eager=True),
    ] = False,
) -> None:
    """Read pictures and PDFs on this machine."""


def build(arguments: Sequence[str]) -> Any:
    """The command line that understands `arguments`.

    Of the commands only the one that the first argument names is there: the libraries of the others would take
    longer to load than a page to print. All are there for any other first argument: an option, or a slip of the pen.
    """
    app = typer.Typer(
        name="uocr",
        add_completion=False,
        no_args_is_help=True,
        epilog=EXIT_CODES,
        help="Read pictures and PDFs on this machine.",
        rich_markup_mode="rich",
    )
    app.callback()(program)
    for name in [arguments[0]] if arguments and arguments[0] in COMMANDS else COMMANDS:
        module, _, function = COMMANDS[name].partition(":")
        epilog = EXIT_CODES if name == "read" else None
        app.command(name, epilog=epilog)(getattr(import_module(f"uocr.cli.{module}"), function))
    return typer.main.get_command(app)
