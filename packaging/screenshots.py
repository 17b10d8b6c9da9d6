"""Pictures of every main state of the window, light and dark, for docs/images/.

    python packaging/screenshots.py [folder [language]]

Reads the sample pages with the built-in model in a window that is not shown. The page with a table and
formulas, beyond that model, is brought in as a document of the history.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from leggio.application import LeggioApplication
from leggio.export.dialog import ExportDialog
from leggio.history.dialog import HistoryDialog
from leggio.pages.items import DocumentItem, PageItem, PageState
from leggio.pages.overlays import RegionItem
from leggio.reading.factory import engine_factory
from leggio.settings.dialog import ReadWithDialog, SettingsDialog
from leggio.settings.store import SettingsStore
from leggio.window.about import AboutDialog
from leggio.window.main_window import MainWindow
from PIL import Image, ImageDraw, ImageFont
from PySide6.QtCore import QEventLoop, QPointF, QRectF, QSettings, QTimer
from PySide6.QtWidgets import QApplication, QDialog, QTabWidget
from uocr.document import Block, Box, FinishReason, Page, Word
from uocr.errors import OverBudget

SAMPLES = Path(__file__).parents[1] / "resources" / "samples"
SIZE = (1280, 800)
TIMEOUT_MS = 120_000


class Studio:
    """One window in one appearance, and the folder its pictures go to."""

    def __init__(self, application: LeggioApplication, appearance: str, folder: Path, work: Path) -> None:
        self.application, self.appearance, self.folder = application, appearance, folder
        application.set_appearance(appearance)
        storage = QSettings(str(work / f"{appearance}.ini"), QSettings.Format.IniFormat)
        self.store = SettingsStore(storage)
        self.window = MainWindow(self.store, engine_factory, work / appearance)
        self.window.resize(*SIZE)
        self.window.show()
        self.until(lambda: self.window.session.facts is not None, self.window.open_engine)

    def until(self, done: Callable[[], bool], start: Callable[[], object] | None = None) -> None:
        """Run the event loop until `done`."""
        loop, timer = QEventLoop(), QTimer()
        timer.timeout.connect(lambda: done() and loop.quit())
        timer.start(10)
        QTimer.singleShot(TIMEOUT_MS, lambda: loop.exit(1))
        if start is not None:
            start()
        if not done() and loop.exec():
            raise TimeoutError(f"{self.appearance}: the window did not come to rest")
        self.settle()

    def settle(self) -> None:
        for _ in range(20):
            QApplication.processEvents()

    def take(self, name: str, dialog: QDialog | None = None) -> None:
        """Save the window, or a dialog of it."""
        self.settle()
        shown = dialog or self.window
        if dialog is not None:
            dialog.show()
            self.settle()
        if dialog is None:
            self.until(lambda: all(self.window.pictures.thumbnail(i) is not None for i in self.window.model.items))
        picture = shown.grab()
        path = self.folder / f"{name}-{self.appearance}.png"
        if not picture.save(str(path)):
            raise OSError(f"{path} could not be written")
        if dialog is not None:
            dialog.close()

    # -- states
    # ------------------------------------------------------------------------------------------------

    def all_states(self, work: Path) -> None:
        for state in self.states(work):
            print(f"{self.appearance}: {state}")

    def states(self, work: Path) -> Iterator[str]:
        window, panel, canvas = self.window, self.window.panel, self.window.desk.canvas
        self.take("welcome")
        yield "welcome"
        window.open_inputs([SAMPLES / "scan.jpg", SAMPLES / "leaflet.pdf"])
        self.until(lambda: panel.view.toPlainText().count("\n") >= 1 and canvas.page_size != (0, 0))
        window.session.pause(True)
        self.take("reading")
        window.session.pause(False)
        yield "reading"
        self.until(lambda: window.model.rowCount() > 3 and not window.session.busy)
        window.pages.show_item(next(i for i in window.model.items if i.document.name == "scan.jpg"))
        self.until(lambda: canvas.page_size != (0, 0))
        window.presenter.pin(1, from_text=True)
        self.take("page")
        yield "page"
        # The other pictures show a page drawn from fonts: a scan's grain would make each of them four times as large.
        window.pages.show_item(window.model.item(0))
        self.until(lambda: canvas.page_size != (0, 0))
        window.actions_["source"].setChecked(True)
        self.take("source")
        window.actions_["source"].setChecked(False)
        yield "source"
        panel.open_find()
        panel.find_bar._field.setText("the")
        self.take("find")
        panel.find_bar.leave()
        yield "find"
        panel.edit_block(1)
        self.take("correct")
        panel.editor.drop()
        yield "correct"
        self._region()
        yield "region"
        self._views()
        yield "views"
        self._example(work)
        yield "example"
        self._troubles()
        yield "troubles"
        yield from self._dialogs()
        window.shut_down()
        window.deleteLater()

    def _region(self) -> None:
        window = self.window
        window.presenter.pin(-1, from_text=True)
        item = RegionItem(window.desk.canvas.page_rect())
        window.desk.canvas.scene().addItem(item)
        width, height = window.desk.canvas.page_size
        item.set_rect(QRectF(QPointF(width * 0.07, height * 0.295), QPointF(width * 0.92, height * 0.39)))
        window.actions_["region"].setChecked(True)
        self.take("region")
        window.desk.canvas.scene().removeItem(item)
        window.actions_["region"].setChecked(False)

    def _views(self) -> None:
        window = self.window
        window.presenter.item.settings["preset"] = "gundam"
        window.actions_["show_views"].setChecked(True)
        window.presenter.reload()
        self.until(lambda: window.desk.canvas.page_size != (0, 0))
        self.take("views")
        window.actions_["show_views"].setChecked(False)
        del window.presenter.item.settings["preset"]

    def _example(self, work: Path) -> None:
        """A page with table, formula, doubtful words and places for a second look."""
        window = self.window
        document, page = example_page(work)
        window.choice.add([item := PageItem(document, 0, page=page, state=PageState.DONE)])
        window.pages.show_item(item)
        self.until(lambda: len(window.desk.canvas._marks) > 0 and not window.panel.view.writer._waiting)
        window.corrections.next_doubtful()
        self.take("doubtful")

    def _troubles(self) -> None:
        window = self.window
        refused = PageItem(DocumentItem(SAMPLES / "two-columns.png", "two-columns.png"), 0, state=PageState.FAILED)
        refused.settings["preset"] = "gundam"
        refused.failure = OverBudget(
            "two-columns.png needs 6.9 GB, the memory budget is 4 GB.",
            {
                "model views": 3_500_000_000,
                "KV cache": 420_000_000,
                "vision workspace": 2_900_000_000,
                "decoder scratch": 80_000_000,
            },
            6_900_000_000,
            4_000_000_000,
        )
        refused.error = str(refused.failure)
        cut = PageItem(DocumentItem(SAMPLES / "screenshot.png", "screenshot.png"), 0, state=PageState.LOOPED)
        cut.page = Page(
            "screenshot.png",
            0,
            900,
            600,
            [Block("text", (Box(58, 268, 900, 372),), "The new pump has been " + "running since " * 14)],
            finish_reason=FinishReason.LOOP,
        )
        window.choice.add([refused, cut])
        for item, name in ((refused, "refused"), (cut, "looped")):
            window.pages.show_item(item)
            self.until(lambda: window.desk.canvas.page_size != (0, 0))
            self.take(name)

    def _dialogs(self) -> Iterator[str]:
        window = self.window
        facts = window.session.facts
        made: list[tuple[str, Callable[[], QDialog]]] = [
            ("export", lambda: ExportDialog({"page": 1, "document": 3, "all": 5}, window)),
            ("settings", lambda: self._settings(0)),
            ("settings-reading", lambda: self._settings(1)),
            ("settings-model", lambda: self._settings(2)),
            ("read-with", lambda: ReadWithDialog(self.store.read, 2, facts.front_end | {"multi_page": True}, window)),
            ("models", window.sheets.model_sheet),
            ("history", lambda: HistoryDialog(window.keeper.history, window)),
            ("about", lambda: AboutDialog(facts, window)),
        ]
        for name, make in made:
            self.take(name, make())
            yield name

    def _settings(self, tab: int) -> QDialog:
        dialog = SettingsDialog(self.store, self.window.session.facts.front_end, self.window)
        dialog.findChild(QTabWidget).setCurrentIndex(tab)
        return dialog


def example_page(work: Path) -> tuple[DocumentItem, Page]:
    """A drawn page and what a larger model would say of it."""
    path = work / "harbour-report.png"
    image = Image.new("RGB", (1000, 1400), "#fdfcf8")
    draw = ImageDraw.Draw(image)
    large, small = (ImageFont.load_default(size) for size in (44, 26))
    draw.text((90, 90), "Harbour report, first quarter", "#111", large)
    rows = [
        ("Month", "Boats", "Passengers"),
        ("January", "62", "1,904"),
        ("February", "58", "1,731"),
        ("March", "74", "2,480"),
    ]
    for n, row in enumerate(rows):
        for column, text in enumerate(row):
            draw.text((110 + 280 * column, 220 + 56 * n), text, "#111", small)
    draw.text((90, 520), "The mean load per crossing is passengers over boats:", "#111", small)
    draw.text((400, 590), "L = P / B = 31.5", "#111", small)
    draw.text((90, 680), "The southem pier was closed for nine days in Febuary.", "#111", small)
    draw.text((90, 1240), "Filed by the harbour office, copy 2", "#555", small)
    image.save(path)

    def box(left: int, top: int, right: int, bottom: int) -> tuple[Box, ...]:
        return (Box(left * 999 // 1000, top * 999 // 1400, right * 999 // 1000, bottom * 999 // 1400),)

    table = (
        "<table>"
        + "".join(
            "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in row) + "</tr>"
            for row, tag in zip(rows, ("th", "td", "td", "td"), strict=True)
        )
        + "</table>"
    )
    doubtful = "The southem pier was closed for nine days in Febuary."
    words = [Word(w, doubtful.index(w), {"southem": 0.31, "Febuary.": 0.44}.get(w, 0.98)) for w in doubtful.split()]
    blocks = [
        Block("title", box(86, 88, 720, 146), "Harbour report, first quarter", confidence=0.99),
        Block("table", box(96, 210, 860, 440), table, confidence=0.97),
        Block(
            "text",
            box(86, 512, 760, 556),
            "The mean load per crossing is passengers over boats:",
            confidence=0.98,
        ),
        Block("equation", box(380, 580, 640, 630), "\\[L = \\frac{P}{B} = 31.5\\]", confidence=0.95),
        Block("text", box(86, 672, 790, 716), doubtful, words, 0.8),
        Block("text", box(86, 900, 700, 980), "See also the annex.", confidence=0.4),
    ]
    page = Page(path.name, 0, 1000, 1400, blocks, finish_reason=FinishReason.EOS)
    return DocumentItem(path, path.name), page


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    application = LeggioApplication(["leggio"])
    application.set_language(sys.argv[2] if len(sys.argv) > 2 else "en")
    with tempfile.TemporaryDirectory() as work:
        for appearance in ("light", "dark"):
            Studio(application, appearance, folder, Path(work)).all_states(Path(work))
    return 0


if __name__ == "__main__":
    sys.exit(main())
