"""The window's own settings and, from both tables, the command-line flags."""

from __future__ import annotations

import argparse
import dataclasses
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP
from uocr.settings import ReadSettings

READ_HIDDEN = frozenset({"locate", "region", "rotate", "guard_allow", "compat", "pages", "password"})
"""Read settings that belong to a page or to programs, not to a table of preferences."""

RANGES = {"threads": (0, 256), "doubt": (0, 99), "text_size": (0, 40)}
"""Least and most of the window's own numbers; `threads` is the engine's limit."""


def _option(default: Any, title: Any, help_text: Any, choices: Sequence[str] = ()) -> Any:
    return field(default=default, metadata={"title": title, "help": help_text, "choices": tuple(choices)})


@dataclass(slots=True)
class WindowSettings:
    """How the window behaves. Field metadata: title, help, choices."""

    model: str = _option(
        "built-in",
        QT_TRANSLATE_NOOP("Settings", "Model"),
        QT_TRANSLATE_NOOP("Settings", "built-in, a name that was downloaded, or a .uocr file"),
    )
    quant: str = _option(
        "",
        QT_TRANSLATE_NOOP("Settings", "Quantisation"),
        QT_TRANSLATE_NOOP("Settings", "How finely the model's numbers are kept: f16 is closest, q4 is smallest"),
        ("", "f16", "q8", "q4"),
    )
    memory_budget: str = _option(
        "0",
        QT_TRANSLATE_NOOP("Settings", "Memory budget"),
        QT_TRANSLATE_NOOP("Settings", 'Most memory, model included, such as "4 GB"; 0: 80 % of this machine'),
    )
    threads: int = _option(
        0,
        QT_TRANSLATE_NOOP("Settings", "Processors"),
        QT_TRANSLATE_NOOP("Settings", "How many threads the engine may use; 0: all"),
    )
    precision: str = _option(
        "fast",
        QT_TRANSLATE_NOOP("Settings", "Precision"),
        QT_TRANSLATE_NOOP("Settings", "exact repeats the reference arithmetic and is slower"),
        ("fast", "exact"),
    )
    read_at_once: bool = _option(
        True,
        QT_TRANSLATE_NOOP("Settings", "Read pages as soon as they are opened"),
        QT_TRANSLATE_NOOP("Settings", "Otherwise pages wait for the Read button"),
    )
    follow: bool = _option(
        True,
        QT_TRANSLATE_NOOP("Settings", "Show the page that is being read"),
        QT_TRANSLATE_NOOP("Settings", "Until you choose another page yourself"),
    )
    keep_history: bool = _option(
        True,
        QT_TRANSLATE_NOOP("Settings", "Keep a history of documents"),
        QT_TRANSLATE_NOOP("Settings", "Stored on this machine only; needed to go on after an interruption"),
    )
    doubt: int = _option(
        0,
        QT_TRANSLATE_NOOP("Settings", "Mark words below"),
        QT_TRANSLATE_NOOP("Settings", "Percent of certainty under which a word is marked; 0: as the model suggests"),
    )
    text_size: int = _option(
        0,
        QT_TRANSLATE_NOOP("Settings", "Text size"),
        QT_TRANSLATE_NOOP("Settings", "Points; 0: the system's size"),
    )
    appearance: str = _option(
        "system",
        QT_TRANSLATE_NOOP("Settings", "Appearance"),
        QT_TRANSLATE_NOOP("Settings", "Light, dark, or what the system says"),
        ("system", "light", "dark"),
    )
    language: str = _option(
        "system",
        QT_TRANSLATE_NOOP("Settings", "Language"),
        QT_TRANSLATE_NOOP("Settings", "Takes effect at the next start"),
        ("system", "en", "it"),
    )


READ_TITLES: dict[str, Any] = {
    "preset": QT_TRANSLATE_NOOP("Settings", "Views of a page"),
    "prompt": QT_TRANSLATE_NOOP("Settings", "Prompt"),
    "dpi": QT_TRANSLATE_NOOP("Settings", "PDF resolution"),
    "one_pass": QT_TRANSLATE_NOOP("Settings", "Read the pages of a document together"),
    "max_new_tokens": QT_TRANSLATE_NOOP("Settings", "Longest text of a page"),
    "ngram_size": QT_TRANSLATE_NOOP("Settings", "Repeat guard: length"),
    "ngram_window": QT_TRANSLATE_NOOP("Settings", "Repeat guard: window"),
    "loop_guard_hits": QT_TRANSLATE_NOOP("Settings", "Call it a loop after"),
    "loop_history": QT_TRANSLATE_NOOP("Settings", "Loop: look back"),
    "read_again": QT_TRANSLATE_NOOP("Settings", "Read a page again where the model looks lost"),
}
"""Titles of the read settings in the dialog; their help is the table's own."""

READ_HELPS: dict[str, Any] = {
    "preset": QT_TRANSLATE_NOOP(
        "Settings", "How the page is cut for the model: tiny to large, or gundam with close-ups"
    ),
    "prompt": QT_TRANSLATE_NOOP("Settings", "What the model is asked; empty: its own question"),
    "dpi": QT_TRANSLATE_NOOP("Settings", "Dots an inch at which PDF pages are drawn before reading"),
    "one_pass": QT_TRANSLATE_NOOP(
        "Settings",
        "The model sees several pages at once, in context: tables and sentences may go on over page ends. "
        "Takes more memory; close-ups are not made. Only for models that were trained for it.",
    ),
    "max_new_tokens": QT_TRANSLATE_NOOP("Settings", "Tokens after which a page is cut short; 0: the model's limit"),
    "ngram_size": QT_TRANSLATE_NOOP("Settings", "No sequence of this many tokens twice; 0: off"),
    "ngram_window": QT_TRANSLATE_NOOP("Settings", "How many tokens back the guard looks"),
    "loop_guard_hits": QT_TRANSLATE_NOOP("Settings", "Times the guard had to act before reading stops"),
    "loop_history": QT_TRANSLATE_NOOP("Settings", "Tokens looked back for that; 0: never stop"),
    "read_again": QT_TRANSLATE_NOOP(
        "Settings",
        "Such a page is shown to the model once more, a little smaller, and the reading that it is surer of is kept. "
        "Takes twice the time there. Only for models that say when they look lost.",
    ),
}

PRESET_CHOICES = ("", "tiny", "small", "base", "large", "gundam")


def visible_read_fields() -> list[dataclasses.Field[Any]]:
    """Read settings that the dialog shows."""
    return [f for f in dataclasses.fields(ReadSettings) if f.name not in READ_HIDDEN]


def field_type(owner: type, name: str) -> tuple[type, bool]:
    """(type, may be None) of a table's field."""
    hint = typing.get_type_hints(owner)[name]
    if isinstance(hint, types.UnionType):
        kinds = [k for k in typing.get_args(hint) if k is not type(None)]
        return (typing.get_origin(kinds[0]) or kinds[0]), True
    return (typing.get_origin(hint) or hint), False


def build_parser(prog: str = "leggio") -> argparse.ArgumentParser:
    """A flag for every setting of both tables, and what else `leggio` understands."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Read pages in a window.",
        epilog="Settings given here hold for this start only.",
    )
    parser.add_argument("files", nargs="*", help="pictures, PDFs and folders to open")
    parser.add_argument(
        "--self-test",
        action="store_true",
        help="read a sample in a window that is not shown, save its picture, exit 0 if all is well",
    )
    parser.add_argument(
        "--self-test-picture",
        metavar="FILE",
        help="where --self-test saves the picture (PNG), in place of what is there; default: a new temporary folder",
    )
    parser.add_argument("--new-instance", action="store_true", help="do not hand the files to a running Leggio")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    for title, owner, skip in (
        ("window", WindowSettings, frozenset[str]()),
        ("reading", ReadSettings, READ_HIDDEN - {"pages", "password"}),
    ):
        group = parser.add_argument_group(title)
        for f in dataclasses.fields(owner):
            if f.name not in skip:
                _add_flag(group, owner, f)
    return parser


def _add_flag(group: argparse._ArgumentGroup, owner: type, f: dataclasses.Field[Any]) -> None:
    kind, _ = field_type(owner, f.name)
    flag = "--" + f.name.replace("_", "-")
    title = f.metadata.get("title")
    help_text = (f"{title}. " if title else "") + str(f.metadata["help"])
    help_text = help_text.replace("%", "%%")
    choices = [c for c in f.metadata.get("choices", ()) if c] or None
    if kind is bool:
        group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=help_text)
    elif kind in (int, str):
        group.add_argument(flag, type=kind, default=None, choices=choices, help=help_text)


def given(arguments: argparse.Namespace, owner: type) -> dict[str, Any]:
    """Fields of a table that were set on the command line."""
    names: Iterable[str] = (f.name for f in dataclasses.fields(owner))
    return {n: v for n in names if (v := getattr(arguments, n, None)) is not None}
