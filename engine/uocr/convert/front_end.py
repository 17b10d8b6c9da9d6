"""Front-end settings and tokenizer facts that go into the model file as JSON."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from uocr.errors import ConversionError

_KNOWN = {"name", "prompts", "prompt_ids", "trained_presets", "default_preset", "multi_page", "multi_page_most",
          "locate_most", "crop_grids", "digits", "min_font_px", "integer_activations", "confidence_threshold",
          "read_again_below", "ngram", "languages", "plain_text", "description"}


def settings_for(dialect: str, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The front-end object for a config dialect, with ``changes`` laid over its top-level keys."""
    text = resources.files(__package__).joinpath("front_end.toml").read_text("utf-8")
    settings: dict[str, Any] = tomllib.loads(text)["built-in" if dialect == "built-in" else "published"]
    unknown = set(changes or {}) - _KNOWN
    if unknown:
        raise ConversionError(f"unknown front-end settings: {', '.join(sorted(unknown))}.")
    return settings | dict(changes or {})


def usable_vocab(tokenizer_json: bytes) -> int | None:
    """Highest id that the tokenizer knows, plus one; None for an empty tokenizer."""
    try:
        tokenizer = json.loads(tokenizer_json)
        ids = [token["id"] for token in tokenizer.get("added_tokens", [])]
        ids += tokenizer.get("model", {}).get("vocab", {}).values()
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise ConversionError(f"tokenizer.json cannot be used: {error!r}.") from error
    if not all(type(i) is int and i >= 0 for i in ids):
        raise ConversionError("tokenizer.json holds an id that is no whole number.")
    return max(ids) + 1 if ids else None


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """One spelling for equal objects, so that equal inputs give equal files."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode("utf-8")
