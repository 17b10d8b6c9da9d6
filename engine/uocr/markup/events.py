"""What the parser tells while text streams in."""

from __future__ import annotations

from dataclasses import dataclass

from uocr.document import Block, Box


@dataclass(frozen=True, slots=True)
class PageMark:
    """A `<PAGE>` was read; `page` is the page (from 0) that the following blocks belong to."""

    page: int


@dataclass(frozen=True, slots=True)
class BlockStarted:
    """A block begins. `index` counts the blocks of the whole output from 0."""

    index: int
    page: int
    label: str
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class BlockText:
    """More text of block `index`; the deltas of a block joined are its text."""

    index: int
    delta: str


@dataclass(frozen=True, slots=True)
class BlockFinished:
    """Block `index` is complete, with words and confidences."""

    index: int
    block: Block


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be used as it stood; `offset` is its place in the output, in characters."""

    message: str
    offset: int
    page: int


Event = PageMark | BlockStarted | BlockText | BlockFinished | Problem
