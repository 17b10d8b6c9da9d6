"""Readings kept page by page, so that a run goes on where it was and a reader that did not change is not run again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from uocr.document import Box

from bench.quality.pages import Page
from bench.quality.readers import Reader
from bench.quality.scores import Reading


class Kept:
    """Readings in a file of JSON lines, bound to the pages they are of. A reader is known by its identity."""

    def __init__(self, path: Path, pages_key: str) -> None:
        self.path = path
        self.known: dict[tuple[str, str, int], Reading] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines and json.loads(lines[0]) == {"pages_key": pages_key}:
            for line in lines[1:]:
                stored = json.loads(line)
                self._remember(stored.pop("identity"), _reading(stored))
        else:
            path.write_text(json.dumps({"pages_key": pages_key}) + "\n", encoding="utf-8")

    def _remember(self, identity: str, reading: Reading) -> None:
        self.known[identity, reading.set, reading.number] = reading

    def add(self, identity: str, reading: Reading) -> None:
        self._remember(identity, reading)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"identity": identity} | asdict(reading), ensure_ascii=False) + "\n")


def _reading(stored: dict) -> Reading:
    boxes = stored.pop("boxes")
    words = [(text, confidence) for text, confidence in stored.pop("words")]
    return Reading(**stored, boxes=None if boxes is None else [Box(**box) for box in boxes], words=words)


def read_pages(pages: Sequence[Page], used: Sequence[Reader], kept: Kept) -> Iterator[tuple[Page, Reading]]:
    """Every page by every reader in turn (A B C, A B C); with several processes a reader, as many pages at once. What
    is kept is not read again."""
    ahead = max(reader.jobs for reader in used)
    waiting = []
    for page in pages:
        started = [None if (reader.identity, page.set, page.number) in kept.known else reader.start(page)
                   for reader in used]
        waiting.append((page, started))
        if len(waiting) >= ahead:
            yield from _finished(*waiting.pop(0), used, kept)
    for page, started in waiting:
        yield from _finished(page, started, used, kept)


def _finished(page: Page, started: Sequence, used: Sequence[Reader], kept: Kept) -> Iterator[tuple[Page, Reading]]:
    for reader, future in zip(used, started, strict=True):
        if future is not None:
            reading = future.result()
            reading.reader = reader.name
            kept.add(reader.identity, reading)
        yield page, kept.known[reader.identity, page.set, page.number]
