"""One repository on the local hub: its name, its files, and short ways to pull it and to be refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hub_server import REVISION, Hub
from uocr import models
from uocr.errors import DownloadError

GOLDEN = Path(__file__).parents[2] / "golden" / "model"
NAME = "some-one/tiny.ocr"
WEIGHTS = "model-00001-of-000001.safetensors"
TOKENIZER = b'{"model": {"vocab": {"a": 0, "b": 480}}}'
SIZE = sum(path.stat().st_size for path in GOLDEN.iterdir()) + len(TOKENIZER)


def pull(server: Hub, profile: str = "q4", **options) -> Path:
    return models.pull(NAME, profile, endpoint=server.url, **options)


def refusal(server: Hub, kind: type[Exception] = DownloadError) -> str:
    with pytest.raises(kind) as caught:
        pull(server)
    assert not models.installed()
    words = str(caught.value)
    assert "\n" not in words
    return words


def downloads() -> Path:
    return models.cache_folder() / "downloads" / "some-one--tiny.ocr" / REVISION


def asked(server: Hub, name: str) -> list[str | None]:
    """Range headers of the requests for one file."""
    return [header for path, header in server.requests if path.endswith("/" + name)]
