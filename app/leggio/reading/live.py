"""The page in the engine's hands, as far as it is known, so that it can be shown again at any moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from uocr.document import Block, Box
from uocr.events import PageStarted

from leggio.pages.items import PageItem


@dataclass(slots=True)
class LivePage:
    """Blocks finished so far and the one that streams."""

    item: PageItem
    started: PageStarted
    blocks: list[Block] = field(default_factory=list)
    label: str = ""
    boxes: tuple[Box, ...] = ()
    parts: list[str] = field(default_factory=list)
    open: bool = False
    tokens: int = 0
    decode_s: float = 0.0

    def begin(self, label: str, boxes: tuple[Box, ...]) -> None:
        self.label, self.boxes, self.parts, self.open = label, boxes, [], True

    def end(self, block: Block) -> None:
        self.blocks.append(block)
        self.parts, self.open = [], False

    @property
    def text(self) -> str:
        """Text of the block that streams."""
        return "".join(self.parts)
