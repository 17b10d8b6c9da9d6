"""Command-line flags out of the settings table: every field of ReadSettings is one flag of `uocr read`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import typer

from uocr.errors import InvalidRequest, UocrError
from uocr.flags import flag, with_flags
from uocr.settings import ReadSettings


def _is_numbers(annotation: Any) -> bool:
    """Settings that are several numbers are typed as text, "1,2,3"."""
    return "tuple" in str(annotation)


def with_settings(command: Callable[..., int]) -> Callable[..., int]:
    """Adds a flag for each setting to a typer command that takes them as **settings."""
    hints = get_type_hints(ReadSettings)
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = []
    for f in fields(ReadSettings):
        numbers = _is_numbers(hints[f.name])
        default, kind = (None, str | None) if numbers else (f.default, hints[f.name])
        option = typer.Option(help=f.metadata["help"])
        added.append(
            inspect.Parameter(
                f.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
            )
        )
    signature = inspect.Signature([p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + added)
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()} | {"return": int}
    return command


def settings_of(values: Mapping[str, Any]) -> ReadSettings:
    """The settings that the flags say. InvalidRequest for numbers that are none."""
    hints = get_type_hints(ReadSettings)
    parsed = {}
    for name, value in values.items():
        if _is_numbers(hints[name]):
            if value is None:
                continue
            value = _numbers(name, value, 4 if name == "region" else None)
        parsed[name] = value
    return ReadSettings(**parsed)


SETTINGS = (*(f.name for f in fields(ReadSettings)), "threads", "precision", "simd")
"""Names that a refusal may begin with and that are flags of a command."""


def told(problem: UocrError) -> str:
    """Words for what went wrong; a setting that is refused has the name of its flag."""
    return with_flags(str(problem), SETTINGS) if isinstance(problem, InvalidRequest) else str(problem)


_UNSET = {"pages": "all pages", "preset": "the model's own", "prompt": "the model's own", "region": "the whole page",
          "ngram_size": "the model's own", "ngram_window": "the model's own"}
"""What a setting that is null stands for; of the others, for nothing."""


def changed_setting(name: str, then: str, now: str) -> str:
    """Words for a recorded setting that changed, values as JSON or "unknown": a flag's where it has one."""
    if name not in {f.name for f in fields(ReadSettings)} | {"precision"}:
        return f"{name.replace('_', ' ')}: {then} then, {now} now"
    switch = {"true": flag(name), "false": flag("no_" + name)}
    if then in switch and now in switch:
        return f"{switch[then]} then, {switch[now]} now"
    unset = {"null": _UNSET.get(name, "nothing"), "[]": "nothing"}
    return f"{flag(name)}: {unset.get(then, then)} then, {unset.get(now, now)} now"


def _numbers(name: str, text: str, count: int | None) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidRequest(f"{flag(name)} is {text!r}; give whole numbers with commas between them.") from None
    if count is not None and len(numbers) != count:
        raise InvalidRequest(f"{flag(name)} has {len(numbers)} numbers; give {count}: left,top,right,bottom.")
    return numbers
