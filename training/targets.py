"""What the model must write for a page: the output grammar as token ids, and where on the page each token was
read.

A block is `<|det|>label [x0, y0, x1, y1]<|/det|>text` and a newline; the page ends with the end token. A page
with nothing readable is the end token alone. Coordinates are 0..999 of the page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tokenizers import Tokenizer

Point = tuple[float, float]
NOWHERE: Point = (-1.0, -1.0)
LABELS = ("title", "text", "table", "header", "footer", "page_number")


@dataclass
class Block:
    """A readable block: its text, the page position (pixels) of each character, its ink box (x0, y0, x1,
    y1). A table's text is HTML, whose tags have the position where reading goes on."""

    label: str
    text: str
    points: list[Point] = field(repr=False)
    box: tuple[float, float, float, float]

    def printed(self) -> list[bool]:
        """For each character whether it is printed: neither space, line end nor part of a table's tags."""
        inside, shown = False, []
        for char in self.text:
            if self.label == "table" and char == "<":
                inside = True
            shown.append(not inside and char not in " \n")
            if self.label == "table" and char == ">":
                inside = False
        return shown


@dataclass
class Target:
    """Ids to predict, and for each the page position of the character it starts with (NOWHERE for
    grammar)."""

    ids: list[int]
    points: list[Point]


class Vocabulary:
    """The tokenizer with the pieces of the output grammar looked up once."""

    def __init__(self, path: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(path))
        known = self.tokenizer.get_vocab()
        self.numbers = [known[str(value)] for value in range(1000)]
        self.comma = known[",Ġ"]
        self.open, self.close = known["<|det|>"], known["<|/det|>"]
        self.image = known["<image>"]
        self.end = known["<｜end▁of▁sentence｜>"]
        self.newline = self.encode("\n")[0]
        self.bracket = self.encode("]")
        self.labels = {label: self.encode(label) + self.encode(" [") for label in LABELS}
        self.prompt = self.encode("document parsing.")
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
            for index, (value, most) in enumerate(zip(block.box, (width, height, width, height), strict=True)):
                if index:
                    head.append(self.comma)
                head.append(self.numbers[round(min(max(value, 0), most) / most * 999)])
            head += [*self.bracket, self.close]
            points += [NOWHERE] * (len(head) - len(points))
            body = self.tokenizer.encode(block.text, add_special_tokens=False)
            for start, _ in body.offsets:
                if block.text[start : start + 1] == " " and start + 1 < len(block.text):
                    start += 1
                points.append(block.points[min(start, len(block.text) - 1)])
            out.ids += [*head, *body.ids, self.newline]
            out.points += [*points, NOWHERE]
        out.ids.append(self.end)
        out.points.append(NOWHERE)
        return out
