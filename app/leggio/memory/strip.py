"""The strip along the bottom of the window."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QRect, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QToolTip, QVBoxLayout, QWidget
from uocr.document import FinishReason, Page
from uocr.events import PageStarted

from leggio.look.colours import colours
from leggio.look.units import bytes_text, number_text, share_text
from leggio.memory.bar import MemoryBar
from leggio.memory.rate import RatePlot
from leggio.reading.engine import EngineFacts

_PLOT_FROM = 860
"""Pixels of width from which there is room for the plot of the rate beside the numbers."""


class Elided(QLabel):
    """One line that ends in "…" where there is no room for all of it; the hover then has the whole."""

    @property
    def text_width(self) -> int:
        """Pixels that the whole text takes."""
        return self.fontMetrics().horizontalAdvance(self.text())

    @property
    def shown_text(self) -> str:
        """What is drawn."""
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.contentsRect().width())

    @property
    def colour(self) -> QColor:
        return self.palette().color(QPalette.ColorRole.WindowText)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setPen(self.colour)
            painter.drawText(self.contentsRect(), self.alignment(), self.shown_text)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and self.shown_text != self.text():
            QToolTip.showText(event.globalPos(), "\n".join(filter(None, (self.text(), self.toolTip()))), self)
            return True
        return super().event(event)


class Quiet(Elided):
    """Secondary text."""

    @property
    def colour(self) -> QColor:
        return QColor(colours(self.palette()).quiet)


class ThinProgress(QWidget):
    """A line along the top of the strip that fills from the left."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._value = 0
        self.setFixedHeight(3)

    @property
    def value(self) -> int:
        """Thousandths."""
        return self._value

    def set_value(self, value: int) -> None:
        value = min(max(value, 0), 1000)
        if value != self._value:
            self._value = value
            self.setAccessibleDescription(share_text(value / 1000))
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(QRect(0, 0, self.width(), 1), colours(self.palette()).line)
            done = round(self.width() * self._value / 1000)
            painter.fillRect(QRect(0, 0, done, self.height()), self.palette().color(QPalette.ColorRole.Link))


class EngineStrip(QWidget):
    """Memory, tokens, progress and the engine, live."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar = MemoryBar(self)
        self.rate = RatePlot(self)
        self._memory = Elided(self)
        self._estimate = Quiet("", self)
        self._tokens = Elided(self)
        self._detail = Quiet("", self)
        self._engine = Elided(self)
        self._backend = Quiet("", self)
        self._progress = ThinProgress(self)
        self._progress.setAccessibleName(self.tr("Progress of the page"))
        self._rate_text = ""
        self._ready = False
        """Whether a model is open."""
        self._started: PageStarted | None = None
        self._memory.setToolTip(self.tr("What Leggio holds now, the model included, and the most it may take"))
        self._estimate.setToolTip(
            self.tr("Worked out before anything is held: reading this page never takes more. The mark in the bar below")
        )
        self._tokens.setToolTip(
            self.tr("Tokens are the pieces of text the model writes one at a time; about four letters each")
        )
        self._detail.setToolTip(
            self.tr("The page is shown to the model as visual tokens; the prompt holds them and the question")
        )
        self._backend.setToolTip(self.tr("How finely the model's numbers are kept (quantisation), and what computes"))
        for label in (self._memory, self._tokens, self._engine, self._estimate, self._detail, self._backend):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._estimate.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._lay_out()
        self.set_engine(None)
        self.rest()

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setContentsMargins(16, 8, 16, 10)
        grid.setHorizontalSpacing(28)
        grid.setVerticalSpacing(4)
        self._line = QHBoxLayout()
        self._line.setSpacing(12)
        self._line.addWidget(self._memory)
        self._line.addWidget(self._estimate)
        grid.addLayout(self._line, 0, 0)
        grid.addWidget(self.bar, 1, 0)
        grid.addWidget(self._tokens, 0, 1)
        grid.addWidget(self._detail, 1, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.rate, 0, 2, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self._engine, 0, 3)
        grid.addWidget(self._backend, 1, 3, Qt.AlignmentFlag.AlignTop)
        for column, stretch in ((0, 6), (1, 4), (3, 3)):
            grid.setColumnStretch(column, stretch)
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        box.addWidget(self._progress)
        box.addLayout(grid)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.rate.setVisible(self.width() >= _PLOT_FROM)
        self._fit()

    def _fit(self) -> None:
        """The promise stands beside the memory in use where both have room, else it is left to the bar's hover."""
        self._estimate.setVisible(
            self._memory.text_width + self._line.spacing() + self._estimate.text_width + 2 <= self.bar.width()
        )
        self._line.setStretch(0, max(1, self._memory.text_width))
        self._line.setStretch(1, max(1, self._estimate.text_width))

    # -- the engine ----------------------------------------------------------------------------------------

    def set_engine(self, facts: EngineFacts | None, opening: bool = False) -> None:
        self._ready = facts is not None
        if facts is None:
            self.set_estimate(None)
            self._memory.setText("")
            self.rest()
            self._engine.setText(self.tr("Opening the model…") if opening else self.tr("No model"))
            self._backend.setText("")
            return
        names = {"built-in": self.tr("Built-in model")}
        self._engine.setText(names.get(facts.name, facts.name))
        info = facts.info
        if not self._tokens.text():
            self.rest()
        self._backend.setText(self.tr("{0} · {1} · {2} threads").format(info.profile, info.backend, info.threads))

    @property
    def engine_text(self) -> str:
        """The model's name as it is shown."""
        return self._engine.text()

    def set_memory(self, report: Any) -> None:
        self.bar.set_report(report)
        self._memory.setText(
            self.tr("Memory {0} of {1}").format(bytes_text(report.current_total), bytes_text(report.budget))
        )
        self._fit()

    def set_estimate(self, estimate: Any | None) -> None:
        """The promise for the page at hand."""
        self.bar.set_estimate(estimate)
        self._estimate.setText(
            "" if estimate is None else self.tr("reading takes at most {0}").format(bytes_text(estimate.total))
        )
        self._fit()

    # -- a page --------------------------------------------------------------------------------------------

    def begin(self, started: PageStarted) -> None:
        self._started = started
        self.set_estimate(started.estimate)
        self.rate.restart()
        self._tokens.setText(self.tr("Looking at the page"))
        self._detail.setText(
            self.tr("{0} visual, {1} prompt tokens").format(
                number_text(started.visual_tokens), number_text(started.prompt_tokens)
            )
        )

    def advance(self, phase: str, done: int, total: int) -> None:
        self._progress.set_value(round(1000 * done / max(1, total)))
        if phase in ("vision", "prefill"):
            words = self.tr("Looking at the page") if phase == "vision" else self.tr("Preparing")
            self._tokens.setText(self.tr("{0}: {1} of {2}").format(words, done, total))
        elif phase == "again":
            share = share_text(done / max(1, total))
            self._tokens.setText(self.tr("Reading again: {0}").format(share) if done else self.tr("Reading again"))

    def count(self, tokens: int, seconds: float) -> None:
        if self.rate.add(tokens, seconds) or not self._rate_text:
            self._rate_text = number_text(self.rate.rate) if self.rate.rate else ""
        words = self.tr("{0} tokens").format(number_text(tokens))
        if self._rate_text:
            words = self.tr("{0} · {1} a second").format(words, self._rate_text)
        self._tokens.setText(words)
        if self._started is not None:
            self._progress.set_value(round(1000 * tokens / max(1, self._started.max_new_tokens)))

    def show_page(self, page: Page | None) -> None:
        """The counts of a finished page."""
        if page is None or page.finish_reason is FinishReason.NOT_READ:
            self.rest()
            return
        timings = page.timings
        words = self.tr("{0} tokens").format(number_text(timings.generated_tokens))
        if timings.generated_tokens < 2:  # the end alone; of that no rate can be told
            words = self.tr("Nothing was written")
        elif timings.tokens_per_second:
            words = self.tr("{0} · {1} a second").format(words, number_text(timings.tokens_per_second))
        self._tokens.setText(words)
        ended = self.finish_words(page.finish_reason)
        looked, wrote = timings.vision_s + timings.prefill_s, timings.decode_s
        # A document from the history may have been read by another program that did not tell its times.
        if page.readings > 1:
            which = self.tr("Second reading kept") if page.kept_reading == 2 else self.tr("First reading kept")
            # That it came to its end is what most pages do: left out, so that all of the line can be seen.
            ended = which if page.complete else self.tr("{0} · {1}").format(ended, which)
        told = self.tr("{0} · looked {1} s, wrote {2} s").format(ended, number_text(looked, 1), number_text(wrote, 1))
        if not wrote:
            self._tokens.setText(ended)
        self._detail.setText(told if wrote else "")
        self._progress.set_value(0)
        self._rate_text = ""

    def elsewhere(self, place: int, pages: int, left: int) -> None:
        """The engine reads another page than the one that is shown: page `place` (from 1) of `pages`; `left` wait."""
        self.rest()
        self._tokens.setText(self.tr("Reading page {0} of {1}").format(number_text(place), number_text(pages)))
        if left:
            self._detail.setText(self.tr("{0} left").format(number_text(left)))

    def rest(self) -> None:
        """Nothing is read and no finished page is shown."""
        self._tokens.setText(self.tr("Ready") if self._ready else "")
        self._detail.setText("")
        self._progress.set_value(0)
        self._rate_text = ""

    def pause(self, paused: bool) -> None:
        if paused:
            self._tokens.setText(self.tr("Paused"))

    def finish_words(self, reason: FinishReason) -> str:
        return {
            FinishReason.EOS: self.tr("Read to the end"),
            FinishReason.LENGTH: self.tr("Cut short"),
            FinishReason.LOOP: self.tr("Went in circles"),
            FinishReason.CANCELLED: self.tr("Cancelled"),
            FinishReason.ERROR: self.tr("Failed"),
        }.get(reason, "")
