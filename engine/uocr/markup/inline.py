"""The inside of a line: plain text, formulas, raised and lowered text.

Formulas stand as the model writes them, `\\( ... \\)` in a line and `\\[ ... \\]` on their own; they stay
TeX.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a run is. DISPLAY is a formula that stands on a line of its own, BREAK a line break."""

    TEXT = "text"
    MATH = "math"
    DISPLAY = "display"
    SUPERSCRIPT = "sup"
    SUBSCRIPT = "sub"
    BREAK = "break"


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of a line, all of one kind. `text` of a formula is TeX without delimiters."""

    kind: Kind
    text: str = ""


Line = tuple[Run, ...]

PRINTED = "\uffff"
"""Stands for the `<` of a tag that is printed on the page, until text has become runs; `clean` leaves no other."""

_CLOSERS = {"\\(": ("\\)", Kind.MATH), "\\[": ("\\]", Kind.DISPLAY)}
_OPENER = re.compile(r"(?<!\\)\\+[(\[]")  # from the first backslash: a run of them is looked at once
_INLINE_TAG = re.compile(r"<(?:(br)\s*/?|(/?)(sup|sub))>", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_BLANKS = re.compile(r"[ \t]+")


def split_runs(text: str) -> list[Run]:
    """`text` as runs in order; text runs keep their line ends. An opening without its end stays text."""
    text = text.replace("\\coloneqq", ":=").replace("\\eqqcolon", "=:")
    runs: list[Run] = []
    start = search = 0
    missing: set[str] = set()  # closers known not to come any more: each is searched to the end only once
    while opener := _OPENER.search(text, search):
        # An even number of backslashes is a TeX line break before a bracket, not the start of a formula.
        search = opener.end()
        opening = "\\" + opener.group()[-1]
        closing, kind = _CLOSERS[opening]
        if len(opener.group()) % 2 or closing in missing:
            continue
        end = text.find(closing, opener.end())
        if end < 0:
            missing.add(closing)
            continue
        formula = text[opener.end():end]
        again = formula.rfind(opening)
        if again >= 0:
            search = opener.end() + again
            continue
        runs += _tagged(text[start:opener.end() - 2])
        runs.append(Run(kind, _SPACE.sub(" ", formula).strip()))
        start = search = end + 2
    runs += _tagged(text[start:])
    return [Run(run.kind, run.text.replace(PRINTED, "<")) for run in runs if run.text or run.kind is Kind.BREAK]


def _tagged(text: str) -> list[Run]:
    """Text with `<br>`, `<sup>` and `<sub>` into runs; an opening tag without its end stays text."""
    runs: list[Run] = []
    start = 0
    opened: re.Match[str] | None = None
    for tag in _INLINE_TAG.finditer(text):
        if tag.group(1):
            if opened is None:
                runs += [Run(Kind.TEXT, text[start:tag.start()]), Run(Kind.BREAK)]
                start = tag.end()
        elif not tag.group(2):
            opened = tag
        elif opened is not None and opened.group(3).lower() == tag.group(3).lower():
            runs.append(Run(Kind.TEXT, text[start:opened.start()]))
            kind = Kind.SUPERSCRIPT if tag.group(3).lower() == "sup" else Kind.SUBSCRIPT
            runs.append(Run(kind, _SPACE.sub(" ", text[opened.end():tag.start()]).strip()))
            start, opened = tag.end(), None
    runs.append(Run(Kind.TEXT, text[start:]))
    return runs


def split_lines(runs: list[Run]) -> list[Line]:
    """Runs into lines at line ends and breaks; blanks are single, except the indent at a line's start."""
    lines: list[list[Run]] = [[]]
    for run in runs:
        if run.kind is Kind.BREAK:
            lines.append([])
        elif run.kind is not Kind.TEXT:
            lines[-1].append(run)
        else:
            for i, piece in enumerate(run.text.split("\n")):
                if i:
                    lines.append([])
                if piece:
                    lines[-1].append(Run(Kind.TEXT, piece))
    return [_tidy(line) for line in lines]


def _tidy(line: list[Run]) -> Line:
    """Single blanks inside the line, none at its end; the indent of a text run at its start is kept."""
    tidy = []
    for i, run in enumerate(line):
        if run.kind is Kind.TEXT:
            indent = len(run.text) - len(run.text.lstrip(" \t")) if i == 0 else 0
            text = run.text[:indent] + _BLANKS.sub(" ", run.text[indent:])
            run = Run(Kind.TEXT, text.rstrip() if i == len(line) - 1 else text)
        if run.text:
            tidy.append(run)
    return tuple(tidy)


def strip_start(line: Line, length: int) -> Line:
    """`line` without the first `length` characters of its first run, which is text."""
    text = line[0].text[length:]
    return (Run(Kind.TEXT, text), *line[1:]) if text else line[1:]


def plain(line: Line) -> str:
    """The line's text alone: formulas as TeX, raised text after ^, lowered after _."""
    marks = {Kind.SUPERSCRIPT: "^", Kind.SUBSCRIPT: "_"}
    return "".join(marks.get(run.kind, "") + run.text for run in line)
