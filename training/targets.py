"""What the model must write for a page: the output grammar as token ids, and where on the page each token was
read.

A block is `<|det|>label [x0, y0, x1, y1]<|/det|>text` and a newline; the page ends with the end token. A page
with nothing readable is the end token alone. Coordinates are 0..999 of the page.

Of several pages in one pass each begins with `<PAGE>`, nothing between that and its first block, and the end token
comes once. The answer to "Locate <|ref|>words<|/ref|> in the image." is `<|ref|>words<|/ref|><|det|>[[x0, y0, x1,
y1]]<|/det|>`; of words that are not on the page, the end token alone, since a list of boxes is never empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

Point = tuple[float, float]
NOWHERE: Point = (-1.0, -1.0)
LABELS = ("title", "text", "table", "header", "footer", "page_number")
_SPACE, _LINE_END, _TAG_BEGINS, _TAG_ENDS = map(ord, " \n<>")


class Task(Enum):
    """What the prompt asks for: one page, several pages in one pass, or where on a page some words stand."""

    READ = "read"
    SEVERAL = "several"
    LOCATE = "locate"


@dataclass
class Block:
    """A readable block: its text, the page position (pixels) of each character, its ink box (x0, y0, x1,
    y1). A table's text is HTML, whose tags have the position where reading goes on."""

    label: str
    text: str
    points: list[Point] = field(repr=False)
    box: tuple[float, float, float, float]

    def codes(self) -> NDArray[np.uint32]:
        """Code points of the text's characters."""
        return np.frombuffer(self.text.encode("utf-32-le"), np.uint32)

    def printed(self) -> NDArray[np.bool_]:
        """For each character whether it is printed: neither space, line end nor part of a table's tags."""
        codes = self.codes()
        shown = (codes != _SPACE) & (codes != _LINE_END)
        if self.label == "table":
            places = np.arange(len(codes))
            opened = np.maximum.accumulate(np.where(codes == _TAG_BEGINS, places, -1))
            closed = np.maximum.accumulate(np.where(codes == _TAG_ENDS, places, -1))
            shown[:1] &= opened[:1] < 0
            shown[1:] &= opened[1:] <= closed[:-1]  # what ends a tag is still part of it
        return shown


@dataclass
class Target:
    """Ids to predict, and for each the page position of the character it starts with (NOWHERE for
    grammar). The first `asked` ids are the question itself."""

    ids: list[int]
    points: list[Point]
    asked: int = 0


class Vocabulary:
    """The tokenizer with the pieces of the output grammar looked up once."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(path))
        known = self.tokenizer.get_vocab()
        self.numbers = [known[str(value)] for value in range(1000)]
        self.comma = known[",Ġ"]
        self.open, self.close = known["<|det|>"], known["<|/det|>"]
        self.ref_open, self.ref_close, self.page_mark = known["<|ref|>"], known["<|/ref|>"], known["<PAGE>"]
        self.image = known["<image>"]
        self.end = known["<｜end▁of▁sentence｜>"]
        self.newline = self.encode("\n")[0]
        self.bracket = self.encode("]")
        self.labels = {label: self.encode(label) + self.encode(" [") for label in LABELS}
        self.brackets = self.encode("[[")[:1] * 2, self.bracket * 2
        self.prompt = self.encode("document parsing.")
        self.prompts = {Task.READ: self.prompt, Task.SEVERAL: self.encode("Multi page parsing."), Task.LOCATE: []}
        """Ids behind the pages that are the same for every example of a task; a question is different each time."""
        self.text_ids = range(3, min(self.comma, *self.numbers[10:]))
        """Ids that ordinary text consists of: what noise on input tokens draws from."""

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode([i for i in ids if i != self.end], skip_special_tokens=False))

    def target(self, blocks: list[Block], width: int, height: int) -> Target:
        """Ids and positions for the blocks of a page of the given size in pixels."""
        out = Target([], [])
        for block in blocks:
            head = [self.open, *self.labels[block.label]]
            points = [block.points[0]] * len(head)
            head += [*self._corners(block, width, height), *self.bracket, self.close]
            points += [NOWHERE] * (len(head) - len(points))
            body, read = self._body(block)
            out.ids += [*head, *body, self.newline]
            out.points += [*points, *read, NOWHERE]
        out.ids.append(self.end)
        out.points.append(NOWHERE)
        return out

    def _corners(self, block: Block, width: int, height: int) -> list[int]:
        """The four numbers of a block's box, with commas."""
        ids: list[int] = []
        for index, (value, most) in enumerate(zip(block.box, (width, height, width, height), strict=True)):
            if index:
                ids.append(self.comma)
            ids.append(self.numbers[round(min(max(value, 0), most) / most * 999)])
        return ids

    def _body(self, block: Block) -> tuple[list[int], list[Point]]:
        """A block's text as ids, and the position of the character each starts with."""
        body, text, points = self.tokenizer.encode(block.text, add_special_tokens=False), block.text, block.points
        last = len(text) - 1
        starts = [min(start, last) for start, _ in body.offsets]
        return body.ids, [points[start + 1 if text[start] == " " and start < last else start] for start in starts]

    def joined(self, pages: Sequence[Sequence[int]]) -> list[int]:
        """Targets of pages, each with its end token, as the target of one pass over all of them."""
        return [token for page in pages for token in (self.page_mark, *page[:-1])] + [self.end]

    def question(self, phrase: str) -> list[int]:
        """The prompt behind the page that asks where a phrase stands."""
        return self.encode(f"Locate <|ref|>{phrase}<|/ref|> in the image.")

    def location(self, phrase: str, place: Block | None, width: int, height: int) -> Target:
        """Question and answer for a phrase: `place` is the phrase on the page, None where it is not there. Of the box's
        corners the first is read from where the phrase begins, the second from where it ends."""
        asked = self.question(phrase)
        out = Target(asked, [NOWHERE] * len(asked), len(asked))
        if place is not None:
            (before, after), corners = self.brackets, self._corners(place, width, height)
            body, read = self._body(place)
            first, last = place.points[0], place.points[-1]
            out.ids = [*asked, self.ref_open, *body, self.ref_close, self.open, *before, *corners, *after, self.close]
            out.points += [first, *read, *[NOWHERE] * 4, *[first] * 4, *[last] * 3, *[NOWHERE] * 3]
        out.ids.append(self.end)
        out.points.append(NOWHERE)
        return out
