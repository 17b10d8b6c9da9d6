"""What the command line shows: tables and lines, built with rich."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from uocr import markup
from uocr.document import FinishReason, Page
from uocr.errors import OverBudget, UocrError
from uocr.native import ProfileRow

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

FINISH_WORDS = {
    FinishReason.EOS: "complete",
    FinishReason.LENGTH: "cut short: the token limit was reached",
    FinishReason.LOOP: "cut short: the model began to repeat itself",
    FinishReason.CANCELLED: "cancelled",
    FinishReason.ERROR: "failed",
    FinishReason.NOT_READ: "not read",
}


def size(count: float) -> str:
    """Bytes for people: 1,234 B, 12.3 MB, 1.83 GB (decimal units)."""
    if count < 10_000:
        return f"{count:,.0f} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.5 or unit == "TB":
            return f"{count:.3g} {unit}" if count < 99.5 else f"{count:.0f} {unit}"
    raise AssertionError


def memory_table(estimate: Mapping[str, int], peak: Mapping[str, int]) -> Table:
    """Memory by category: promised and reached."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("memory")
    table.add_column("estimate", justify="right")
    table.add_column("peak", justify="right")
    for name, promised in estimate.items():
        if promised or peak.get(name):
            table.add_row(name, size(promised), size(peak.get(name, 0)))
    return table


def stream(event: markup.Event) -> None:
    """Text as it is read, one block a paragraph, without its markers."""
    match event:
        case markup.BlockText(delta=delta):
            out.print(delta, end="", markup=False)
        case markup.BlockFinished():
            out.print("\n")


def error(problem: UocrError) -> None:
    """One line for what went wrong; a refused budget also shows the table it was refused with."""
    err.print(f"uocr: {problem}", markup=False, style="red")
    if isinstance(problem, OverBudget) and problem.estimate:
        err.print(memory_table(problem.estimate, {}))


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


def page_lines(page: Page) -> list[str]:
    """How a page ended and what it took, a line each."""
    t = page.timings
    lines = [f"finish reason: {page.finish_reason} ({FINISH_WORDS[page.finish_reason]})"]
    if page.error:
        lines.append(f"error: {page.error}")
    if t.generated_tokens:
        lines.append(
            f"tokens: {t.generated_tokens} written, {t.prompt_tokens} in the prompt ({t.visual_tokens} visual), "
            f"{t.tokens_per_second:.1f} tokens/s"
        )
        lines.append(f"time: vision {t.vision_s:.2f} s, prefill {t.prefill_s:.2f} s, decode {t.decode_s:.2f} s")
    if page.confidence is not None:
        lines.append(f"confidence: {page.confidence:.3f}")
    lines += [f"note: {problem}" for problem in page.problems]
    return lines
