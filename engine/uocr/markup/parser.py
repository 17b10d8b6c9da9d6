"""Blocks out of the model's output, while it streams.

Every character of the output ends up in exactly one of: a tag that was understood, what was left out and
told, white space around a block's text, or a block's text. Left out are marks in the wrong place, and of a
tag that is broken its marks, label and boxes: they are never text of the page. Words inside it are kept.
How the output is cut into pushes changes nothing in the blocks. Each character is looked at a bounded number
of times: a megabyte of opening tags costs no more than a megabyte of prose.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from uocr.document import Block, Box, Token
from uocr.markup.confidence import TokenSpans, geometric_mean, words_of
from uocr.markup.events import BlockFinished, BlockStarted, BlockText, Event, PageMark, Problem
from uocr.markup.grid import uneven_tables
from uocr.markup.marks import DET_CLOSE, DET_OPEN, PAGE_MARK, REF_CLOSE, REF_OPEN, Marks, is_broken_mark
from uocr.markup.tables import Tables
from uocr.markup.tags import (
    DEFAULT_LABEL,
    begins_tag,
    boxes_without_pixels,
    grammar_length,
    read_tag,
    rest_length,
    shorten,
)

END_OF_SEQUENCE = "<｜end▁of▁sentence｜>"

TAG_LIMIT = 4096
"""Characters in a whole tag (about 150 boxes). A longer one is text: it would hold back the stream."""

PROBLEM_LIMIT = 100
"""Problems told one by one; the rest are only counted."""

_PIECE = 1024  # characters settled at a time: the buffer stays short, so cutting it stays cheap


@dataclass(slots=True)
class ParsedPage:
    """The blocks of one page and what could not be used on it."""

    blocks: list[Block] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Parsed:
    """A whole output, page by page."""

    pages: list[ParsedPage]

    @property
    def blocks(self) -> list[Block]:
        return [block for page in self.pages for block in page.blocks]

    @property
    def problems(self) -> list[str]:
        return [problem for page in self.pages for problem in page.problems]


class MarkupParser:
    """Takes the output piece by piece, gives events; `finish()` gives the blocks, `pages` the same by page.

    `page_width`, `page_height`: pixels of the page, to report boxes that cover no pixel of it (0: not
    known). `expected_pages`: how many page pictures the model was shown. `pages` then has exactly that
    many: text before the first `<PAGE>` belongs to the first page, or is the first page when exactly one
    mark is missing; text after surplus marks joins the last page. None: as many pages as the marks say.
    `special`: text of the vocabulary's tokens that are no text, by id; see `Marks`. `plain`: beside those and the tags
    of tables the model writes what is printed, neither tags for how text looks nor entities.
    """

    def __init__(
        self,
        page_width: int = 0,
        page_height: int = 0,
        *,
        expected_pages: int | None = None,
        special: Mapping[int, str] | None = None,
        plain: bool = False,
    ) -> None:
        if expected_pages is not None and expected_pages < 1:
            raise ValueError(f"expected_pages is {expected_pages}, must be at least 1")
        self._page_size = (page_width, page_height)
        self._expected = expected_pages
        self._spans = TokenSpans()
        self._marks = Marks(special)
        self._plain = plain
        self._received = 0  # characters pushed so far
        self._buffer = ""  # the unsettled end of the output
        self._offset = 0  # place of _buffer[0] in the output
        self._searched = 0  # characters of _buffer known to start no mark
        self._tag_marks: list[tuple[int, int]] = []  # (start, end) in _buffer of the marks of the open tag
        self._broken = (0, 0)  # (place in the output, brackets open there) where a tag was broken inside its boxes
        self._block: Block | None = None
        self._block_has_tag = False
        self._text: list[str] = []  # the block's text so far
        self._length = 0  # its characters
        self._places: list[tuple[int, int]] = []  # (offset in it, place in the output) where these run apart
        self._tables = Tables()  # where in it tables stand
        self._gap = False  # something was left out behind it
        self._held: list[str] = []  # white space after it, part of the text only if more follows
        self._sections: list[ParsedPage] = [ParsedPage()]  # [0] is what came before the first <PAGE>
        self._blocks = 0
        self._untold = 0  # problems beyond PROBLEM_LIMIT
        self._told = 0
        self._events: list[Event] = []
        self._pages: list[ParsedPage] | None = None
        self.last_events: list[Event] = []
        """What `finish` produced."""

    def push(self, text: str, tokens: list[Token] | None = None) -> list[Event]:
        """Take the next piece of output, written by `tokens` together (a character may need several tokens).

        A token that completes no character comes with an empty text and counts for the next one.
        Raises ValueError after `finish`.
        """
        if self._pages is not None:
            raise ValueError("push after finish: make a new MarkupParser for the next output")
        self._spans.add(self._received, self._received + len(text), tokens or [])
        self._received += len(text)
        self._marks.add(self._received, text, tokens or [])
        for start in range(0, len(text), _PIECE):
            self._buffer += text[start:start + _PIECE]
            self._settle()
        return self._take_events()

    def finish(self, *, cut: bool = False) -> list[Block]:
        """The output is over: every block in order. `last_events` has what this last step produced.

        cut: the output was ended (token limit, loop, cancelled) before the model ended it. A tag or mark that it
        was in the middle of then gives no text, even where it could be text of the page ("<P").
        """
        if self._pages is None:
            self._drop_unfinished(cut)
            while self._tag_marks:
                self._abandon_tag(len(self._buffer), "is not finished at the end of the output")
                self._settle()
            self._content(len(self._buffer))
            self._close_block()
            if self._untold:
                self._section.problems.append(f"{self._untold} more problems of the same kinds")
            self._pages = self._assign_pages()
            for page in self._pages:  # first: they change what the page says
                page.problems[:0] = uneven_tables(page.blocks)
            self.last_events = self._take_events()
        return [block for page in self._pages for block in page.blocks]

    @property
    def pages(self) -> list[ParsedPage]:
        """Blocks and problems by page; complete after `finish`."""
        return self._pages if self._pages is not None else self._assign_pages()

    # Settling: cut the buffer into marks and content.

    def _settle(self) -> None:
        while (found := self._marks.next(self._buffer, self._offset, self._searched)) is not None:
            self._searched = found[1]
            self._mark(*found)
        # A mark may have begun at the very end; everything before that is decided.
        self._searched = undecided = self._marks.undecided(self._buffer, self._offset, self._searched)
        if not self._tag_marks:
            self._content(undecided)
        elif undecided > TAG_LIMIT or (
            self._awaits_det and self._buffer[self._tag_marks[-1][1]:undecided].strip()
        ):
            self._abandon_tag(undecided, "is not closed")

    def _mark(self, start: int, end: int) -> None:
        """Handle the mark at `start`..`end` of the buffer: it goes on with the open tag, or ends it."""
        mark = self._buffer[start:end]
        if self._tag_marks:
            if self._continues_tag(mark, start):
                self._tag_marks.append((start, end))
                if mark == DET_CLOSE:
                    self._close_tag()
                return
            length = end - start
            self._abandon_tag(start, "is not closed")
            start, end = 0, length  # the buffer now begins with this mark
        if mark in (REF_OPEN, DET_OPEN):
            self._content(start)
            self._tag_marks = [(0, end - start)]
        elif mark == PAGE_MARK:
            self._content(start)
            self._close_block()
            self._drop(end - start)
            self._sections.append(ParsedPage())
            self._events.append(PageMark(self._page))
        else:
            self._content(start)
            if mark in self._marks.cell_tags and self._tables.take(mark, self._length):
                self._content(end - start)
                self._tables.tags.add(self._length - len(mark))
                return
            self._problem(f"the model wrote {mark} where it has no place; it was left out", self._offset)
            self._leave_out(end - start)

    @property
    def _awaits_det(self) -> bool:
        """The open tag is `<|ref|>...<|/ref|>`; only white space may stand before its `<|det|>`."""
        return len(self._tag_marks) == 2

    def _continues_tag(self, mark: str, start: int) -> bool:
        last_start, last_end = self._tag_marks[-1]
        if start > TAG_LIMIT:
            return False
        if self._awaits_det:
            return mark == DET_OPEN and not self._buffer[last_end:start].strip()
        return mark == (REF_CLOSE if self._buffer[last_start:last_end] == REF_OPEN else DET_CLOSE)

    def _close_tag(self) -> None:
        """The tag at the start of the buffer is complete: it starts a block, or turns out to be text."""
        marks = self._tag_marks
        ref_label = self._buffer[marks[0][1]:marks[1][0]] if len(marks) == 4 else None
        body_start, body_end, tag_end = marks[-2][1], marks[-1][0], marks[-1][1]
        tag = read_tag(self._buffer[body_start:body_end], ref_label)
        if tag is None:
            self._abandon_tag(tag_end, "has no label and box that could be read")
            return
        self._tag_marks = []
        place = self._offset
        self._close_block()
        for problem in tag.problems + boxes_without_pixels(tag, *self._page_size):
            self._problem(problem, place)
        tokens: list[Token] = []
        for start, end in tag.numbers:
            touching = self._spans.touching(place + body_start + start, place + body_start + end)
            tokens += [token for token in touching if not tokens or token is not tokens[-1]]
        self._drop(tag_end)
        self._open_block(tag.label, tag.boxes, geometric_mean(tokens))
        self._block_has_tag = True

    def _abandon_tag(self, end: int, why: str) -> None:
        """What looked like a tag, up to `end` of the buffer, is none: words in it are text outside every box."""
        shown = self._tag_marks[-1][1] if self._awaits_det else min(end, TAG_LIMIT)
        within = f" within {TAG_LIMIT} characters" if end > TAG_LIMIT else ""
        begun = shorten(self._buffer[:shown])
        self._problem(f"the model wrote a tag that {why}{within}; it was left out: {begun}", self._offset)
        marks, self._tag_marks = self._tag_marks, []
        if self._block_has_tag:
            self._close_block()
        words = []
        depth = self._broken[1] if self._broken[0] == self._offset else 0
        for (begin, start), (stop, _) in zip(marks, [*marks[1:], (end, end)], strict=True):
            body = self._buffer[start:min(stop, TAG_LIMIT)]
            length = 0
            if self._buffer[begin:start] != REF_CLOSE:  # behind it a tag has neither label nor boxes
                length = max(grammar_length(body), rest_length(body, depth) if depth else 0)
            start += length
            words.append((start, stop))
            closed = start < stop or self._buffer[begin:start] == DET_CLOSE
            depth = 0 if closed else max(depth + body.count("[") - body.count("]"), 0)
        self._broken = (self._offset + end, depth)
        done = 0
        for start, stop in words:
            self._leave_out(start - done)
            self._content(stop - start)
            done = stop

    def _drop_unfinished(self, cut: bool) -> None:
        """Forget the beginning of a tag or mark in which the output ends."""
        if self._tag_marks:
            # Behind `_searched` stands at most the beginning of the tag's next mark.
            body = self._buffer[self._tag_marks[-1][1]:self._searched]
            ref = self._buffer.startswith(REF_OPEN)
            labelled = len(self._tag_marks) == 3
            if not cut or not begins_tag(body, label=not labelled, boxes=labelled or not ref):
                if is_broken_mark(self._buffer[self._searched:]):
                    self._buffer = self._buffer[:self._searched]
                return
            self._tag_marks = []
        elif len(self._buffer) < 2 or not (cut or is_broken_mark(self._buffer)):
            return  # nothing, or what may be the page's own
        self._problem("the output was cut off inside the tag of a block; that block is left out", self._offset)
        self._drop(len(self._buffer))

    # Content: text into the current block.

    def _content(self, end: int) -> None:
        """The buffer up to `end` is content of the current block, or begins a block without a box."""
        text, place = self._buffer[:end], self._offset
        self._drop(end)
        if self._block is None or not self._text:
            stripped = text.lstrip()
            place += len(text) - len(stripped)
            text = stripped
            if not text:
                if self._block is None:
                    self._spans.forget_before(self._offset)
                return
            if self._block is None:
                self._open_block(DEFAULT_LABEL, (), None)
        if text and self._gap:
            self._gap = False
            if not self._held and not text[0].isspace():
                self._held = [" "]
        body = text.rstrip()
        if body:
            held = "".join(self._held)
            delta = held + body
            self._places.append((self._length + len(held), place))
            self._text.append(delta)
            self._length += len(delta)
            self._tables.watch(delta, self._length)
            self._events.append(BlockText(self._blocks - 1, delta))
            self._held = []
        if len(body) < len(text):
            self._held.append(text[len(body):])

    def _leave_out(self, length: int) -> None:
        """The next `length` characters are no text; what stands on both sides of them stays apart."""
        self._drop(length)
        self._gap = bool(self._text)

    def _drop(self, end: int) -> None:
        self._buffer = self._buffer[end:]
        self._offset += end
        self._searched = max(self._searched - end, 0)

    def _open_block(self, label: str, boxes: tuple[Box, ...], box_confidence: float | None) -> None:
        self._block = Block(label, boxes, "", box_confidence=box_confidence)
        self._events.append(BlockStarted(self._blocks, self._page, label, boxes))
        self._blocks += 1

    def _close_block(self) -> None:
        block, self._block, self._block_has_tag = self._block, None, False
        if block is not None:
            block.text = "".join(self._text)
            tags = self._marks.cell_tags
            block.printed_tags = self._tables.printed(block.text, block.label, tags, plain=self._plain)
            end = self._spans.touching(self._offset, self._offset + 1)  # the next block's tag or a page mark
            block.words = words_of(block.text, self._place, self._spans, block.printed_tags, end)
            if block.text:
                tokens = self._spans.touching(self._place(0), self._place(len(block.text) - 1) + 1)
                block.confidence = geometric_mean(tokens)
            self._section.blocks.append(block)
            self._events.append(BlockFinished(self._blocks - 1, block))
        self._text, self._held, self._places, self._tables = [], [], [], Tables()
        self._length, self._gap = 0, False
        self._spans.forget_before(self._offset)

    def _place(self, offset: int) -> int:
        """Where in the output the block's character `offset`, which is no white space, was written."""
        start, place = self._places[bisect_right(self._places, offset, key=lambda piece: piece[0]) - 1]
        return place + offset - start

    # Pages and problems.

    @property
    def _section(self) -> ParsedPage:
        return self._sections[-1]

    @property
    def _page(self) -> int:
        """The page that new blocks belong to, as far as can be told now."""
        page = max(len(self._sections) - 2, 0)
        return page if self._expected is None else min(page, self._expected - 1)

    def _problem(self, message: str, offset: int) -> None:
        if self._told >= PROBLEM_LIMIT:
            self._untold += 1
            return
        self._told += 1
        self._section.problems.append(message)
        self._events.append(Problem(message, offset, self._page))

    def _take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _assign_pages(self) -> list[ParsedPage]:
        """Sections between marks to pages; see the class for the rule."""
        marks = len(self._sections) - 1
        expected = self._expected or max(marks, 1)
        before = self._sections[0]
        first_mark_missing = bool(before.blocks) and marks == expected - 1
        shift = 0 if first_mark_missing else 1
        pages = [ParsedPage() for _ in range(expected)]
        for i, section in enumerate(self._sections):
            page = pages[min(max(i - shift, 0), expected - 1)]
            page.blocks += section.blocks
            page.problems += section.problems
        if before.blocks and marks and not first_mark_missing:
            pages[0].problems.append("text before the first <PAGE> was kept on the first page")
        count = f"the output has {marks} <PAGE> marks for {expected} page{'s' if expected > 1 else ''}"
        if marks < expected and expected > 1:
            pages[-1].problems.append(count)
        if marks > expected:
            pages[-1].problems.append(f"{count}; the rest joined the last page")
        return pages


def parse(
    text: str, page_width: int = 0, page_height: int = 0, *, expected_pages: int | None = None
) -> Parsed:
    """A whole output at once, without confidences; one trailing end-of-sequence mark is dropped."""
    parser = MarkupParser(page_width, page_height, expected_pages=expected_pages)
    parser.push(text.rstrip().removesuffix(END_OF_SEQUENCE))
    parser.finish()
    return Parsed(parser.pages)
