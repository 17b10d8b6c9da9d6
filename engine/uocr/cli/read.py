"""`uocr read`: the everyday command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from uocr import errors, events, export, journal
from uocr.api import UnlimitedOCR
from uocr.audit import Audit, audit
from uocr.cli import options, stopped, targets, view
from uocr.cli.files import Files, page_images
from uocr.control import Control
from uocr.document import Document, FinishReason, Page
from uocr.export.plain_text import page_text
from uocr.settings import ReadSettings
from uocr.sources import Input, Source, expand_input, open_source

CUT_SHORT = 3
"""Exit code when every page was read and one of them was cut short."""


@options.with_settings
def read(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders, patterns, web addresses; - for standard input.")],
    format: Annotated[
        str | None, typer.Option(help="txt, md, html, json, docx or pdf; default: what the suffix of -o says, or md.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="File to write, or folder (one that exists, ends with / or has no suffix): one file an input, called "
            "as the input is. Inputs of one name keep their suffix too (a.gif.md, a.webp.md); folders inside a "
            "folder that was given are kept. Folders that are missing are made. Default: show the text.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="built-in, a pulled name or a .uocr file.")] = None,
    quant: Annotated[str | None, typer.Option(help="f32, f16, q8 or q4 of a named model.")] = None,
    memory_budget: Annotated[
        str,
        typer.Option(
            help='For everything, e.g. "2 GB"; default, and with 0: 80 % of this machine.', show_default=False
        ),
    ] = "0",
    threads: Annotated[int, typer.Option(help="0: all this process may use.")] = 0,
    precision: Annotated[str, typer.Option(help="fast, integer or exact.")] = "fast",
    as_json: Annotated[
        bool, typer.Option("--json", help="Everything as one JSON document, on standard output.")
    ] = False,
    per_page: Annotated[bool, typer.Option(help="Write one file a page.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace files that exist; never an input.")] = False,
    resume: Annotated[
        bool, typer.Option(help="Keep a journal and go on where an earlier run was stopped; written when complete.")
    ] = False,
    fresh: Annotated[bool, typer.Option(help="As --resume, but remove the input's journal and start anew.")] = False,
    profile: Annotated[bool, typer.Option(help="Show calls, time, bytes and share of every operator.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No figures, only text, warnings and errors.")] = False,
    **settings: Any,
) -> int:
    """Read pictures and PDFs: text on the screen, or documents in files."""
    place = targets.Output.parse(output) if output not in (None, "-") else None
    if as_json and format not in (None, "json"):
        raise errors.InvalidRequest(f"--json and --format {format} contradict each other; leave one out.")
    chosen = targets.choose_format("json" if as_json else format, place)
    job = Job(options.settings_of(settings), chosen, resume=resume or fresh, fresh=fresh, quiet=quiet)
    found = job.expand(inputs)
    if not found:
        return job.exit_code
    if place is not None:
        places = targets.Targets(place, chosen, found, per_page=per_page, overwrite=overwrite)
        places.check()
        job.files = Files(places, job.settings, quiet=quiet)
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
        stopped.stopped_by_ctrl_c(job.control),
    ):
        job.read_all(ocr, [one.name for one in found])
        if profile:
            view.err.print(view.profile_table(ocr.profile()))
    return job.exit_code


class Job:
    """One call of `uocr read` over its inputs."""

    def __init__(self, settings: ReadSettings, format: str, *, resume: bool, fresh: bool, quiet: bool) -> None:
        self.settings, self.format = settings, format
        self.resume, self.fresh, self.quiet = resume, fresh, quiet
        self.files: Files | None = None
        """None: results go to standard output."""
        self.control = Control()
        self._bar = view.PhaseBar()
        self._text = view.TextStream()
        self._told: set[str] = set()
        """Notes on the whole file that is being read, each told once."""
        self.exit_code = 0
        self._collected: list[Document] = []
        """Documents that standard output gets as one at the end."""
        self._journals: list[Path] = []
        """Journals of collected documents that are complete: they go when standard output has them."""

    def expand(self, arguments: list[str]) -> list[Input]:
        """The inputs that the arguments stand for, each once; what stands for none is told and counted."""
        found: dict[str | Path, Input] = {}
        again: dict[str | Path, Input] = {}
        for argument in arguments:
            try:
                for one in expand_input(argument):
                    (again if one.name in found else found)[one.name] = one
            except errors.UocrError as problem:
                self._tell(problem)
        if again:
            words = "each is" if len(again) > 1 else "it is"
            self._warn(f"{stopped.input_words(list(again))}: named more than once; {words} read once")
        return list(found.values())

    def read_all(self, ocr: UnlimitedOCR, names: list[str | Path]) -> None:
        """Reads every input and delivers what is read."""
        try:
            for number, name in enumerate(names):
                if self.control.cancelled:
                    self._fail(errors.Cancelled.exit_code)
                    left = names[number:]
                    self._warn(f"{stopped.input_words(left)}: not begun")
                    break
                self.read(ocr, name)
            if self._collected:
                view.write(export.to_text(self._collected, self.format))
                for path in self._journals:
                    journal.discard(path)
        except errors.OutputFailed as problem:
            self._tell(problem)
            self._keep_text(problem, "standard-output")
        finally:
            if self.files is not None:
                self.files.places.remove_empty()

    def read(self, ocr: UnlimitedOCR, name: str | Path) -> None:
        """Reads one input; its errors are told and counted, and never stop the next."""
        s = self.settings
        log = None
        try:
            with open_source(
                name, pages=s.pages, dpi=s.dpi, password=s.password, compat=s.compat, limits=ocr.limits
            ) as source:
                if self.resume:
                    log = self._open_journal(ocr, source)
                document = self._read(ocr, source, log)
                self._note_pages(document)
                self._deliver(document, source, name, log)
        except errors.OutputFailed as problem:
            self._tell(problem)
            self._keep_text(problem, str(name))
            if log is not None and log.pages:
                self._tell_journal(str(name), log)
        except errors.EncryptedFile as problem:
            told = str(problem).removesuffix(".")
            self._tell(errors.EncryptedFile(f"{told}; {'give another with' if s.password else 'use'} --password."))
        except errors.UocrError as problem:
            self._tell(problem)
        finally:
            if log is not None:
                log.close()

    def _open_journal(self, ocr: UnlimitedOCR, source: Source) -> journal.Journal:
        identity = ocr.identity(source)
        path = journal.default_path(source.name, identity)
        try:
            if self.fresh:
                journal.discard(path)
            return journal.Journal.open(path, identity, ocr.recorded(), options.changed_setting)
        except errors.JournalMismatch as problem:
            if not problem.changed:
                raise
            raise errors.JournalMismatch(f"{problem} With --fresh it is removed.", problem.changed) from problem
        except errors.OutputFailed as problem:
            raise errors.OutputFailed(
                f"{problem} Read without --resume, or set XDG_STATE_HOME to a folder that can be written."
            ) from problem

    def _read(self, ocr: UnlimitedOCR, source: Source, log: journal.Journal | None) -> Document:
        done: dict[int, Page] = {p.index: p for p in log.pages} if log is not None else {}
        if done and not self.quiet:
            count = f"{len(done)} page{'s' if len(done) > 1 else ''}"
            view.err.print(f"{source.name}: going on after {count} of the journal", markup=False)
        if self._streams:
            for page in done.values():
                view.out.print(page_text(page) + "\n", markup=False)
        document = None
        self._told.clear()
        try:
            for event in ocr.stream(source, control=self.control, skip=done):
                self._show(event, source)
                if isinstance(event, events.PageFinished):
                    if event.error is not None:
                        self._fail(event.error.exit_code)
                    elif log is not None and event.page.final and event.page.index not in done:
                        log = self._append(log, event.page)
                if isinstance(event, events.DocumentFinished):
                    document = event.document
        finally:
            self._bar.hide()
        assert document is not None
        pages = {p.index: p for p in document.pages} | done
        document.pages = [pages[index] for index in source.indices if index in pages]
        return document

    def _append(self, log: journal.Journal, page: Page) -> journal.Journal | None:
        """Writes a page down. A journal that fails is told, and reading goes on without it."""
        try:
            log.append(page)
            return log
        except errors.OutputFailed as problem:
            self._tell(problem)
            return None

    @property
    def _streams(self) -> bool:
        """Text goes to a terminal while it is read; anywhere else whole documents are written at the end."""
        return self.files is None and self.format in ("md", "txt") and sys.stdout.isatty()

    def _show(self, event: events.ReadEvent, source: Source) -> None:
        if isinstance(event, events.Progress) and not self.quiet:
            self._bar.show(event.phase, event.done, event.total)
        elif isinstance(event, events.TextDelta) and not self._streams and not self.quiet:
            self._bar.show(f"writing, {event.count} tokens", 0, 1)
        elif not isinstance(event, events.BlockEvent) or self._streams:
            self._bar.hide()
        match event:
            case events.PageStarted(page=page) if not self.quiet:
                view.err.print(
                    f"{page.source}, page {page.index + 1}: {page.width} x {page.height} pixels, "
                    f"{event.visual_tokens} visual tokens, estimate {view.size(event.estimate.total)}",
                    style="dim",
                    markup=False,
                )
            case events.BlockEvent() if self._streams and self.settings.locate is None:
                self._text.show(event.event)
            case events.PageFinished(page=page):
                if self._streams and page.kept_reading == 2:
                    self._warn(f"{page.source}, page {page.index + 1}: {view.SECOND_KEPT}")
                    view.out.print(page_text(page) + "\n", markup=False)
                if event.error is not None:
                    view.error(event.error)
                elif not self.quiet and page.finish_reason is not FinishReason.NOT_READ:  # those are told as one
                    for line in view.page_lines(page):
                        view.err.print(line, style="dim", markup=False)
                if self._streams and page.located is not None and page.text:
                    view.out.print(page.text, markup=False)
                self._tell_notes(page, source)
                for line in view.page_warnings(page, self._audit(page, source), self.settings.rotate):
                    view.err.print(f"{page.source}, {line}", style="yellow", markup=False)

    def _tell_notes(self, page: Page, source: Source) -> None:
        """What is to be known of how a page came about; what holds for the whole file is said once."""
        for note in dict.fromkeys([*source.notes, *page.problems]):
            if note not in source.notes:
                view.err.print(f"{page.source}, page {page.index + 1}: {note}", style="yellow", markup=False)
            elif note not in self._told:
                self._told.add(note)
                view.err.print(f"{source.name}: {note}", style="yellow", markup=False)

    def _audit(self, page: Page, source: Source) -> Audit | None:
        """The page's picture beside its blocks; None without text, or where not the whole page was to be read."""
        if not page.complete or not page.text or self.settings.region is not None or page.located is not None:
            return None
        try:
            return audit(page, page_images(source, self.settings)(page))
        except errors.UocrError:
            return None

    def _deliver(self, document: Document, source: Source, name: str | Path, log: journal.Journal | None) -> None:
        """Writes the result; the journal goes when a complete one was written."""
        if all(page.finish_reason is FinishReason.ERROR for page in document.pages):
            return
        if missing := stopped.missing(document, again=log is not None):
            self._warn(f"{source.name}: {missing}")
            if self.control.cancelled:
                self._deliver_stopped(document, source, name, log)
                return
        if self.files is None and self.format in ("json", "html"):
            self._collected.append(document)
            if log is not None and document.complete:
                self._journals.append(log.path)
                return
        else:
            self._write(document, source, name)
        if log is None:
            return
        if document.complete or not log.pages:
            log.close(finished=True)
        elif not self.quiet:
            count = f"{len(log.pages)} complete pages stay" if len(log.pages) > 1 else "1 complete page stays"
            view.err.print(
                f"{source.name}: {count} in the journal; the same command"
                f"{' with --overwrite' if self.files is not None else ''} reads only the others again",
                markup=False,
            )

    def _deliver_stopped(
        self, document: Document, source: Source, name: str | Path, log: journal.Journal | None
    ) -> None:
        """What there is of a document that was stopped: nothing in the way of the same command, and nothing lost.

        Its pages stay in the journal when that has them all; else they go to standard output or, as the final name
        is for a whole document, into a file that is called partial. Without a page there is nothing to write.
        """
        kept = {page.index for page in log.pages} if log is not None else set()
        if log is not None and kept.issuperset(page.index for page in document.pages if page.final):
            if log.pages:
                self._tell_journal(source.name, log)
            else:
                self._warn(f"{source.name}: no page is done, so nothing is written; the same command begins anew")
        elif not any(map(stopped.holds_text, document.pages)):
            self._warn(f"{source.name}: nothing was read, so nothing is written")
        elif self.files is not None:
            if files := self.files.write_stopped(document, source, name):
                self._warn(f"{source.name}: what was read is in {stopped.file_words(files)}")
        elif self.format in ("json", "html"):
            self._collected.append(document)
        else:
            self._write(document, source, name)

    def _write(self, document: Document, source: Source, name: str | Path) -> None:
        """One document into its files, or to standard output what was not streamed there already."""
        if self.files is not None:
            self.files.write(document, source, name)
        elif not self._streams:
            view.write(export.to_text(document, self.format))

    def _keep_text(self, problem: errors.OutputFailed, name: str) -> None:
        """What could not be written is saved in the state folder, or shown when not even that works."""
        if not problem.text:
            return
        try:
            path = targets.rescue(problem.text, name)
        except OSError:
            view.err.print("The text that was read is shown instead.")
            view.write(problem.text + "\n")
        else:
            view.err.print(f"The text that was read is kept in {path}.", markup=False)

    def _tell_journal(self, name: str, log: journal.Journal) -> None:
        without = " without --fresh" if self.fresh else ""
        count = f"{len(log.pages)} pages are" if len(log.pages) > 1 else "1 page is"
        view.err.print(f"{name}: {count} in the journal; run the same command{without} to go on", markup=False)

    def _warn(self, line: str) -> None:
        """What must be known, also when only text, warnings and errors are asked for."""
        view.err.print(line, style="yellow", markup=False)

    def _tell(self, problem: errors.UocrError) -> None:
        view.error(problem)
        self._fail(problem.exit_code)

    def _note_pages(self, document: Document) -> None:
        if self.control.cancelled:
            self._fail(errors.Cancelled.exit_code)
        elif not document.complete:
            self._fail(CUT_SHORT)

    def _fail(self, code: int) -> None:
        """The first cause is the exit code; a page that was merely cut short gives way to an error."""
        if self.exit_code in (0, CUT_SHORT):
            self.exit_code = code if code != CUT_SHORT or not self.exit_code else self.exit_code
