"""The window as a whole: every action has a shortcut and words, every control a name; light, dark, Italian;
self-test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from leggio.application import TRANSLATIONS
from leggio.look.colours import colours, dark_palette, light_palette
from leggio.window.action_table import ENTRIES, Entry
from PIL import Image
from PySide6.QtCore import QCoreApplication, QLibraryInfo, QMimeData, QUrl
from PySide6.QtGui import QColor, QKeySequence, QPalette
from uocr.events import Progress, TextDelta

from .scripted import ScriptedEngine
from .test_export import choice, write
from .test_reading import drop, read_all

ROOT = Path(__file__).parents[2]


def test_every_action_is_in_a_menu_with_words_a_shortcut_and_help(window):
    in_menus = {a.objectName() for menu in window.actions_.menus.values() for a in menu.actions()}
    for entry in ENTRIES:
        if isinstance(entry, Entry):
            action = window.actions_[entry.name]
            assert entry.name in in_menus
            assert action.text() and action.toolTip() and not action.shortcut().isEmpty(), entry.name


def test_no_two_actions_share_a_shortcut(window):
    seen: dict[str, str] = {}
    for name, action in window.actions_:
        for keys in action.shortcuts():
            text = keys.toString(QKeySequence.SequenceFormat.PortableText)
            assert seen.setdefault(text, name) == name, f"{text}: {name} and {seen[text]}"


def luminance(colour: QColor) -> float:
    parts = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
        for c in (colour.redF(), colour.greenF(), colour.blueF())
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a: QColor, b: QColor) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [light_palette, dark_palette])
def test_words_can_be_read_in_light_and_dark(qapp, palette):
    chosen = palette()
    tones = colours(chosen)
    for ground in (QPalette.ColorRole.Window, QPalette.ColorRole.Base):
        for name in ("good", "warn", "bad", "quiet"):
            assert contrast(getattr(tones, name), chosen.color(ground)) >= 4.5, name
        assert contrast(chosen.color(QPalette.ColorRole.Text), chosen.color(ground)) >= 7
    marked = chosen.color(QPalette.ColorRole.HighlightedText), chosen.color(QPalette.ColorRole.Highlight)
    assert contrast(*marked) >= 4


def test_dark_and_light_change_while_the_window_is_open(qtbot, qapp, window, picture):
    read_all(qtbot, window, [picture()])
    before = window.panel.view.toPlainText()
    for appearance, dark in (("dark", True), ("light", False)):
        qapp.set_appearance(appearance)
        qtbot.waitUntil(lambda dark=dark: (window.palette().window().color().lightness() < 128) is dark)
        qtbot.waitUntil(lambda: not window.panel.filling)
        assert window.panel.view.toPlainText() == before


def messages(file: Path) -> list[tuple[str, str, ElementTree.Element]]:
    found = []
    for context in ElementTree.parse(file).getroot().iter("context"):
        for message in context.iter("message"):
            found.append((context.findtext("name"), message.findtext("source"), message.find("translation")))
    return found


def test_the_italian_translation_is_complete_and_keeps_every_place():
    for context, source, translation in messages(TRANSLATIONS / "leggio_it.ts"):
        text = translation.text or ""
        assert translation.get("type") is None and text.strip(), f"{context}: {source}"
        assert sorted(re.findall(r"\{\d\}", source)) == sorted(re.findall(r"\{\d\}", text)), source
        assert source.endswith("…") == text.endswith("…"), source


def test_every_text_of_the_window_is_in_the_translation_file(tmp_path):
    tool = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.LibraryExecutablesPath)).parents[1] / "lupdate"
    if not tool.exists():
        pytest.skip("PySide6's lupdate is not installed")
    fresh = tmp_path / "fresh.ts"
    files = [str(f) for f in sorted((ROOT / "app" / "leggio").rglob("*.py"))]
    subprocess.run([str(tool), *files, "-ts", str(fresh), "-locations", "none", "-silent"], check=True, timeout=60)
    kept = {(c, s) for c, s, _ in messages(TRANSLATIONS / "leggio_it.ts")}
    assert {(c, s) for c, s, _ in messages(fresh)} - kept == set()


def test_the_window_speaks_italian(qapp, make_window):
    assert qapp.set_language("it")
    try:
        window = make_window(ScriptedEngine())
        assert window.actions_["open"].text() == "Apri…"
        assert QCoreApplication.translate("Pages", "Waiting") == "In attesa"
    finally:
        assert not qapp.set_language("en")


def test_a_picture_file_is_read_by_the_built_in_model_in_the_real_window(qtbot, make_window, tmp_path):
    """Drop, read, watch tokens and memory move, copy, export, quit: with the real engine."""
    api = pytest.importorskip("uocr.api")
    try:
        engine = api.UnlimitedOCR()
    except Exception as error:
        pytest.skip(f"the engine is not built: {error}")
    window = make_window(engine)
    rates, totals = [], []
    window.session.counted.connect(lambda item, tokens, seconds: rates.append(tokens))
    window.session.memory_read.connect(lambda report: totals.append(report.current_total))
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(ROOT / "resources" / "samples" / "screenshot.png"))])
    drop(window, data)
    qtbot.waitUntil(lambda: window.model.rowCount() == 1 and window.model.item(0).state.over, timeout=120_000)
    page = window.model.item(0).page
    truth = (ROOT / "resources" / "samples" / "screenshot.txt").read_text().split()
    words = window.panel.view.toPlainText().split()
    assert page.complete and sum(w in words for w in truth) > 0.9 * len(truth)
    assert rates == sorted(rates) and len(rates) > 2 and max(totals) > min(totals)
    window.actions_["copy"].trigger()
    assert "Copied" in window.panel.notice.text
    write(qtbot, window, tmp_path / "read.md", choice("md"))
    assert page.blocks[0].text.split()[0] in (tmp_path / "read.md").read_text()
    assert window.close()


@pytest.mark.parametrize(
    ("act", "phase"),
    [
        ("cancel", "vision"),
        ("cancel", "prefill"),
        ("cancel", "decode"),
        pytest.param("pause", "vision", marks=pytest.mark.slow),
        pytest.param("pause", "prefill", marks=pytest.mark.slow),
        ("pause", "decode"),
    ],
)
def test_cancel_and_pause_act_in_every_phase_of_the_real_engine(qtbot, make_window, phase, act):
    api = pytest.importorskip("uocr.api")
    try:
        engine = api.UnlimitedOCR()
    except Exception as error:
        pytest.skip(f"the engine is not built: {error}")
    window = make_window(engine)
    reached: list[str] = []

    def stop(seen: str) -> None:
        """Pressed at the very moment that the window hears of the phase, or on the engine's thread before it."""
        if seen == phase and not reached:
            reached.append(seen)
            control = window.session._control
            control.cancel() if act == "cancel" else control.pause()

    push = window.session.thread_._push

    def watched(key, event, first_block=0):
        stop(event.phase if isinstance(event, Progress) else "decode" if isinstance(event, TextDelta) else "")
        push(key, event, first_block)

    window.session.thread_._push = watched
    window.open_inputs([ROOT / "resources" / "samples" / "screenshot.png"])
    qtbot.waitUntil(lambda: bool(reached), timeout=60_000)
    item = window.model.item(0)
    if act == "cancel":
        qtbot.waitUntil(lambda: not window.session.busy, timeout=20_000)
        assert item.state.value == "cancelled"
        return
    qtbot.wait(100)
    assert window.session.busy and window.session.paused and not item.state.over
    window.update_actions()  # it was paused behind the window's back
    assert window.actions_["pause"].isChecked()
    window.actions_["pause"].trigger()
    qtbot.waitUntil(lambda: not window.session.busy, timeout=60_000)
    assert item.state.value == "done"


@pytest.mark.parametrize("scale", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("named", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_self_test_says_what_it_did_on_any_screen(tmp_path, scale, named):
    """Its picture goes where it is told to, or into a temporary folder: never into the working folder."""
    pytest.importorskip("uocr._declarations")
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    more = ["--self-test-picture", str(tmp_path / "window.shot")] if named else []
    run = subprocess.run(
        [sys.executable, "-c", "import sys; from leggio.main import main; sys.exit(main())", "--self-test", *more],
        cwd=here,
        env=dict(os.environ, QT_SCALE_FACTOR=str(scale), TMPDIR=str(temporary)),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Leggio read scan.jpg: ")
    place = tmp_path / "window.shot" if named else next(temporary.glob("leggio-self-test-*/selftest.png"))
    assert run.stdout.endswith(f"the window is in {place}\n")
    assert list(here.iterdir()) == [] and len(list(temporary.iterdir())) == (0 if named else 1)
    with Image.open(place) as picture:
        assert picture.size == (1280 * scale, 820 * scale)


def test_starting_does_not_load_the_hub_the_engine_or_the_formulas():
    late = ("huggingface_hub", "ziamath", "uocr.api", "docx", "tokenizers", "pymupdf")
    code = f"import sys, leggio.main, leggio.window.main_window; print([m for m in {late} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[]", run.stdout + run.stderr
