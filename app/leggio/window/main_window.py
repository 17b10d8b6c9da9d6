"""The window: three parts and a strip, connected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QUndoStack
from PySide6.QtWidgets import QMainWindow, QSplitter, QVBoxLayout, QWidget
from uocr.document import Page
from uocr.errors import UocrError

from leggio.export.controller import ExportController
from leggio.export.dragging import DragHandle
from leggio.export.started import StartedExports
from leggio.history.jobs import JobStore
from leggio.history.keeper import Keeper
from leggio.history.store import HistoryStore
from leggio.look.languages import languages_text
from leggio.look.told import told
from leggio.memory.strip import EngineStrip
from leggio.pages.desk import PageDesk
from leggio.pages.items import PageItem, PageState
from leggio.pages.list_view import PageList
from leggio.pages.model import PageModel
from leggio.pages.opening import Opener
from leggio.pages.pictures import PagePictures
from leggio.processes import remove_temporary
from leggio.reading.engine import EngineFacts
from leggio.reading.session import Session
from leggio.reading.task import EngineFactory
from leggio.settings.store import SettingsStore
from leggio.sources.incoming import can_take
from leggio.sources.inputs import Input
from leggio.window.action_table import PAGE_MENU, TEXT_MENU
from leggio.window.actions import Actions, sensible
from leggio.window.choice import PageChoice
from leggio.window.corrections import Corrections
from leggio.window.intake import Intake
from leggio.window.layers import Layers
from leggio.window.lifecycle import ask_before_quitting, restore_places, store_places
from leggio.window.page_actions import PageActions
from leggio.window.presenter import Presenter
from leggio.window.resume import Resume
from leggio.window.sheets import Sheets
from leggio.window.shown import ShownPages
from leggio.window.ways_out import WaysOut
from leggio.window.welcome import Welcome


class MainWindow(QMainWindow):
    """Everything a person sees. Makes its parts, hands each what it needs, and connects their signals."""

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
        self.setWindowTitle("Leggio")
        self.setAcceptDrops(True)
        self.setUnifiedTitleAndToolBarOnMac(True)
        self._data_folder = data_folder
        self._make_parts()
        self._make_helpers()
        self._lay_out()
        self.actions_ = Actions(self, {name: self._keeping(act) for name, act in self._handlers().items()})
        bar = self.actions_.toolbar(self)
        bar.addWidget(self.drag_out)
        self.addToolBar(bar)
        self._layers = Layers(self.actions_, self.desk.canvas, store, self)
        self._connect_parts()
        self._connect_helpers()
        restore_places(self, self._splitter, store)
        self.pages.setFocus()
        self._apply_settings()
        self.update_actions()

    # -- putting together ----------------------------------------------------------------------------------

    def _make_parts(self) -> None:
        """What is seen, and what it shows."""
        self.undo = QUndoStack(self)
        self.model = PageModel(self)
        self.pictures = PagePictures(self)
        self.opener = Opener(self)
        self.session = Session(self.model, lambda: self.store.read, self)
        jobs, history = JobStore(self._data_folder / "jobs"), HistoryStore(self._data_folder / "history.sqlite")
        self.keeper = Keeper(self.model, jobs, history, self)
        self.session.thread_.jobs = jobs
        self.session.job_of = self.keeper.job
        self._welcome = Welcome(self)
        self.desk = PageDesk(self._welcome, self)
        self.pages = PageList(self.model, self.pictures, self)
        self.strip = EngineStrip(self)
        self.presenter = Presenter(self.store, self.session, self.pictures, self.desk, self.strip, self)
        self.panel = self.presenter.panel

    def _make_helpers(self) -> None:
        """What acts on the parts. Each knows only what it is handed here."""
        model, pages, session, presenter = self.model, self.pages, self.session, self.presenter
        store, notice = self.store, self.desk.notice
        self.choice = PageChoice(model, pages, session, presenter, lambda: store.window.follow, self)
        self.resume = Resume(self.keeper, session, self.choice, store, notice, self)
        shown = ShownPages(model, pages, presenter, session, store)
        self.exporting = ExportController(shown, self.panel, StartedExports(self._data_folder), self)
        self.drag_out = DragHandle(self._keeping(self.exporting.write_for_drag), self)
        self.sheets = Sheets(store, session, pages, self.keeper.history, notice, self)
        self.intake = Intake(self.opener, store, notice, self)
        self.ways = WaysOut(session, model, store, self)
        self.page_actions = PageActions(
            model, pages, self.pictures, session, presenter, self.choice, store, notice, self
        )
        self.corrections = Corrections(model, self.choice, presenter, self.desk.canvas, self.undo, self)

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
            "close_all": self._close_all,
            "settings": self.sheets.settings,
            "quit": self.close,
            "undo": self.corrections.undo,
            "redo": self.corrections.redo,
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
            "remove": self.page_actions.remove_chosen,
            "zoom_in": canvas.zoom_in,
            "zoom_out": canvas.zoom_out,
            "actual": canvas.actual_size,
            "fit": canvas.fit,
            "fit_width": canvas.fit_width,
            "show_blocks": lambda _: self._layers.apply(),
            "show_views": lambda _: self._layers.apply(),
            "show_marks": lambda _: self._layers.apply(),
            "source": panel.show_source,
            "minimize": self.showMinimized,
            "full_screen": self._full_screen,
            "models": self.sheets.models,
            "diagnostics": self.sheets.diagnostics,
            "about": self.sheets.about,
        }

    def _keeping(self, act: Callable[..., Any]) -> Callable[..., Any]:
        """`act`, which finds in place what is typed in an open correction: a menu, a tool button and a key take no
        focus away from it."""

        def keep_and_act(*given: Any) -> Any:
            self.panel.editor.keep()
            return act(*given)

        return keep_and_act

    def _connect_parts(self) -> None:
        session = self.session
        session.changed.connect(self.update_actions)
        session.ended.connect(self._page_ended)
        session.queued.connect(self.keeper.queued)
        session.dropped.connect(self._pages_dropped)
        session.thread_.unwritten.connect(self._unwritten)
        session.engine_opened.connect(self._engine_opened)
        session.engine_refused.connect(self._engine_refused)
        self.opener.opened.connect(self._opened)
        self.opener.first_came.connect(self._first_came)
        self.opener.finished.connect(self.update_actions)
        self.pages.menu_wanted.connect(self._page_menu)
        self.presenter.shown.connect(self._page_shown)
        self.panel.view.menu_wanted.connect(self._text_menu)
        self.undo.indexChanged.connect(self.update_actions)
        self.store.changed.connect(self._apply_settings)

    def _connect_helpers(self) -> None:
        intake, sheets, ways, acts, corrections = (
            self.intake,
            self.sheets,
            self.ways,
            self.page_actions,
            self.corrections,
        )
        self._welcome.open_wanted.connect(intake.choose_files)
        self._welcome.paste_wanted.connect(intake.paste)
        self._welcome.sample_wanted.connect(intake.open_sample)
        intake.reopened.connect(acts.remove_document)
        sheets.files_wanted.connect(self.open_inputs)
        sheets.past_wanted.connect(self.resume.open_past)
        sheets.engine_wanted.connect(self.open_engine)
        sheets.reload_wanted.connect(self.presenter.reload)
        self.presenter.ways_out = lambda item: [*acts.ways_out(item), *ways.of(item)]
        self.presenter.second_look.found.connect(corrections.looked)
        ways.password_wanted.connect(intake.ask_password)
        ways.other_settings_wanted.connect(sheets.read_with)
        ways.settings_wanted.connect(sheets.settings)
        ways.engine_wanted.connect(self.open_engine)
        self.choice.changed.connect(self.update_actions)
        self.pages.remove_wanted.connect(acts.remove)
        acts.changed.connect(self.update_actions)
        acts.region_taken.connect(self._leave_region)
        self.desk.canvas.region_left.connect(self._leave_region)
        self.desk.canvas.region_chosen.connect(acts.read_region)
        self.desk.canvas.mark_clicked.connect(corrections.mark_clicked)
        self.panel.corrected.connect(corrections.take)
        self.session.replaced.connect(corrections.replaced)
        acts.turned.connect(corrections.replaced)
        corrections.gave_way.connect(self.desk.notice.mention)
        corrections.region_wanted.connect(acts.read_region)
        corrections.changed.connect(lambda item: self.keeper.remember(item.document, self.session.model_name))

    # -- the engine ----------------------------------------------------------------------------------------

    def take_up(self) -> None:
        """After a program that was killed: clean up what it left, offer to go on."""
        interrupted = self.exporting.clean_up()
        if not self.resume.offer(interrupted) and interrupted:
            self.desk.notice.tell(interrupted, "warn")

    def open_engine(self) -> None:
        """Open the model that the settings name."""
        self.strip.set_engine(None, opening=True)
        self.session.open_engine(self._factory(self.store))

    def _engine_opened(self, facts: EngineFacts) -> None:
        self.strip.set_engine(facts)
        self._welcome.tell_languages(languages_text(facts.front_end))
        self._mark_doubts()
        if self.presenter.item is not None:
            self.presenter.reload()
        if self.store.read.one_pass and not facts.front_end.get("multi_page"):
            words = self.tr("{0} was not trained to read several pages in one pass: pages are read one by one.")
            self.desk.notice.tell(words.format(self.strip.engine_text), "info")
        self.ready.emit()

    def _engine_refused(self, error: UocrError) -> None:
        self.strip.set_engine(None)
        chosen = self.store.window.model
        choices = [(self.tr("Use the built-in model"), self.use_built_in)] if chosen != "built-in" else []
        self.desk.notice.tell(told(error, chosen), "bad", [*self.ways.of_refused_engine(error), *choices])
        self.ready.emit()

    def use_built_in(self) -> None:
        self.store.set_window(model="built-in", quant="")
        self.open_engine()

    def _mark_doubts(self) -> bool:
        """Mark words below the person's threshold, else the model's; whether that is another than before."""
        front_end = self.session.front_end
        below = self.store.window.doubt / 100 or float(front_end.get("confidence_threshold", 0.5))
        changed = self.panel.view.writer.doubt_below != below
        self.panel.view.writer.doubt_below = below
        return changed

    # -- ways in -------------------------------------------------------------------------------------------

    def open_inputs(
        self, inputs: Sequence[Input], *, pages: str | None = None, password: str | None = None, show: bool = False
    ) -> None:
        """Add files, folders and pictures to the list; they are read at once if the settings say so.

        `show` the first of their pages: they come from a later start, or from the system.
        """
        if not self._quitting:
            self.intake.open(inputs, pages=pages, password=password, show=show)

    def _opened(self, items: list[PageItem]) -> None:
        if self._quitting:
            return
        self.choice.add(items)
        if self.store.window.read_at_once:
            self.session.read(i for i in items if i.state is PageState.NEW)
        self.update_actions()

    def _first_came(self, item: PageItem) -> None:
        if not self._quitting and self.model.row_of(item) >= 0:
            self.choice.show_new(item)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if can_take(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if not self._quitting and self.intake.take(event.mimeData(), self.tr("Dropped picture")):
            event.acceptProposedAction()

    # -- reading -------------------------------------------------------------------------------------------

    def _page_ended(self, item: PageItem, page: Page, error: object) -> None:
        self.presenter.ended(item, page)
        job = self.keeper.ended(item, page, self.session.model_name)
        if job is not None:
            self.session.thread_.finish_job(job)
        self.update_actions()

    def _pages_dropped(self, items: list[PageItem]) -> None:
        for job in self.keeper.dropped(items, self.session.model_name):
            self.session.thread_.finish_job(job)

    def _unwritten(self, error: UocrError) -> None:
        words = self.tr("What is read cannot be kept for a later start; it is read all the same.")
        self.desk.notice.tell(told(error, words=words), "warn")

    def _close_all(self) -> None:
        self.opener.stop()
        self.undo.clear()
        self.page_actions.remove_all()

    def _leave_region(self) -> None:
        self.actions_["region"].setChecked(False)

    def _page_menu(self, place: QPoint, items: list[PageItem]) -> None:
        if items:
            self.actions_.context_menu(PAGE_MENU, self).exec(place)

    def _text_menu(self, place: QPoint, index: int) -> None:
        self.presenter.pin(index, from_text=True)
        self.actions_.context_menu(TEXT_MENU, self).exec(place)

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
        if self._mark_doubts() and self.presenter.item is not None:
            self.presenter.reload()

    def _full_screen(self, on: bool) -> None:
        (self.showFullScreen if on else self.showNormal)()

    def update_actions(self) -> None:
        """Enable what makes sense now."""
        item, session = self.presenter.item, self.session
        text = item is not None and item.page is not None
        self.actions_.enable(
            sensible(
                page=item is not None,
                text=text,
                any_text=any(i.page is not None for i in self.model.items),
                engine=session.facts is not None,
                reading=session.current is not None,
                busy=session.busy,
            )
            | {"undo": self.corrections.can_undo(), "redo": self.corrections.can_redo()}
        )
        self.drag_out.setEnabled(text)
        self.actions_.check_silently("pause", session.paused)
        self.strip.pause(session.paused)

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
        self.panel.editor.keep()  # while there is a history that takes it
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
        remove_temporary()
