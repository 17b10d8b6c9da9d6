"""What a reading is made of: a document of pages, a page of blocks, a block of words.

Boxes are kept as the model wrote them, integers in 0..999 of the page (x to the right, y down), and are
converted to pixels only by `Box.pixels`. Log-probabilities are natural logarithms of the model's raw softmax.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

BOX_SCALE = 999
"""A coordinate of 999 is the far edge of the page (upstream divides by 999)."""

HARDLY = 0.25
"""Share of a page's words. On pages that are turned or in another script at most so many are sure, on blurred ones
that can still be read more than twice as many."""

SECOND_CANCELLED = "Reading the page a second time was cancelled, the first reading is kept."
"""Among the problems of a page of which that is so."""


class FinishReason(StrEnum):
    """Why a page ended. Only EOS is a complete page."""

    EOS = "eos"
    LENGTH = "length"
    LOOP = "loop"
    CANCELLED = "cancelled"
    ERROR = "error"
    NOT_READ = "not_read"


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in page units 0..999: left, top, right, bottom."""

    x1: int
    y1: int
    x2: int
    y2: int

    def pixels(self, width: int, height: int) -> tuple[int, int, int, int]:
        """(left, top, right, bottom) in pixels of a page of `width` x `height`, clamped and ordered."""

        def scale(a: int, b: int, side: int) -> tuple[int, int]:
            low, high = sorted((min(max(a, 0), BOX_SCALE), min(max(b, 0), BOX_SCALE)))
            return int(low / BOX_SCALE * side), int(high / BOX_SCALE * side)

        left, right = scale(self.x1, self.x2, width)
        top, bottom = scale(self.y1, self.y2, height)
        return left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Token:
    """One generated token: id, natural log-probability, whether the repeat guard changed the choice."""

    id: int
    logprob: float
    guard_acted: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """A run of non-space characters inside a block's text; `confidence` is the least of its tokens' (0..1)."""

    text: str
    start: int
    """Offset of the first character in the block's text."""
    confidence: float


@dataclass(slots=True)
class Block:
    """One region of a page: label, boxes (usually one; none for free text), content as the model wrote it."""

    label: str
    boxes: tuple[Box, ...]
    text: str
    """As the model wrote it: tables as HTML, formulas as TeX between `\\(` and `\\)`."""
    words: list[Word] = field(default_factory=list)
    confidence: float | None = None
    """Geometric mean of the content tokens' probabilities, 0..1; None when not known."""
    box_confidence: float | None = None
    """The same over the tokens of the coordinates."""
    picture: str | None = None
    """File name of the cropped picture, relative to the exported document; set by the exporter."""
    printed_tags: tuple[int, ...] = ()
    """Offsets in `text` of tags ("<td>"), and in tables of `&`, that are printed on the page: elsewhere such tags make
    up a table, and a table has entities."""


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds spent in each phase, and how many tokens each handled; of a page that was read twice, both times."""

    vision_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    prompt_tokens: int = 0
    visual_tokens: int = 0
    generated_tokens: int = 0

    @property
    def tokens_per_second(self) -> float:
        return self.generated_tokens / self.decode_s if self.decode_s > 0 else 0.0


@dataclass(slots=True)
class Page:
    """One page read (or not): where it came from, what was found, how it ended."""

    source: str
    """File name, URL or description of the input."""
    index: int
    """Page number inside the source, from 0."""
    width: int
    height: int
    """Pixels of the oriented page picture that boxes refer to."""
    blocks: list[Block] = field(default_factory=list)
    raw_text: str = ""
    """The model's output with every marker kept, without the end-of-sequence token."""
    finish_reason: FinishReason = FinishReason.NOT_READ
    error: str | None = None
    problems: list[str] = field(default_factory=list)
    """What the parser could not use, in words: never silently dropped."""
    tokens: list[Token] = field(default_factory=list)
    timings: Timings = field(default_factory=Timings)
    memory_estimate: dict[str, int] = field(default_factory=dict)
    """Bytes by category, promised before the run."""
    memory_peak: dict[str, int] = field(default_factory=dict)
    """Bytes by category, reached."""
    has_text_layer: bool = False
    """The source page (a born-digital PDF) already carries text."""
    located: str | None = None
    """The words whose place was asked for instead of the page's text; each block's boxes are an answer."""
    confidence_threshold: float = 0.0
    """The model's own, 0..1: a page whose `confidence` is lower is `unsure`."""
    has_ink: bool | None = None
    """Whether ink stands outside every box. Looked at only where no text was found; None: not looked at."""
    readings: int = 1
    """How often the page was read to an end: 2 where the model looked lost. `timings` counts the work of both."""
    kept_reading: int = 1
    """Which of them everything else is from, 1 or 2. Text that was streamed is always from the first."""

    @property
    def complete(self) -> bool:
        return self.finish_reason is FinishReason.EOS

    @property
    def final(self) -> bool:
        """The page is complete, and reading it once more would give the same: no second reading of it was cancelled."""
        return self.complete and not self.second_cancelled

    @property
    def second_cancelled(self) -> bool:
        """The page is its first reading only because the second was cancelled."""
        return SECOND_CANCELLED in self.problems

    @property
    def unsure(self) -> bool:
        """The model is not sure enough of the page: the text may be wrong, located words may not be there."""
        confidence = self.confidence
        return confidence is not None and confidence < self.confidence_threshold

    @property
    def hardly_sure(self) -> bool:
        """The page is unsure and hardly any word of it is sure: what was written is hardly what stands there."""
        if not self.unsure or self.located is not None:
            return False
        words = [word.confidence for block in self.blocks for word in block.words]
        if not words:  # a table without a word in it, or a text of which no word's confidence is known
            return bool(self.tokens)
        return sum(confidence >= self.confidence_threshold for confidence in words) <= HARDLY * len(words)

    @property
    def doubtful_words(self) -> list[Word]:
        """The words of whose text the model is unsure, in reading order, tables' among them."""
        return [w for block in self.blocks for w in block.words if w.confidence < self.confidence_threshold]

    @property
    def ink_without_text(self) -> bool:
        """The page was read to its end and no text was found, though there is ink on it: it is no empty sheet."""
        return self.complete and self.located is None and bool(self.has_ink) and not self.text

    @property
    def blank(self) -> bool:
        return self.complete and self.located is None and not any(b.text.strip() or b.boxes for b in self.blocks)

    @property
    def text(self) -> str:
        """Contents of the blocks, one a line, without markers, tables as HTML; `places` where one was asked."""
        if self.located is not None:
            return "\n".join(self.places)
        return "\n".join(b.text.strip() for b in self.blocks if b.text.strip())

    @property
    def places(self) -> list[str]:
        """One line for each place that was found, `words: left, top, right, bottom` in pixels of the page.

        Text that the model wrote beside its answer follows as lines of their own.
        """
        lines = []
        for block in self.blocks:
            for box in block.boxes:
                lines.append(f"{block.label}: {', '.join(map(str, box.pixels(self.width, self.height)))}")
            lines += block.text.split("\n") if block.text.strip() else []
        return lines

    @property
    def confidence(self) -> float | None:
        """Geometric mean over the blocks' confidences, each weighted by its length; None when not known.

        Of located words the probability of the answer's first token: that the words are on the page.
        """
        if self.located is not None:
            return math.exp(self.tokens[0].logprob) if self.tokens else None
        pairs = [(b.confidence, len(b.text)) for b in self.blocks if b.confidence and b.text]
        if not pairs:
            return None
        total = sum(n for _, n in pairs)
        return math.exp(sum(math.log(c) * n for c, n in pairs) / total)


@dataclass(slots=True)
class Document:
    """The pages of one input, in order, with what is needed to reproduce the reading."""

    source: str
    pages: list[Page] = field(default_factory=list)
    model: str = ""
    model_id: str = ""
    """Hexadecimal identity of the model file."""
    settings: dict[str, object] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return bool(self.pages) and all(p.complete for p in self.pages)

    @property
    def text(self) -> str:
        return "\n\n".join(p.text for p in self.pages)
