"""How a page is read: one table of settings, shared by the Python interface, the command line and the window.

A field left at None takes its value from the model file, so the same settings fit every model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from typing import Any

from .errors import InvalidRequest
from .views import get_preset


def _option(
    default: Any, help_text: str, low: int = 0, high: int = 2**31 - 1, choices: tuple[int, ...] = ()
) -> Any:
    """A field with its help; `low` and `high` bound a whole number, or it is one of `choices`."""
    return field(default=default, metadata={"help": help_text, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Everything that can change what is read from a page. Hashed into journals and stored with results."""

    preset: str | None = _option(None, "tiny, small, base, large, gundam or multi-page; default: the model's")
    prompt: str | None = _option(None, "text; <image> stands for the page, first if left out; default: the model's")
    locate: str | None = _option(None, "words to find: tell where they stand instead of reading, if the model can")
    pages: str | None = _option(None, 'page range of a document, e.g. "1-3,7,-1"; "3-1" runs backwards')
    dpi: int = _option(300, "dots an inch at which PDF pages are drawn", 36, 1200)
    max_new_tokens: int = _option(0, "most tokens a page may take; 0: up to the model's last position")
    one_pass: bool = _option(False, "read all pages in one pass, if the model can")
    ngram_size: int | None = _option(None, "repeat guard: no sequence this long twice; 0: off; default: the model's")
    ngram_window: int | None = _option(None, "repeat guard: how many tokens back; default: the model's")
    guard_allow: tuple[int, ...] = _option((), "token ids the repeat guard never bans")
    loop_guard_hits: int = _option(8, "call it a loop when the guard changed this many of the last loop_history tokens")
    loop_history: int = _option(256, "tokens looked back for the loop verdict; 0: no verdict")
    compat: str | None = _option(None, '"upstream": decode pictures exactly as the reference code does')
    password: str | None = _option(None, "for encrypted PDFs")
    rotate: int = _option(0, "degrees clockwise, 0, 90, 180 or 270, before reading", choices=(0, 90, 180, 270))
    read_again: bool = _option(True, "a page on which the model looks lost may be read again, a little smaller; the "
                                     "surer reading is kept")
    region: tuple[int, int, int, int] | None = _option(None, "left, top, right, bottom in page pixels: read only that")

    def __post_init__(self) -> None:
        for f in fields(self):
            _check(f, getattr(self, f.name))
        if self.preset is not None:
            get_preset(self.preset)
        if self.region is not None:
            left, top, right, bottom = self.region
            if right <= left or bottom <= top:
                raise InvalidRequest(
                    f"region is {left},{top},{right},{bottom}, which holds no pixel: give left, top, right and bottom, "
                    "with right greater than left and bottom greater than top."
                )
        if self.locate is not None:
            if not self.locate.strip():
                raise InvalidRequest("locate is empty; give the words to find.")
            if self.prompt is not None:
                raise InvalidRequest("locate is a prompt of its own; leave it or the other prompt out.")
            if self.one_pass:
                raise InvalidRequest("locate looks at one page at a time and cannot be combined with one pass over "
                                     "several; leave one out.")
        if self.compat not in (None, "upstream"):
            raise InvalidRequest(f'compat is {self.compat!r}; the only policy beside the default is "upstream".')

    def with_changes(self, changes: Mapping[str, Any]) -> ReadSettings:
        """A copy with some fields changed; InvalidRequest names a field that does not exist."""
        known = {f.name for f in fields(self)}
        for name in changes:
            if name not in known:
                raise InvalidRequest(f"There is no setting {name!r}; known: {', '.join(sorted(known))}.")
        return replace(self, **changes)

    def recorded(self) -> dict[str, object]:
        """What is stored with results and bound into journals: everything but the password."""
        values = asdict(self)
        del values["password"]
        return values


_WORDS = {"str": "text", "int": "a whole number", "bool": "True or False"}


def _check(f: Field[Any], value: Any) -> None:
    """InvalidRequest unless `value` has the declared type and lies within the field's bounds."""
    kind, _, optional = str(f.type).partition(" | ")
    if value is None and optional:
        return
    low, high = f.metadata["low"], f.metadata["high"]
    if kind.startswith("tuple"):
        count = None if "..." in kind else 4
        good = isinstance(value, tuple | list) and all(type(v) is int and abs(v) <= high for v in value)
        if not good or (count is not None and len(value) != count):
            raise InvalidRequest(f"{f.name} is {value!r}; give {count or 'a list of'} whole numbers.")
    elif type(value).__name__ != kind:
        raise InvalidRequest(f"{f.name} is {value!r}; give {_WORDS[kind]}.")
    elif choices := f.metadata["choices"]:
        if value not in choices:
            raise InvalidRequest(f"{f.name} is {value}; choose {', '.join(map(str, choices[:-1]))} or {choices[-1]}.")
    elif kind == "int" and not low <= value <= high:
        raise InvalidRequest(f"{f.name} is {value}; choose {low} to {high}.")
