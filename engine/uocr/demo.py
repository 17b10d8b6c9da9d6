"""Reads the sample pages with the built-in model and shows everything: `make demo`.

For each page: the text as it streams, how it ended, speed, memory by category against the estimate, the character error
rate against the true text beside the sample, and where the Markdown and JSON went.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from uocr import events
from uocr.api import UnlimitedOCR
from uocr.audit import audit
from uocr.cli import view
from uocr.export import export
from uocr.export.plain_text import page_text
from uocr.score import character_error_rate
from uocr.sources import open_source


def samples(folder: Path) -> list[Path]:
    """The sample pictures and PDFs."""
    return [f for f in sorted(folder.iterdir()) if f.suffix in (".png", ".jpg", ".pdf")]


def read_sample(ocr: UnlimitedOCR, file: Path, output: Path) -> None:
    truths = file.with_suffix(".txt").read_text("utf-8").split("\f")
    view.out.rule(f"[bold]{file.name}[/bold]")
    document, stream = None, view.TextStream()
    with open_source(file) as source:
        for event in ocr.stream(source):
            match event:
                case events.PageStarted(page=page):
                    view.out.print(
                        f"[dim]page {page.index + 1}: {page.width} x {page.height} pixels, "
                        f"{event.visual_tokens} visual tokens, estimate {view.size(event.estimate.total)}[/dim]"
                    )
                case events.BlockEvent():
                    stream.show(event.event)
                case events.PageFinished(page=page):
                    if page.kept_reading == 2:
                        view.out.print(view.SECOND_KEPT, style="yellow")
                        view.out.print(page_text(page) + "\n", markup=False)
                    for line in view.page_lines(page):
                        view.out.print(line, style="dim", markup=False)
                    for note in page.problems:
                        view.out.print(f"note: {note}", style="yellow", markup=False)
                    found = audit(page, source.page(page.index).image)
                    for warning in view.page_warnings(page, found):
                        view.out.print(warning, style="yellow", markup=False)
                    rate = character_error_rate(page.text, truths[page.index])
                    view.out.print(f"character error rate: {100 * rate:.2f} %", style="bold")
                    view.out.print(view.memory_table(page.memory_estimate, page.memory_peak))
                case events.DocumentFinished():
                    document = event.document
    assert document is not None
    written = [export(document, output / f"{file.stem}.{kind}", overwrite=True).files[0] for kind in ("md", "json")]
    view.out.print(f"written: {', '.join(str(w) for w in written)}", style="dim", markup=False)


def main() -> int:
    root = Path(__file__).resolve().parent.parent.parent
    parser = argparse.ArgumentParser(description="Read the sample pages with the built-in model.")
    parser.add_argument("--samples", type=Path, default=root / "resources" / "samples")
    parser.add_argument("--output", type=Path, default=root / "demo-output")
    options = parser.parse_args()
    if not options.samples.is_dir():
        view.err.print(f"{options.samples} is not a folder; run this from the source tree or name one with --samples.")
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    with UnlimitedOCR() as ocr:
        info = ocr.info
        view.out.print(
            f"model {ocr.path.name}: {info.parameters:,} parameters, {info.profile}, "
            f"{view.size(info.file_bytes)}; {info.backend} ({info.simd}), {info.threads} threads"
        )
        for file in samples(options.samples):
            read_sample(ocr, file, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
