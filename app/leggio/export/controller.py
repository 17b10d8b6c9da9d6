"""Copy and export for the main window: what is chosen, where it goes, what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog, QFileDialog, QMessageBox, QProgressDialog, QWidget
from uocr.document import Block
from uocr.errors import Cancelled, OutputExists, UocrError
from uocr.export import Exported, export
from uocr.export.notes import number_ranges
from uocr.export.plain_text import block_text, page_text

from leggio.export.clipboard import copy
from leggio.export.dialog import ExportChoice, ExportDialog, suggested_name
from leggio.export.started import StartedExports
from leggio.export.work import Exporter, ExportOrder, PageSources, documents_of, was_read
from leggio.look.notice import Choice
from leggio.look.told import Told, notes_told, told
from leggio.look.units import elided
from leggio.pages.items import PageItem
from leggio.reading.engine import EngineFacts
from leggio.transcript.panel import TranscriptPanel
from leggio.transcript.source import block_markdown
from leggio.transcript.view import clean_html

_NAMED = 3
"""Documents named in a sentence about pages that were left out."""


class Shown(Protocol):
    """What the export needs to know of the window."""

    @property
    def item(self) -> PageItem | None:
        """The current page."""

    @property
    def blocks(self) -> Sequence[Block]:
        """Its blocks, read or read so far."""

    def all_items(self) -> Sequence[PageItem]: ...
    def chosen_items(self) -> Sequence[PageItem]: ...
    def facts(self) -> EngineFacts | None: ...
    def dpi(self) -> float: ...


class ExportController(QObject):
    """Copies and writes what `shown` says; tells what came of it above the text."""

    def __init__(self, shown: Shown, panel: TranscriptPanel, started: StartedExports, window: QWidget) -> None:
        super().__init__(window)
        self._started = started
        self._shown, self._panel, self._window = shown, panel, window
        self._exporter = Exporter(self)
        self._exporter.progressed.connect(self._progressed)
        self._exporter.done.connect(self._done)
        self._exporter.failed.connect(self._failed)
        self._progress: QProgressDialog | None = None
        self._folder = Path.home()
        self.busy = False

    # -- copying -------------------------------------------------------------------------------------------

    def copy(self) -> None:
        """The selection, else the text of the page."""
        view = self._panel.source if self._panel.shows_source else self._panel.view
        if view.textCursor().hasSelection():
            data = view.createMimeDataFromSelection()
            self._tell(copy(data.text(), data.html()))
        elif self._shown.blocks:
            self._tell(copy("\n".join(t for b in self._shown.blocks if (t := block_text(b)))))

    def copy_markdown(self) -> None:
        self._tell(copy("\n\n".join(t for b in self._shown.blocks if (t := block_markdown(b)))))

    def copy_rich(self) -> None:
        document = self._panel.view.document()
        self._tell(copy(document.toPlainText().replace("\ufffc", ""), clean_html(document.toHtml())))

    def copy_all(self) -> None:
        pages = [i.page for i in self._shown.all_items() if i.page is not None]
        self._tell(copy("\n\n".join(page_text(p, between="\n") for p in pages)))

    def _tell(self, outcome: tuple[bool, str]) -> None:
        good, words = outcome
        notice = self._panel.notice
        if good:
            notice.mention(words)
        else:
            notice.tell(words, "bad")

    # -- exporting -----------------------------------------------------------------------------------------

    def items(self, scope: str) -> list[PageItem]:
        """Pages that were read, in list order: the chosen ones, the current document's, or all."""
        return [i for i in self._in_scope(scope) if was_read(i)]

    def _in_scope(self, scope: str) -> list[PageItem]:
        """Pages that reading ended for, those that failed included."""
        current = self._shown.item
        over = [i for i in self._shown.all_items() if i.page is not None]
        if scope == "page":
            chosen = [i for i in self._shown.chosen_items() if i.page is not None]
            return chosen or [i for i in over if i is current]
        if scope == "document":
            return [i for i in over if current is not None and i.document is current.document]
        return over

    def _left_out(self, scope: str) -> str:
        """A sentence that names the pages of `scope` that failed and are not in the file; empty without any."""
        numbers: dict[str, list[int]] = {}
        for item in self._in_scope(scope):
            if not was_read(item):
                numbers.setdefault(item.document.name, []).append(item.number)
        if not numbers:
            return ""
        listed = [f"{elided(name)} ({number_ranges(pages)})" for name, pages in numbers.items()]
        named = "; ".join(listed[:_NAMED])
        if len(listed) > _NAMED:
            named = self.tr("{0} and {1} more documents").format(named, len(listed) - _NAMED)
        return self.tr("Left out, since they could not be read: pages of {0}.").format(named)

    def write_for_drag(self, folder: Path) -> Path | None:
        """The current document as Markdown in `folder`, at once; None when nothing was read."""
        items = self.items("document")
        if not items:
            return None
        path = folder / f"{Path(items[0].document.name).stem or 'text'}.md"
        sources = PageSources(items, self._shown.dpi())
        try:
            export(documents_of(items), path, "md", page_images=sources.image)
        except UocrError as error:
            self._panel.notice.tell(told(error, path.name), "bad")
            return None
        finally:
            sources.close()
        return path

    def clean_up(self) -> str:
        """At the start: what exports of a killed program left goes; a sentence about it, or nothing."""
        interrupted = self._started.clean()
        if not interrupted:
            return ""
        names = ", ".join(path.name for path in interrupted[:3])
        words = self.tr("Leggio ended while {0} was being written: nothing of it is there. Export it again.")
        return words.format(names)

    def ask(self) -> None:
        """Ask what and where, then write. One at a time."""
        if self.busy:
            self._panel.notice.mention(self.tr("A file is still being written."))
            return
        counts = {scope: len(self.items(scope)) for scope in ("page", "document", "all")}
        text_layer = any(i.page is not None and i.page.has_text_layer for i in self.items("all"))
        if not counts["all"]:
            self._panel.notice.mention(self.tr("No page was read: there is nothing to export."))
            return
        dialog = ExportDialog(counts, self._window, text_layer=text_layer)
        accepted, choice = dialog.exec() == QDialog.DialogCode.Accepted, dialog.choice
        dialog.deleteLater()
        if accepted:
            self.choose_target(choice)

    def choose_target(self, choice: ExportChoice) -> None:
        items = self.items(choice.scope)
        if not items:
            return
        path = self._ask_name(items, choice)
        if path is not None:
            self.write(items, path, choice)

    def _ask_name(self, items: Sequence[PageItem], choice: ExportChoice) -> Path | None:
        """Where to; the format's suffix is added when it is missing."""
        suggested = suggested_name(items[0].document.name, choice.format, self._folder)
        # Existing names are asked about later, with the folder of pictures: the dialog must not ask first.
        name, _ = QFileDialog.getSaveFileName(
            self._window,
            self.tr("Export"),
            str(suggested),
            f"*.{choice.format}",
            "",
            QFileDialog.Option.DontConfirmOverwrite,
        )
        if not name:
            return None
        path = Path(name)
        if path.suffix.lower() != f".{choice.format}":
            path = path.with_name(f"{path.name}.{choice.format}")
        self._folder = path.parent
        return path

    def write(self, items: Sequence[PageItem], path: Path, choice: ExportChoice, overwrite: bool = False) -> None:
        """Start writing; the outcome is told in the window."""
        facts = self._shown.facts()
        recorded: dict[str, Any] = facts.recorded if facts is not None else {}
        documents = documents_of(items, facts.name if facts else "", facts.info.model_id if facts else "", recorded)
        order = ExportOrder(
            documents,
            path,
            choice.format,
            choice.per_page,
            choice.pictures,
            overwrite,
            choice.add_to_text_layer,
            choice.scope,
        )
        self.busy = True
        self._progress = QProgressDialog(
            self.tr("Writing {0}").format(path.name),
            self.tr("Cancel"),
            0,
            sum(len(d.pages) for d in documents),
            self._window,
        )
        self._progress.setMinimumDuration(700)
        self._progress.canceled.connect(self._exporter.cancel)
        self._started.begin(path)
        self._exporter.start(order, PageSources(items, self._shown.dpi()))

    def _progressed(self, count: int, total: int) -> None:
        if self._progress is not None:
            self._progress.setValue(min(count, total - 1))

    def _over(self, order: ExportOrder) -> None:
        self.busy = False
        self._started.end(order.path)
        if self._progress is not None:
            self._progress.canceled.disconnect()
            self._progress.close()
            self._progress.deleteLater()
            self._progress = None

    def _done(self, order: ExportOrder, result: Exported) -> None:
        self._over(order)
        files = result.files
        if len(files) == 1:
            words = self.tr("Saved {0} ({1} pages).").format(elided(files[0].name), result.pages)
        else:
            words = self.tr("Saved {0} files in {1}.").format(len(files), order.path.parent.name)
        left_out = self._left_out(order.scope)
        notes = notes_told(result.notes, most=3)
        told_all = " ".join(str(part) for part in (words, left_out, notes) if part)
        kind = "warn" if left_out or result.serious else "info"
        folder = QUrl.fromLocalFile(str(order.path.parent))
        choices: list[Choice] = [(self.tr("Show in folder"), lambda: _open_folder(folder))]
        self._panel.notice.tell(Told(told_all, notes.detail), kind, choices)

    def _failed(self, order: ExportOrder, error: Exception) -> None:
        self._over(order)
        if isinstance(error, OutputExists):
            self._ask_overwrite(order)
        elif not isinstance(error, Cancelled):
            choices: list[Choice] = [
                (self.tr("Save elsewhere…"), self.ask),
                (self.tr("Copy all text"), self.copy_all),
            ]
            self._panel.notice.tell(told(error, order.path.name), "bad", choices)

    def _ask_overwrite(self, order: ExportOrder) -> None:
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.Question)
        box.setText(self.tr("{0} is already there.").format(order.path.name))
        box.setInformativeText(self.tr("Nothing was written. Should it be replaced?"))
        replace = box.addButton(self.tr("Replace"), QMessageBox.ButtonRole.DestructiveRole)
        other = box.addButton(self.tr("Choose another name…"), QMessageBox.ButtonRole.AcceptRole)
        stay = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(other)
        box.setEscapeButton(stay)
        box.exec()
        choice = ExportChoice(order.format, order.scope, order.per_page, order.pictures, order.add_to_text_layer)
        items = self._items_of(order)
        if box.clickedButton() is replace:
            self.write(items, order.path, choice, overwrite=True)
        elif box.clickedButton() is other and (path := self._ask_name(items, choice)) is not None:
            self.write(items, path, choice)

    def _items_of(self, order: ExportOrder) -> list[PageItem]:
        wanted = {id(p) for d in order.documents for p in d.pages}
        return [i for i in self._shown.all_items() if i.page is not None and id(i.page) in wanted]

    def close(self) -> None:
        """Stop writing; what is half written is removed."""
        self._exporter.close()
        self._started.end_all()


def _open_folder(folder: QUrl) -> None:
    QDesktopServices.openUrl(folder)
