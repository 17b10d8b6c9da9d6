"""The page in the engine's hands, as far as it is known, so that it can be shown again at any moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from uocr.document import Block, Box
from uocr.events import PageStarted
from uocr.export.streamed import StreamedText

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
    stream: StreamedText = field(default_factory=lambda: StreamedText(""))
    open: bool = False
    tokens: int = 0
    decode_s: float = 0.0
    again: tuple[int, int] | None = None
    """How much of the second reading is done, and of how much; None until the page is read again."""

    def begin(self, label: str, boxes: tuple[Box, ...]) -> None:
        self.label, self.boxes, self.parts, self.open = label, boxes, [], True
        self.stream = StreamedText(label)

    def grow(self, text: str) -> str:
        """More text of the block that streams; gives what of it can be shown."""
        shown = self.stream.push(text)
        self.parts.append(shown)
        return shown

    def end(self, block: Block) -> None:
        self.blocks.append(block)
        self.parts, self.open = [], False

    @property
    def text(self) -> str:
        """Text of the block that streams, as it is shown."""
        return "".join(self.parts)
