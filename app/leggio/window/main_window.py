"""The window: three parts and a strip, connected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QUndoStack
from PySide6.QtWidgets import (
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
from leggio.window.actions import PAGE_MENU, TEXT_MENU, Actions
from leggio.window.corrections import Corrections
from leggio.window.intake import Intake
from leggio.window.lifecycle import ask_before_quitting, restore_places, store_places
from leggio.window.page_actions import PageActions
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
        self.page_actions = PageActions(self)
        self.corrections = Corrections(self)
        self._lay_out()
        self.actions_ = Actions(self, self._handlers())
        bar = self.actions_.toolbar(self)
        bar.addWidget(self.drag_out)
        self.addToolBar(bar)
        self._connect()
        restore_places(self, self._splitter, store)
        self.pages.setFocus()
        self._apply_settings()
        self.update_actions()

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

    def _handlers(self) -> dict[str, Callable[..., Any]]:
        canvas, panel = self.desk.canvas, self.panel
        return {
            "open": self.intake.choose_files,
            "open_folder": self.intake.choose_folder,
            "capture": self.sheets.capture,
            "export": self.exporting.ask,
            "history": self.sheets.history,
            "close_all": self.page_actions.close_all,
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
            "next_doubtful": self.corrections.next_doubtful,
            "correct": self.corrections.correct,
            "read": self.page_actions.read,
            "read_with": self.sheets.read_with,
            "pause": self.session.pause,
            "cancel": self.session.cancel,
            "region": canvas.set_region_mode,
            "rotate": lambda: self.page_actions.rotate(90),
            "rotate_left": lambda: self.page_actions.rotate(270),
            "choose_pages": self.page_actions.choose_pages,
            "move_up": lambda: self.page_actions.move(-1),
            "move_down": lambda: self.page_actions.move(1),
            "remove": lambda: self.page_actions.remove(self.pages.selected_items()),
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
        self.pages.remove_wanted.connect(self.page_actions.remove)
        self.pages.menu_wanted.connect(self._page_menu)
        self.opener.opened.connect(self._opened)
        self.opener.refused.connect(lambda words: self.desk.notice.tell(words, "warn"))
        self.opener.finished.connect(self.update_actions)
        self.session.changed.connect(self.update_actions)
        self.session.began.connect(self._page_began)
        self.session.ended.connect(self._page_ended)
        self.session.queued.connect(self.keeper.queued)
        self.session.dropped.connect(self._pages_dropped)
        self.session.thread_.unwritten.connect(lambda error: self.desk.notice.tell(str(error), "warn"))
        self.session.engine_opened.connect(self._engine_opened)
        self.session.engine_refused.connect(self._engine_refused)
        self.presenter.shown.connect(self._page_shown)
        self.presenter.ways_out = self.ways.of
        self.panel.corrected.connect(self.corrections.take)
        self.panel.view.menu_wanted.connect(self._text_menu)
        self.desk.canvas.region_chosen.connect(self.page_actions.read_region)
        self.desk.canvas.mark_clicked.connect(self.corrections.mark_clicked)
        self.desk.canvas.region_left.connect(lambda: self.actions_["region"].setChecked(False))
        self.undo.canUndoChanged.connect(self.update_actions)
        self.undo.canRedoChanged.connect(self.update_actions)
        self.store.changed.connect(self._apply_settings)

    # -- the engine ----------------------------------------------------------------------------------------

    def open_engine(self) -> None:
        """Open the model that the settings name."""
        self.strip.set_engine(None, opening=True)
        self.session.open_engine(self._factory(self.store))

    def _engine_opened(self, facts: EngineFacts) -> None:
        self.strip.set_engine(facts)
        self.panel.view.writer.doubt_below = self._doubt()
        if self.presenter.item is not None:
            self.presenter.reload()
        self.ready.emit()

    def _doubt(self) -> float:
        """Confidence under which a word is marked: the person's choice, else the model's."""
        front_end = self.session.facts.front_end if self.session.facts is not None else {}
        return self.store.window.doubt / 100 or float(front_end.get("confidence_threshold", 0.5))

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
        self.update_actions()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if can_take(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if self.intake.take(event.mimeData(), self.tr("Dropped picture")):
            event.acceptProposedAction()

    # -- reading -------------------------------------------------------------------------------------------

    def _page_began(self, item: PageItem) -> None:
        if self._follow and self.store.window.follow and item is not self.presenter.item:
            self._choosing = True
            self.pages.show_item(item)
            self._choosing = False

    def _page_ended(self, item: PageItem, page: object, error: object) -> None:
        self.presenter.ended(item, page)  # type: ignore[arg-type]
        job = self.keeper.ended(item, page, self.model_name())  # type: ignore[arg-type]
        if job is not None:
            self.session.thread_.finish_job(job)
        self.update_actions()

    def _pages_dropped(self, items: list[PageItem]) -> None:
        for job in self.keeper.dropped(items, self.model_name()):
            self.session.thread_.finish_job(job)

    def model_name(self) -> str:
        """The open model's name, empty when none is."""
        return self.session.facts.name if self.session.facts is not None else ""

    # -- the list of pages ---------------------------------------------------------------------------------

    def follow(self) -> None:
        """From now on the page that is read is shown, until the person chooses another."""
        self._follow = True

    def _chosen(self, item: PageItem | None) -> None:
        if not self._choosing and item is not self.session.current:
            self._follow = False
        if item is not self.presenter.item:
            self.presenter.show(item)
        self.update_actions()

    def _page_menu(self, place: QPoint, items: list[PageItem]) -> None:
        if items:
            self._menu(PAGE_MENU).exec(place)

    def _text_menu(self, place: QPoint, index: int) -> None:
        self.presenter.pin(index, from_text=True)
        self._menu(TEXT_MENU).exec(place)

    def _menu(self, names: Sequence[str]) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for name in names:
            if name:
                menu.addAction(self.actions_[name])
            else:
                menu.addSeparator()
        return menu

    # -- how the window looks ------------------------------------------------------------------------------

    def _page_shown(self, item: PageItem | None) -> None:
        source = item.document.input if item is not None else None
        self.setWindowFilePath(str(source) if isinstance(source, Path) else "")
        self.setWindowTitle("Leggio" if item is None else self.tr("{0} — Leggio").format(item.title))
        self.update_actions()

    def _apply_settings(self) -> None:
        self.keeper.on = self.store.window.keep_history
        size = self.store.window.text_size or self.font().pointSizeF() * 1.15
        self.panel.view.set_font_size(float(size))
        if self.panel.view.writer.doubt_below != self._doubt():
            self.panel.view.writer.doubt_below = self._doubt()
            if self.presenter.item is not None:
                self.presenter.reload()
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

    def update_actions(self) -> None:
        """Enable what makes sense now."""
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
