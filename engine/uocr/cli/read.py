"""`uocr read`: the everyday command."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from uocr import errors, events, export, journal
from uocr.api import UnlimitedOCR
from uocr.cli import options, view
from uocr.control import Control
from uocr.document import Document, FinishReason, Page
from uocr.reading import turned
from uocr.settings import ReadSettings
from uocr.sources import Source, expand_inputs, open_source

CUT_SHORT = 3
"""Exit code when every page was read and one of them was cut short."""


@options.with_settings
def read(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders, patterns, web addresses; - for standard input.")],
    format: Annotated[str, typer.Option(help="txt, md, html, json, docx or pdf.")] = "md",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File or folder to write; default: show the text.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="built-in, a pulled name or a .uocr file.")] = None,
    quant: Annotated[str | None, typer.Option(help="f16, q8 or q4 of a named model.")] = None,
    memory_budget: Annotated[
        str, typer.Option(help='For everything, e.g. "2 GB"; default: 80 % of this machine.')
    ] = "0",
    threads: Annotated[int, typer.Option(help="0: all this process may use.")] = 0,
    precision: Annotated[str, typer.Option(help="fast or exact.")] = "fast",
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON on standard output.")] = False,
    per_page: Annotated[bool, typer.Option(help="Write one file a page.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace files that exist.")] = False,
    resume: Annotated[bool, typer.Option(help="Keep a journal and go on where an earlier run was stopped.")] = False,
    profile: Annotated[bool, typer.Option(help="Show calls, time, bytes and share of every operator.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No figures, only text and errors.")] = False,
    **settings: Any,
) -> int:
    """Read pictures and PDFs: text on the screen, or documents in files."""
    job = Job(options.settings_of(settings), "json" if as_json else format, output, per_page, overwrite, resume, quiet)
    names = expand_inputs(inputs)
    job.check_targets(names)
    with (
        UnlimitedOCR(
            model,
            quant=quant,
            memory_budget=memory_budget,
            threads=threads,
            precision=precision,
            profile=profile,
            settings=job.settings,
        ) as ocr,
        _stopped_by_ctrl_c(job.control),
    ):
        for name in names:
            if job.control.cancelled:
                break
            job.read(ocr, name)
        if profile:
            view.err.print(view.profile_table(ocr.profile()))
    return job.exit_code


class Job:
    """One call of `uocr read` over its inputs."""

    def __init__(
        self,
        settings: ReadSettings,
        format: str,
        output: Path | None,
        per_page: bool,
        overwrite: bool,
        resume: bool,
        quiet: bool,
    ) -> None:
        if format not in export.FORMATS:
            raise errors.InvalidRequest(f"--format is {format!r}; choose one of {', '.join(export.FORMATS)}.")
        if output is None and format in ("docx", "pdf"):
            raise errors.InvalidRequest(
                f"A {format} file cannot be shown on the screen; name a file or folder with -o."
            )
        self.settings, self.format, self.output = settings, format, output
        self.per_page, self.overwrite, self.resume, self.quiet = per_page, overwrite, resume, quiet
        self.control = Control()
        self.exit_code = 0
        self.to_folder = False

    def check_targets(self, names: list[str | Path]) -> None:
        """Refuses before any work what could not be written at the end."""
        if self.output is None:
            return
        self.to_folder = self.output.is_dir() or len(names) > 1 or not self.output.suffix
        if self.to_folder:
            self.output.mkdir(parents=True, exist_ok=True)
        taken: dict[Path, str | Path] = {}
        for name in names:
            target = self.target(name)
            if target in taken:
                raise errors.OutputExists(
                    f"{taken[target]} and {name} would both be written to {target}; "
                    "read them in two runs with two folders."
                )
            taken[target] = name
            if target.exists() and not self.overwrite and not self.per_page:
                raise errors.OutputExists(f"{target} exists; add --overwrite or name another place with -o.")

    def target(self, name: str | Path) -> Path:
        assert self.output is not None
        if not self.to_folder:
            return self.output
        stem = "standard-input" if str(name) == "-" else Path(str(name).rstrip("/").rpartition("/")[2] or "page").stem
        return self.output / f"{stem}.{self.format}"

    def read(self, ocr: UnlimitedOCR, name: str | Path) -> None:
        """Reads one input; its errors are told and counted, and never stop the next."""
        s = self.settings
        try:
            with open_source(
                name, pages=s.pages, dpi=s.dpi, password=s.password, compat=s.compat, limits=ocr.limits
            ) as source:
                document = self._read(ocr, source)
                self._note_pages(document)
                if any(p.finish_reason is not FinishReason.ERROR for p in document.pages):
                    self._write(document, source, name)
        except errors.UocrError as problem:
            view.error(problem)
            self._fail(problem.exit_code)

    def _read(self, ocr: UnlimitedOCR, source: Source) -> Document:
        log = None
        if self.resume:
            identity = ocr.identity(source)
            log = journal.Journal.open(journal.default_path(source.name, identity), identity)
        done: dict[int, Page] = {p.index: p for p in log.pages} if log is not None else {}
        if done and not self.quiet:
            view.err.print(f"{source.name}: going on after {len(done)} pages of the journal", markup=False)
        document = None
        for event in ocr.stream(source, control=self.control, skip=done):
            self._show(event)
            if isinstance(event, events.PageFinished):
                if event.error is not None:
                    self._fail(event.error.exit_code)
                elif log is not None and event.page.complete:
                    log.append(event.page)
            if isinstance(event, events.DocumentFinished):
                document = event.document
        assert document is not None
        document.pages = sorted([*done.values(), *document.pages], key=lambda p: source.indices.index(p.index))
        if log is not None:
            log.close(finished=document.complete)
        return document

    @property
    def _streams(self) -> bool:
        """Text goes to a terminal while it is read; anywhere else whole documents are written at the end."""
        return self.output is None and self.format in ("md", "txt") and sys.stdout.isatty()

    def _show(self, event: events.ReadEvent) -> None:
        match event:
            case events.PageStarted(page=page) if not self.quiet:
                view.err.print(
                    f"{page.source}, page {page.index + 1}: {page.width} x {page.height} pixels, "
                    f"{event.visual_tokens} visual tokens, estimate {view.size(event.estimate.total)}",
                    style="dim",
                    markup=False,
                )
            case events.BlockEvent() if self._streams:
                view.stream(event.event)
            case events.PageFinished(page=page):
                if event.error is not None:
                    view.error(event.error)
                elif not self.quiet:
                    for line in view.page_lines(page):
                        view.err.print(line, style="dim", markup=False)

    def _write(self, document: Document, source: Source, name: str | Path) -> None:
        """Documents into files, or to standard output what was not streamed there already."""
        if self.output is not None:
            exported = export.export(
                document,
                self.target(name),
                self.format,
                overwrite=self.overwrite,
                per_page=self.per_page,
                page_images=_page_images(source, self.settings),
                originals=_originals(source, name, self.settings),
            )
            for line in [*(f"written: {path}" for path in exported.files), *exported.notes]:
                if not self.quiet:
                    view.err.print(line, markup=False)
        elif not self._streams:
            sys.stdout.write(export.to_text(document, self.format))
            sys.stdout.flush()

    def _note_pages(self, document: Document) -> None:
        if self.control.cancelled:
            self._fail(errors.Cancelled.exit_code)
        elif not document.complete:
            self._fail(CUT_SHORT)

    def _fail(self, code: int) -> None:
        """The first cause is the exit code; a page that was merely cut short gives way to an error."""
        if self.exit_code in (0, CUT_SHORT):
            self.exit_code = code if code != CUT_SHORT or not self.exit_code else self.exit_code


def _page_images(source: Source, settings: ReadSettings) -> Callable[[Page], Any]:
    """The picture of a page that was read, for exporters that cut pictures out of it."""

    def image(page: Page) -> Any:
        picture = source.page(source.indices.index(page.index)).image
        return turned(picture, settings.rotate)

    return image


def _originals(source: Source, name: str | Path, settings: ReadSettings) -> export.Originals | None:
    """The PDF file behind the pages, to keep its pages as they are; a turned page fits only its own picture."""
    if source.kind != "pdf" or settings.rotate or not Path(name).is_file():
        return None
    original = export.Original(Path(name), settings.password)
    return lambda page: original


@contextmanager
def _stopped_by_ctrl_c(control: Control) -> Iterator[None]:
    """The first Ctrl-C cancels the page in progress and keeps what is finished; the second ends the program."""

    def stop(*_: object) -> None:
        if control.cancelled:
            raise KeyboardInterrupt
        view.err.print("Stopping; finished pages are kept. Press Ctrl-C again to end at once.")
        control.cancel()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
