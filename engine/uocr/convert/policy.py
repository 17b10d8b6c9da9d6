"""The per-module choice of weight types: policy.toml, first matching glob wins.

A rule with a ``dialect`` holds for checkpoints of that dialect alone (see ``uocr.convert.dialects``): what the
quantisation gate measured on one network is no evidence about another.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

from uocr.errors import ConversionError
from uocr.modelfile import DTYPES, GROUP, PROFILES

FOLLOWS, WIDTH, POLICY, RANGE = 0, 1, 2, 3  # reasons in the tensor directory


@dataclass(frozen=True)
class Choice:
    """The type a tensor takes, and why it is not the profile's own (0: it is)."""

    dtype: str
    reason: int


@cache
def rules(dialect: str | None = None) -> tuple[tuple[tuple[str, ...], dict[str, str]], ...]:
    """Rules of a dialect in order: globs, and the type by profile."""
    data = tomllib.loads(resources.files(__package__).joinpath("policy.toml").read_text("utf-8"))
    return tuple((tuple(rule["match"]), {profile: rule[profile] for profile in PROFILES})
                 for rule in data["rule"] if rule.get("dialect") in (None, dialect))


def choose(name: str, shape: tuple[int, ...], profile: str,
           overrides: Mapping[str, str] | None = None, dialect: str | None = None) -> Choice:
    """The policy's type for a stored tensor, before its values are seen (``left_range`` comes after).

    ``overrides`` maps globs to types that go before the policy's own rules, the first match winning.
    """
    ahead = [((glob,), {profile: dtype}) for glob, dtype in (overrides or {}).items()]
    for globs, by_profile in (*ahead, *rules(dialect)):
        if any(fnmatchcase(name, glob) for glob in globs):
            dtype = by_profile[profile]
            break
    else:
        raise ConversionError(f"no rule of the type policy matches the tensor {name}.")
    if dtype not in DTYPES:
        raise ConversionError(f"the type {dtype!r} is unknown; choose one of {', '.join(DTYPES)}.")
    if dtype in ("q8", "q4") and (len(shape) < 2 or shape[-1] % GROUP):
        return Choice("f16", WIDTH)
    return Choice(dtype, FOLLOWS if dtype == profile else POLICY)
