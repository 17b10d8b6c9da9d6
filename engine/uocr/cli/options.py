"""Command-line flags out of the settings table: every field of ReadSettings is one flag of `uocr read`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import typer

from uocr.errors import InvalidRequest
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
    try:
        return ReadSettings(**parsed)
    except InvalidRequest as problem:  # it names the setting; here that is a flag
        words = str(problem)
        for name in parsed:
            if words.startswith(f"{name} "):
                raise InvalidRequest(_flag(name) + words.removeprefix(name)) from None
        raise


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _numbers(name: str, text: str, count: int | None) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidRequest(f"{_flag(name)} is {text!r}; give whole numbers with commas between them.") from None
    if count is not None and len(numbers) != count:
        raise InvalidRequest(f"{_flag(name)} has {len(numbers)} numbers; give {count}: left,top,right,bottom.")
    return numbers
