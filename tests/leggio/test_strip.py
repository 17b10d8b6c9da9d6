"""The strip below: memory, promise and budget, progress and counts, what a refused run offers."""

from __future__ import annotations

import dataclasses
import itertools
import re
import threading

import pytest
from leggio.memory.rate import SAMPLES, RatePlot
from leggio.memory.strip import Elided, EngineStrip
from leggio.pages.items import PageState
from leggio.reading.engine import EngineFacts
from leggio.settings.dialog import SettingsDialog
from leggio.window.welcome import Welcome
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QLabel
from uocr.api import UnlimitedOCR
from uocr.document import FinishReason, Page, Timings
from uocr.errors import OverBudget

from .scripted import MODEL, PAGE, ScriptedEngine
from .test_reading import read_all


def test_phases_counts_and_the_end_are_told_while_they_happen(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(steps=steps, vision_steps=4))
    strip, told = window.strip, []
    window.session.advanced.connect(lambda *_: told.append((strip._tokens.text(), strip._progress.value)))
    window.open_inputs([picture()])
    qtbot.waitUntil(lambda: window.session.current is not None and bool(told))
    assert told[-1] == ("Looking at the page: 4 of 4", 1000)
    assert strip._detail.text() == "273 visual, 278 prompt tokens"
    assert strip._estimate.text() == "reading takes at most 40.0 MB"
    steps.release(24)
    qtbot.waitUntil(lambda: strip._tokens.text().startswith("24 tokens"))
    assert strip._tokens.text() == "24 tokens · 200 a second"
    steps.release(1000)
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)
    count = window.model.item(0).page.timings.generated_tokens
    assert strip._tokens.text() == f"{count} tokens · 200 a second"
    assert strip._detail.text() == f"Read to the end · looked 0.6 s, wrote {count / 200:.1f} s"
    assert strip._progress.value == 0


def test_a_page_that_is_not_read_shows_which_one_is(qtbot, make_window, picture):
    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(steps=steps))
    strip = window.strip
    assert strip._tokens.text() == "Ready"
    window.open_inputs([picture(f"{n}.png") for n in range(1, 5)])
    qtbot.waitUntil(lambda: strip._tokens.text().startswith("Looking") and window.session.waiting == 3)

    def words() -> tuple[str, str]:
        return strip._tokens.text(), strip._detail.text()

    window.pages.show_item(window.model.item(3))
    assert words() == ("Reading page 1 of 4", "3 left")
    window.session.cancel_pages([window.model.item(1)])
    assert words() == ("Reading page 1 of 4", "2 left")
    window.actions_["pause"].trigger()
    assert words()[0] == "Paused"
    window.actions_["pause"].trigger()
    assert words() == ("Reading page 1 of 4", "2 left")
    while window.model.item(0).state is not PageState.DONE:
        steps.release(1)
        qtbot.wait(2)
    qtbot.waitUntil(lambda: words() == ("Reading page 3 of 4", "1 left"))
    window.pages.show_item(window.model.item(0))  # a finished page does not hide that another one is read
    assert words() == ("Reading page 3 of 4", "1 left")
    steps.release(10_000)
    qtbot.waitUntil(lambda: not window.session.busy)
    count = window.model.item(0).page.timings.generated_tokens
    assert words()[0] == f"{count} tokens · 200 a second"


@pytest.mark.parametrize(
    ("finish", "words"), [(FinishReason.LENGTH, "Cut short"), (FinishReason.LOOP, "Went in circles")]
)
def test_the_finish_reason_stands_beside_the_counts(qtbot, make_window, picture, finish, words):
    window = make_window(ScriptedEngine(finish=finish))
    read_all(qtbot, window, [picture()])
    assert window.strip._detail.text().startswith(words)


def test_model_quantisation_and_back_end_are_shown(window):
    assert window.strip._engine.text() == "scripted"
    assert window.strip._backend.text() == "q8 · scripted · 2 threads"


def test_the_bar_tells_each_category_its_number_and_its_promise_on_hover(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    bar = window.strip.bar
    first = bar.segments()[0]
    assert bar.hover_text(first.rect.center()) == (
        "Model: 24.0 MB (at most 24.0 MB promised)\n"
        "The model file, mapped from disk (model views). Other programs may share it."
    )
    whole = bar.hover_text(QPointF(-5, 5)).splitlines()
    assert whole[-2:] == ["Budget: 4.00 GB", "Promised before reading: at most 40.0 MB"] and len(whole) == 6


def test_near_the_budget_the_bar_is_the_budget(qtbot, window):
    bar = window.strip.bar
    report = dataclasses.make_dataclass("Report", ["current", "current_total", "peak_total", "budget"])
    bar.set_report(report({"model views": 3_800_000_000}, 3_800_000_000, 3_800_000_000, 4_000_000_000))
    assert bar.scale_bytes == 4_000_000_000
    assert bar.segments()[0].rect.width() == pytest.approx(bar.width() * 0.95)


def test_the_rate_keeps_a_fixed_number_of_samples(qtbot):
    plot = RatePlot()
    qtbot.addWidget(plot)
    for n in range(1, 1000):
        plot.add(n * 20, n * 0.1)
    assert len(plot._rates) == SAMPLES and plot.rate == pytest.approx(200)
    plot.add(8, 0.1)  # a new page: its count starts at nothing
    assert plot.rate == pytest.approx(80)
    plot.resize(110, 34)
    assert not plot.grab().isNull()


def test_a_refusal_offers_a_smaller_quantisation_of_a_pulled_model(qtbot, make_window, picture, store):
    opened: list[str] = []
    refusals = iter([True, False])

    def script(number: int) -> str:
        if next(refusals):
            raise OverBudget("Too large.", {"model views": 9}, 9, 4)
        return PAGE

    engine = ScriptedEngine(script)
    engine.info = dataclasses.replace(MODEL, profile="f16")
    window = make_window(engine, model="baidu/Unlimited-OCR")
    window._factory = lambda chosen: (opened.append(chosen.window.quant), lambda: engine)[1]
    read_all(qtbot, window, [picture()])
    assert window.panel.notice.choices() == ["Smaller views", "Use q8", "Memory budget…"]
    window.panel.notice.choose("Use q8")
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)
    assert opened == ["q8"] and store.window.quant == "q8"


@pytest.mark.parametrize("model", ["built-in", "/models/mine.uocr"])
def test_a_model_with_one_quantisation_offers_no_other(qtbot, make_window, picture, model):
    def refuse(number: int) -> str:
        raise OverBudget("Too large.", {"KV cache": 9}, 9, 4)

    window = make_window(ScriptedEngine(refuse), model=model)
    read_all(qtbot, window, [picture()])
    assert window.panel.notice.choices() == ["Smaller views", "Memory budget…"]


@pytest.mark.parametrize(
    ("trained", "preset", "offered"),
    [(["base", "gundam"], "gundam", "base"), (["base", "gundam"], "base", None), (["tiny", "base"], "base", "tiny")],
)
def test_smaller_views_are_those_that_the_model_was_trained_with(
    qtbot, make_window, picture, store, trained, preset, offered
):
    refusals = iter([True, False])

    def script(number: int) -> str:
        if next(refusals):
            raise OverBudget("Too large.", {"model views": 9}, 9, 4)
        return PAGE

    engine = ScriptedEngine(script)
    engine.front_end["trained_presets"] = trained
    store.set_read(preset=preset)
    window = make_window(engine)
    read_all(qtbot, window, [picture()])
    assert window.panel.notice.choices() == (["Smaller views"] if offered else []) + ["Memory budget…"]
    if offered:
        window.panel.notice.choose("Smaller views")
        qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)
        assert engine.settings_seen[-1]["preset"] == offered


def test_presets_that_the_model_does_not_know_say_so(qtbot, window, store):
    dialog = SettingsDialog(store, {"trained_presets": ["base", "gundam"]}, window)
    qtbot.addWidget(dialog)
    box = dialog._read._widgets["preset"]
    words = [box.itemText(i) for i in range(box.count())]
    assert [w for w in words if "not trained" in w] == [
        "tiny (512 pixels): not trained for it",
        "small (640 pixels): not trained for it",
        "large (1280 pixels): not trained for it",
    ]


def test_the_budget_is_one_click_from_a_refusal(qtbot, make_window, picture, monkeypatch):
    def refuse(number: int) -> str:
        raise OverBudget("Too large.", {"model views": 9}, 9, 4)

    asked: list[str] = []
    monkeypatch.setattr("leggio.window.sheets.SettingsDialog.exec", lambda dialog: asked.append("settings") or 0)
    window = make_window(ScriptedEngine(refuse))
    read_all(qtbot, window, [picture()])
    window.panel.notice.choose("Memory budget…")
    assert asked == ["settings"]


def test_a_budget_below_the_model_is_told_with_its_numbers(make_window):
    def fail():
        return UnlimitedOCR(memory_budget="20 MB")

    window = make_window(fail)
    notice = window.desk.notice
    assert re.fullmatch(
        r"The model alone takes 2\d\.\d MB of memory, the budget is 20\.0 MB: raise it in Settings\.", notice.text
    )
    assert "built-in.uocr" not in notice.text + notice.detail
    assert notice.choices() == ["Memory budget…"]
    assert window.strip.engine_text == "No model"
    assert window.strip._tokens.text() == "" and window.strip._memory.text() == ""


@pytest.mark.parametrize("budget", ["30", "many"])
def test_a_budget_without_its_unit_is_not_taken(qtbot, window, store, budget):
    dialog = SettingsDialog(store, {}, window)
    qtbot.addWidget(dialog)
    dialog._engine._widgets["memory_budget"].setText(budget)
    dialog._take()
    assert not dialog.engine_changed and store.window.memory_budget == "0"
    assert '"4 GB"' in dialog._problem.text() and not dialog._problem.isHidden()


@pytest.mark.parametrize("language", ["en", "it"])
@pytest.mark.parametrize("width", [1400, 1100, 930, 700, 520])
def test_the_strip_never_cuts_a_letter_and_nothing_overlaps(qtbot, qapp, language, width):
    qapp.set_language(language)
    try:
        strip = EngineStrip()
        qtbot.addWidget(strip)
        strip.resize(width, strip.sizeHint().height())
        engine = ScriptedEngine()
        info = dataclasses.replace(MODEL, backend="cpu (avx512)", threads=16)
        strip.set_engine(EngineFacts("built-in", info, {}, engine.memory(), {}))
        strip.set_memory(engine.memory())
        strip.set_estimate(engine.estimate(1000, 1400))
        strip._tokens.setText("12,345 tokens · 1,234 a second")
        strip._detail.setText("Read to the end · looked 10.5 s, wrote 100.1 s")
        strip.show()
        qapp.processEvents()
        labels = [label for label in strip.findChildren(Elided) if label.isVisible()]
        for label in labels:
            drawn = label.fontMetrics().horizontalAdvance(label.shown_text)
            assert drawn <= label.width() and label.geometry().right() < width
        places = [label.geometry() for label in labels] + ([strip.rate.geometry()] if strip.rate.isVisible() else [])
        assert not any(a.intersects(b) for a, b in itertools.combinations(places, 2))
        assert strip._memory.shown_text == strip._memory.text() or width < 700
        assert strip._estimate.isHidden() or strip._estimate.shown_text == strip._estimate.text()
    finally:
        qapp.set_language("en")


@pytest.mark.parametrize("width", [420, 700])
def test_the_welcome_wraps_its_words_in_a_small_window(qtbot, qapp, width):
    qapp.set_language("it")
    try:
        welcome = Welcome()
        qtbot.addWidget(welcome)
        welcome.resize(width, 600)
        welcome.show()
        for label in welcome.findChildren(QLabel):
            flags = int(label.alignment() | Qt.TextFlag.TextWordWrap)
            needed = label.fontMetrics().boundingRect(0, 0, label.width(), 1000, flags, label.text())
            assert needed.width() <= label.width() <= width and needed.height() <= label.height() + 1  # rounded up
    finally:
        qapp.set_language("en")


def test_of_a_page_that_ended_at_once_no_rate_is_told(qtbot, window):
    timings = Timings(1.8, 0.1, 0.0001, 278, 273, 1)
    window.strip.show_page(Page("a", 0, 10, 10, finish_reason=FinishReason.EOS, timings=timings))
    told = window.strip._tokens.text(), window.strip._detail.text()
    assert told == ("Nothing was written", "Read to the end · looked 1.9 s, wrote 0.0 s")
