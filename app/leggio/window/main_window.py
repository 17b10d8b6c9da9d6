"""The window: three parts and a strip, connected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QUndoStack
from PySide6.QtWidgets import (
    QInputDialog,
    QMainWindow,
    QMenu,
    QSplitter,
    QVBoxLayout,
    QWidget,
)
from uocr.errors import UocrError

from leggio.export.controller import ExportController
from leggio.export.dragging import DragHandle
from leggio.history.jobs import JobStore
from leggio.history.keeper import Keeper
from leggio.history.store import HistoryStore
from leggio.memory.strip import EngineStrip
from leggio.pages.desk import PageDesk
from leggio.pages.items import PageItem, PageState
from leggio.pages.list_view import PageList
from leggio.pages.model import PageModel
from leggio.pages.pictures import PagePictures
from leggio.reading.engine import EngineFacts
from leggio.reading.session import Session
from leggio.reading.task import EngineFactory, Input
from leggio.settings.store import SettingsStore
from leggio.sources.incoming import can_take
from leggio.sources.opening import Opener
from leggio.transcript.editor import CorrectBlock, ReplacePage
from leggio.window.actions import Actions
from leggio.window.intake import Intake
from leggio.window.lifecycle import ask_before_quitting, restore_places, store_places
from leggio.window.presenter import Presenter
from leggio.window.resume import Resume
from leggio.window.sheets import Sheets
from leggio.window.ways_out import WaysOut
from leggio.window.welcome import Welcome

LAYERS = ("show_blocks", "show_views", "show_marks")
"""Actions that show and hide what is drawn over the page; kept between starts."""


class MainWindow(QMainWindow):
    """Everything a person sees. Made with what it needs; keeps nothing global."""

    ready = Signal()
    """The engine is open (or was refused) and the window can be used."""

    def __init__(
        self,
        store: SettingsStore,
        factory: Callable[[SettingsStore], EngineFactory],
        data_folder: Path,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.store = store
        self._factory = factory
        self._quitting = False
        self._follow = True
        self._choosing = False
        self.setWindowTitle("Leggio")
        self.setAcceptDrops(True)
        self.setUnifiedTitleAndToolBarOnMac(True)
        self.undo = QUndoStack(self)
        self.model = PageModel(self)
        self.pictures = PagePictures(self)
        self.opener = Opener(self)
        self.session = Session(self.model, lambda: store.read, self)
        self.keeper = Keeper(
            self.model, JobStore(data_folder / "jobs"), HistoryStore(data_folder / "history.sqlite"), self
        )
        self.keeper.on = store.window.keep_history
        self.session.thread_.jobs = self.keeper.jobs
        self.session.job_of = self.keeper.job
        self.resume = Resume(self, self.keeper)
        self._welcome = Welcome(self)
        self.desk = PageDesk(self._welcome, self)
        self.pages = PageList(self.model, self.pictures, self)
        self.strip = EngineStrip(self)
        self.presenter = Presenter(store, self.session, self.pictures, self.desk, self.strip, self)
        self.panel = self.presenter.panel
        self.exporting = ExportController(self)
        self.drag_out = DragHandle(self.exporting.write_for_drag, self)
        self.sheets = Sheets(self)
        self.intake = Intake(self)
        self.ways = WaysOut(self)
        self._lay_out()
        self.actions_ = Actions(self, self._handlers())
        bar = self.actions_.toolbar(self)
        bar.addWidget(self.drag_out)
        self.addToolBar(bar)
        self._connect()
        restore_places(self, self._splitter, store)
        self.pages.setFocus()
        self._apply_settings()
        self._update_actions()

    # -- putting together ----------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self._splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self._splitter.setObjectName("parts")
        self._splitter.setHandleWidth(1)
        self._splitter.setChildrenCollapsible(False)
        for part, stretch in ((self.pages, 0), (self.desk, 5), (self.panel, 4)):
            self._splitter.addWidget(part)
            self._splitter.setStretchFactor(self._splitter.count() - 1, stretch)
        self.desk.setMinimumWidth(280)
        self.panel.setMinimumWidth(260)
        self._splitter.setSizes([220, 560, 460])
        whole = QWidget(self)
        box = QVBoxLayout(whole)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self._splitter, 1)
        box.addWidget(self.strip)
        self.setCentralWidget(whole)

    def _handlers(self) -> dict[str, Callable[..., None]]:
        canvas, panel = self.desk.canvas, self.panel
        return {
            "open": self.intake.choose_files,
            "open_folder": self.intake.choose_folder,
            "capture": self.sheets.capture,
            "export": self.exporting.ask,
            "history": self.sheets.history,
            "close_all": self.close_all,
            "settings": self.sheets.settings,
            "quit": self.close,
            "undo": self.undo.undo,
            "redo": self.undo.redo,
            "copy": self.exporting.copy,
            "copy_markdown": self.exporting.copy_markdown,
            "copy_rich": self.exporting.copy_rich,
            "copy_all": self.exporting.copy_all,
            "paste": self.intake.paste,
            "find": panel.open_find,
            "find_next": lambda: panel.step(1),
            "next_doubtful": self.next_doubtful,
            "correct": self.correct,
            "read": self.read,
            "read_with": self.sheets.read_with,
            "pause": self.session.pause,
            "cancel": self.session.cancel,
            "region": canvas.set_region_mode,
            "rotate": lambda: self.rotate(90),
            "rotate_left": lambda: self.rotate(270),
            "choose_pages": self.choose_pages,
            "move_up": lambda: self.move_pages(-1),
            "move_down": lambda: self.move_pages(1),
            "remove": lambda: self.remove(self.pages.selected_items()),
            "zoom_in": canvas.zoom_in,
            "zoom_out": canvas.zoom_out,
            "actual": canvas.actual_size,
            "fit": canvas.fit,
            "fit_width": canvas.fit_width,
            "show_blocks": self._show_layers,
            "show_views": self._show_layers,
            "show_marks": self._show_layers,
            "source": panel.show_source,
            "minimize": self.showMinimized,
            "full_screen": self._full_screen,
            "models": self.sheets.models,
            "diagnostics": self.sheets.diagnostics,
            "about": self.sheets.about,
        }

    def _connect(self) -> None:
        self._welcome.open_wanted.connect(self.intake.choose_files)
        self._welcome.paste_wanted.connect(self.intake.paste)
        self._welcome.sample_wanted.connect(self.intake.open_sample)
        self.pages.chosen.connect(self._chosen)
        self.pages.remove_wanted.connect(self.remove)
        self.pages.menu_wanted.connect(self._page_menu)
        self.opener.opened.connect(self._opened)
        self.opener.refused.connect(lambda words: self.desk.notice.tell(words, "warn"))
        self.opener.finished.connect(self._update_actions)
        self.session.changed.connect(self._update_actions)
        self.session.began.connect(self._page_began)
        self.session.ended.connect(self._page_ended)
        self.session.queued.connect(self.keeper.queued)
        self.session.dropped.connect(self._pages_dropped)
        self.session.thread_.unwritten.connect(lambda error: self.desk.notice.tell(str(error), "warn"))
        self.session.engine_opened.connect(self._engine_opened)
        self.session.engine_refused.connect(self._engine_refused)
        self.presenter.shown.connect(self._page_shown)
        self.presenter.ways_out = self.ways.of
        self.panel.corrected.connect(self._corrected)
        self.panel.view.menu_wanted.connect(self._text_menu)
        self.desk.canvas.region_chosen.connect(self.read_region)
        self.desk.canvas.mark_clicked.connect(self._mark_clicked)
        self.desk.canvas.region_left.connect(lambda: self.actions_["region"].setChecked(False))
        self.undo.canUndoChanged.connect(self._update_actions)
        self.undo.canRedoChanged.connect(self._update_actions)
        self.store.changed.connect(self._apply_settings)

    # -- the engine ----------------------------------------------------------------------------------------

    def open_engine(self) -> None:
        """Open the model that the settings name."""
        self.strip.set_engine(None, opening=True)
        self.session.open_engine(self._factory(self.store))

    def _engine_opened(self, facts: EngineFacts) -> None:
        self.strip.set_engine(facts)
        doubt = self.store.window.doubt / 100 or float(facts.front_end.get("confidence_threshold", 0.5))
        self.panel.view.writer.doubt_below = doubt
        if self.presenter.item is not None:
            self.presenter.reload()
        self.ready.emit()

    def _engine_refused(self, error: UocrError) -> None:
        self.strip.set_engine(None)
        choices = [(self.tr("Use the built-in model"), self.use_built_in)]
        self.desk.notice.tell(str(error), "bad", choices if self.store.window.model != "built-in" else ())
        self.ready.emit()

    def use_built_in(self) -> None:
        self.store.set_window(model="built-in", quant="")
        self.open_engine()

    # -- ways in -------------------------------------------------------------------------------------------

    def open_inputs(self, inputs: Sequence[Input], *, pages: str | None = None, password: str | None = None) -> None:
        """Add files, folders and pictures to the list; they are read at once if the settings say so."""
        if self._quitting:
            return
        self.desk.notice.dismiss()
        self.opener.open(inputs, pages=pages or self.store.read.pages, password=password or self.store.read.password)

    def add_items(self, items: list[PageItem]) -> None:
        """Append pages; the first pages of all are shown at once."""
        first = self.model.rowCount() == 0
        self.model.append(items)
        if first and items:
            self._choosing = True
            self.pages.show_item(items[0])
            self._choosing = False

    def _opened(self, items: list[PageItem]) -> None:
        if self._quitting:
            return
        self.add_items(items)
        if self.store.window.read_at_once:
            self.session.read(i for i in items if i.state is PageState.NEW)
        self._update_actions()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if can_take(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if self.intake.take(event.mimeData(), self.tr("Dropped picture")):
            event.acceptProposedAction()

    # -- reading -------------------------------------------------------------------------------------------

    def read(self) -> None:
        """The chosen pages; if they were all read and nothing else is chosen, everything not read yet."""
        chosen = self.pages.selected_items()
        fresh = [i for i in self.model.items if i.state in (PageState.NEW, PageState.CANCELLED)]
        self._follow = True
        self.session.read(fresh if fresh and len(chosen) < 2 and all(i.state.over for i in chosen) else chosen)

    def read_region(self, rect: QRectF) -> None:
        item = self.presenter.item
        self.actions_["region"].setChecked(False)
        if item is not None:
            self.session.region[item.key] = (
                int(rect.left()),
                int(rect.top()),
                round(rect.right()),
                round(rect.bottom()),
            )
            self.session.read([item])

    def _mark_clicked(self, kind: str, rect: QRectF) -> None:
        """A place that deserves a second look: ink nobody read is read, a block without ink may go."""
        notice, item = self.panel.notice, self.presenter.item
        if item is None:
            return
        if kind == "missed":
            words = self.tr("There is ink here that no block covers.")
            notice.tell(words, "info", [(self.tr("Read this place"), lambda: self.read_region(rect))])
            return
        index = self.desk.canvas.block_of(rect)
        self.presenter.pin(index, from_text=False)
        words = self.tr("This block has text, but its place on the page is empty. It may be invented.")
        notice.tell(words, "warn", [(self.tr("Remove this block"), lambda: self._remove_block(item, index))])

    def _remove_block(self, item: PageItem, index: int) -> None:
        if item.page is not None and 0 <= index < len(item.page.blocks):
            blocks = [b for i, b in enumerate(item.page.blocks) if i != index]
            page = replace(item.page, blocks=blocks)
            self.undo.push(ReplacePage(item, page, self.tr("Remove block"), self._text_changed))

    def rotate(self, degrees: int) -> None:
        """Turn the chosen pages; what was read of them no longer fits and is read again."""
        chosen = self.pages.selected_items()
        self.session.cancel_pages(chosen)
        for item in chosen:
            item.rotate = (item.rotate + degrees) % 360
            item.page = None
            self.pictures.forget(item)
            self.model.set_state(item, PageState.NEW)
        if self.presenter.item in chosen:
            self.presenter.reload()
        if self.store.window.read_at_once:
            self.session.read(chosen)

    def _page_began(self, item: PageItem) -> None:
        if self._follow and self.store.window.follow and item is not self.presenter.item:
            self._choosing = True
            self.pages.show_item(item)
            self._choosing = False

    def _page_ended(self, item: PageItem, page: object, error: object) -> None:
        self.presenter.ended(item, page)  # type: ignore[arg-type]
        job = self.keeper.ended(item, page, self._model_name())  # type: ignore[arg-type]
        if job is not None:
            self.session.thread_.finish_job(job)
        self._update_actions()

    def _pages_dropped(self, items: list[PageItem]) -> None:
        for job in self.keeper.dropped(items, self._model_name()):
            self.session.thread_.finish_job(job)

    def _model_name(self) -> str:
        return self.session.facts.name if self.session.facts is not None else ""

    # -- the list of pages ---------------------------------------------------------------------------------

    def remove(self, items: Sequence[PageItem]) -> None:
        if not items:
            return
        row = self.model.row_of(items[0])
        self.session.cancel_pages(items)
        self.model.remove(items)
        following = self.model.item(min(row, self.model.rowCount() - 1))
        if following is not None:
            self.pages.show_item(following)
        else:
            self.presenter.show(None)
        self._update_actions()

    def close_all(self) -> None:
        self.opener.stop()
        self.session.cancel()
        self.undo.clear()
        self.remove(list(self.model.items))

    def move_pages(self, by: int) -> None:
        chosen = self.pages.selected_items()
        rows = [self.model.row_of(i) for i in chosen]
        if chosen:
            self.model.move(chosen, max(0, rows[0] - 1) if by < 0 else min(self.model.rowCount(), rows[-1] + 2))

    def choose_pages(self) -> None:
        """Keep only some pages of the current document."""
        from uocr.sources.ranges import (
            choose_pages,  # brings the PDF library, which starting must not wait for
        )

        item = self.presenter.item
        if item is None:
            return
        document = item.document
        text, given = QInputDialog.getText(
            self,
            self.tr("Choose pages"),
            self.tr("Pages of {0} to keep, such as 1-3,7,-1").format(document.name),
        )
        if not given:
            return
        try:
            keep = set(choose_pages(text, document.count, document.name))
        except UocrError as error:
            self.desk.notice.tell(str(error), "warn")
            return
        self.remove([i for i in self.model.items if i.document is document and i.number not in keep])

    def _chosen(self, item: PageItem | None) -> None:
        if not self._choosing and item is not self.session.current:
            self._follow = False
        if item is not self.presenter.item:
            self.presenter.show(item)
        self._update_actions()

    def _page_menu(self, place: object, items: list[PageItem]) -> None:
        if items:
            self._menu(
                (
                    "read",
                    "read_with",
                    "",
                    "rotate",
                    "rotate_left",
                    "choose_pages",
                    "",
                    "export",
                    "copy_markdown",
                    "",
                    "move_up",
                    "move_down",
                    "remove",
                )
            ).exec(place)  # type: ignore[call-overload]

    def _text_menu(self, place: object, index: int) -> None:
        self.presenter.pin(index, from_text=True)
        self._menu(("copy", "copy_markdown", "copy_rich", "", "correct", "next_doubtful", "find")).exec(place)  # type: ignore[call-overload]

    def _menu(self, names: Sequence[str]) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for name in names:
            if name:
                menu.addAction(self.actions_[name])
            else:
                menu.addSeparator()
        return menu

    # -- corrections ---------------------------------------------------------------------------------------

    def correct(self) -> None:
        self.panel.edit_block(max(0, self.presenter.pinned))

    def _corrected(self, index: int, text: str) -> None:
        item = self.presenter.item
        if item is not None and item.page is not None and index < len(item.page.blocks):
            self.undo.push(CorrectBlock(item, index, text, self.tr("Correction"), self._text_changed))

    def _text_changed(self, item: PageItem, index: int) -> None:
        if item is self.presenter.item:
            self.presenter.refresh_text(index)
        else:
            self.pages.show_item(item)

    def next_doubtful(self) -> None:
        if self.panel.next_doubtful() is None:
            self.panel.notice.tell(self.tr("The model was sure of every word of this page."))

    # -- how the window looks ------------------------------------------------------------------------------

    def _page_shown(self, item: PageItem | None) -> None:
        self.setWindowTitle("Leggio" if item is None else self.tr("{0} — Leggio").format(item.title))
        if isinstance(item and item.document.input, Path):
            self.setWindowFilePath(str(item.document.input))  # type: ignore[union-attr]
            self.setWindowTitle(self.tr("{0} — Leggio").format(item.title))  # type: ignore[union-attr]
        self._update_actions()

    def _apply_settings(self) -> None:
        self.keeper.on = self.store.window.keep_history
        size = self.store.window.text_size or self.font().pointSizeF() * 1.15
        self.panel.view.set_font_size(float(size))
        stored = {name: self.store.place(name) for name in LAYERS}
        for name, place in stored.items():
            on = name != "show_views" if place is None else str(place).lower() == "true"
            self.actions_[name].setChecked(on)
        self._show_layers()

    def _show_layers(self, _on: bool = False) -> None:
        shown = {name: self.actions_[name].isChecked() for name in LAYERS}
        self.desk.canvas.show_layers(blocks=shown["show_blocks"], views=shown["show_views"], marks=shown["show_marks"])
        for name, on in shown.items():
            self.store.set_place(name, on)

    def _full_screen(self, on: bool) -> None:
        (self.showFullScreen if on else self.showNormal)()

    def _update_actions(self) -> None:
        item, busy = self.presenter.item, self.session.busy
        read = any(i.page is not None for i in self.model.items)
        page = item is not None and item.page is not None
        enabled = {
            "read": item is not None and self.session.facts is not None,
            "read_with": item is not None and self.session.facts is not None,
            "pause": self.session.current is not None,
            "cancel": busy,
            "region": item is not None,
            "export": read,
            "copy_all": read,
            "copy_markdown": page,
            "copy_rich": page,
            "copy": item is not None,
            "correct": page,
            "next_doubtful": page,
            "undo": self.undo.canUndo(),
            "redo": self.undo.canRedo(),
        }
        for name in (
            "rotate",
            "rotate_left",
            "choose_pages",
            "move_up",
            "move_down",
            "remove",
            "close_all",
            "zoom_in",
            "zoom_out",
            "actual",
            "fit",
            "fit_width",
        ):
            enabled[name] = item is not None
        self.drag_out.setEnabled(page)
        for name, on in enabled.items():
            self.actions_[name].setEnabled(on)
        pause = self.actions_["pause"]
        pause.blockSignals(True)
        pause.setChecked(self.session.paused)
        pause.blockSignals(False)
        self.strip.pause(self.session.paused)

    # -- leaving -------------------------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self._quitting and not ask_before_quitting(self, self.session.busy, self.exporting.busy):
            event.ignore()
            return
        self.shut_down()
        event.accept()

    def shut_down(self) -> None:
        """Stop every worker and free the engine. Harmless when done already."""
        if self._quitting:
            return
        self._quitting = True
        store_places(self, self._splitter, self.store)
        self.opener.close()
        self.exporting.close()
        self.drag_out.clean_up()
        self.sheets.close()
        self.session.shut_down()
        self.pictures.close()
        self.presenter.second_look.close()
        self.panel.formulas.close()
        self.keeper.write_now()
        self.keeper.history.close()
