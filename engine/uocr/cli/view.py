"""What the command line shows: tables and lines, built with rich."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from uocr import markup
from uocr.characters import clean
from uocr.cli import options
from uocr.document import FinishReason, Page
from uocr.errors import OutputFailed, OverBudget, UocrError
from uocr.export.content import doubt_of, reasons
from uocr.export.streamed import StreamedText
from uocr.export.target import failed
from uocr.native import ProfileRow

if TYPE_CHECKING:
    from uocr.audit import Audit
    from uocr.bench import PhaseTrace


class _StandardError:
    """Standard error for messages: one that is closed, full or without a reader never stops the work."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


out = Console(highlight=False, soft_wrap=True)
err = Console(file=_StandardError(), highlight=False, soft_wrap=True)  # type: ignore[arg-type]

FINISH_WORDS = {
    FinishReason.EOS: "complete",
    FinishReason.LENGTH: "cut short: the token limit was reached",
    FinishReason.LOOP: "cut short: the model began to repeat itself",
    FinishReason.CANCELLED: "cancelled",
    FinishReason.ERROR: "failed",
    FinishReason.NOT_READ: "not read",
}

PHASE_WORDS = {"again": "reading again"}
SECOND_KEPT = "read twice: the second reading was surer, and this is its text"
"""Stands before the text of a page whose first reading was shown as it came."""

DOUBTFUL_SHOWN = 8
"""Doubtful words of a page that are named; of more there is only a count."""
_WORD_SHOWN = 40
"""Characters of a doubtful word, which may be a whole line of dots."""


def size(count: float) -> str:
    """Bytes for people: 1,234 B, 12.3 MB, 1.83 GB (decimal units)."""
    if count < 10_000:
        return f"{count:,.0f} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.5 or unit == "TB":
            return f"{count:.3g} {unit}" if count < 99.5 else f"{count:.0f} {unit}"
    raise AssertionError


def memory_table(estimate: Mapping[str, int], peak: Mapping[str, int] | None = None) -> Table:
    """Memory by category: what is needed at most and, after a page, what was reached. Categories reach their most at
    different times, so their sum is above what is needed at once."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("memory, each at its most")
    table.add_column("estimate", justify="right")
    if peak is not None:
        table.add_column("peak", justify="right")
    for name, promised in estimate.items():
        reached = [] if peak is None else [size(peak.get(name, 0))]
        if promised:
            table.add_row(name, size(promised), *reached)
    return table


def write(text: str) -> None:
    """Text to standard output, as it is. Raises OutputFailed, which keeps the text; BrokenPipeError."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(str(failed(Path("standard output"), error)), text) from error


class PhaseBar:
    """How far vision, prefill, decoding or a second reading is, on a terminal's error stream only; gone when the text
    comes."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def show(self, phase: str, done: int, total: int) -> None:
        if not err.is_terminal:
            return
        if self._bar is None:
            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=err, transient=True
            )
            self._bar.start()
            self._task = self._bar.add_task("")
        self._bar.update(self._task, description=PHASE_WORDS.get(phase, phase), completed=done, total=total)

    def hide(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class TextStream:
    """Text as it is read, one block a paragraph, without its markers; cells of a table are parted by tabs."""

    def __init__(self) -> None:
        self._block = StreamedText("")

    def show(self, event: markup.Event) -> None:
        match event:
            case markup.BlockStarted(label=label):
                self._block = StreamedText(label)
            case markup.BlockText(delta=delta):
                out.print(self._block.push(delta), end="", markup=False)
            case markup.BlockFinished():
                out.print("\n")


def error(problem: UocrError) -> None:
    """One line for what went wrong; a refused budget also shows the table it was refused with."""
    err.print(f"uocr: {options.told(problem)}", markup=False, style="red")
    if isinstance(problem, OverBudget) and problem.estimate:
        err.print(memory_table(problem.estimate))


def profile_table(rows: Sequence[ProfileRow]) -> Table:
    """Per operator: calls, time, share, bytes and rates."""
    total = sum(r.seconds for r in rows) or 1.0
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("operator")
    for title in ("calls", "seconds", "share", "bytes", "GB/s", "GFLOP/s"):
        table.add_column(title, justify="right")
    for r in rows:
        busy = r.seconds or float("inf")
        table.add_row(
            r.name,
            f"{r.calls:,}",
            f"{r.seconds:.3f}",
            f"{100 * r.seconds / total:.1f} %",
            size(r.bytes),
            f"{r.bytes / busy / 1e9:.1f}",
            f"{r.flops / busy / 1e9:.1f}",
        )
    return table


def trace_table(phase: PhaseTrace) -> Table:
    """One phase: kernels, command buffers and bytes, in all and for one unit of its work."""
    table = Table(title=phase.phase, title_justify="left", box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    for title in ("dispatches", "command buffers", "read", "written"):
        table.add_column(title, justify="right")
    numbers = (phase.dispatches, phase.command_buffers)
    if phase.units > 1:
        table.add_row(
            f"{phase.units:,} in all", *(f"{n:,}" for n in numbers), size(phase.read), size(phase.written)
        )
    table.add_row(
        phase.unit,
        *(f"{n / phase.units:,.1f}" for n in numbers),
        size(phase.read // phase.units),
        size(phase.written // phase.units),
    )
    return table


def page_lines(page: Page) -> list[str]:
    """How a page ended and what it took, a line each."""
    t = page.timings
    reason, words = str(page.finish_reason), FINISH_WORDS[page.finish_reason]
    lines = [f"finish reason: {reason}" + (f" ({words})" if words != reason else "")]
    if page.error:
        lines.append(f"error: {page.error}")
    if page.readings > 1:
        lines.append(f"read twice: the {'second' if page.kept_reading == 2 else 'first'} reading was surer")
    if t.generated_tokens:
        lines.append(
            f"tokens: {t.generated_tokens} written, {t.prompt_tokens} in the prompt ({t.visual_tokens} visual), "
            f"{t.tokens_per_second:.1f} tokens/s"
        )
        lines.append(f"time: vision {t.vision_s:.2f} s, prefill {t.prefill_s:.2f} s, decode {t.decode_s:.2f} s")
    if page.confidence is not None:
        lines.append(f"confidence: {page.confidence:.3f}")
    if (doubtful := doubtful_line(page)) is not None:
        lines.append(doubtful)
    if page.has_text_layer:
        lines.append("note: the PDF page has text of its own")
    return lines


def doubtful_line(page: Page) -> str | None:
    """The words that the model is unsure of, with their confidences; None where it is sure of all, or of hardly any,
    which the page's warning says."""
    words = [] if page.hardly_sure or page.located is not None else page.doubtful_words
    if not words:
        return None
    named = [f'"{_short(word.text)}" ({word.confidence:.2f})' for word in words[:DOUBTFUL_SHOWN]]
    more = f" and {len(words) - len(named)} more" if len(words) > len(named) else ""
    return f"{len(words)} doubtful word{'s' if len(words) > 1 else ''}: {', '.join(named)}{more}"


def _short(word: str) -> str:
    shown = clean(word)[0]
    return shown if len(shown) <= _WORD_SHOWN else shown[: _WORD_SHOWN - 1] + "…"


def page_warnings(page: Page, found: Audit | None = None, rotate: int = 0) -> list[str]:
    """What a person should know before trusting a page's text.

    found: what comparing the page's picture with its blocks gave. rotate: degrees that the page was turned by.
    """
    told = []
    other = [(rotate + degrees) % 360 for degrees in (180, 90, 270)]
    turning = "(try --rotate {}, {} or {})".format(*other)
    if (doubt := doubt_of(page, turning)) is not None:
        told.append(doubt)
    if page.ink_without_text:
        told.append(f"no text found, though there is ink on the page; {reasons(turning)}")
    elif page.complete and not page.text:
        told.append("no text found" if page.located is None else f'"{page.located}" was not found')
    if found is not None and page.complete and page.text:
        if found.missed:
            left, top, right, bottom = found.missed[0].pixels(page.width, page.height)
            more = len(found.missed) - 1
            also = f" and in {more} more place{'s' if more > 1 else ''}" if more else ""
            told.append(
                f"there is ink that no block covers, from pixel {left},{top} to {right},{bottom}{also}; text may be "
                f"missing (--region {left},{top},{right},{bottom} reads that place)"
            )
        if found.invented:
            count = len(found.invented)
            told.append(
                f"{count} block{'s stand' if count > 1 else ' stands'} where the page is empty; text may be invented"
            )
    layer = "; the PDF page has text of its own" if page.has_text_layer else ""
    return [f"page {page.index + 1}: {words}{layer}" for words in told]
