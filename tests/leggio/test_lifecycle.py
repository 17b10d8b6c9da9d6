"""Quitting, being killed, going on; settings, history, models, the window's places."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from leggio.history.store import HistoryStore
from leggio.pages.items import PageState
from leggio.settings.dialog import SettingsDialog
from leggio.settings.store import SettingsStore
from leggio.settings.table import WindowSettings, build_parser, given
from leggio.window.about import AboutDialog, diagnostics, save_diagnostics
from PIL import Image
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QDialog, QMessageBox
from uocr.document import FinishReason
from uocr.errors import InvalidRequest, ModelNotFound
from uocr.export.json_file import dump_json, page_record
from uocr.settings import ReadSettings

from .scripted import PAGE, ScriptedEngine
from .test_reading import read_all

ROOT = Path(__file__).parents[2]


@pytest.fixture
def five_pages(tmp_path) -> Path:
    path = tmp_path / "five.tiff"
    frames = [Image.new("RGB", (120, 160), (255, 255, 250 + n)) for n in range(5)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    return path


def child(data: Path, file: Path, *what: str) -> subprocess.Popen[str]:
    data.mkdir(exist_ok=True)
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", PYTHONPATH=os.pathsep.join([str(ROOT), *sys.path]))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.leggio.child", str(data), str(file), *what],
        text=True,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("stage", ["start", "opening", "vision", "decode", "export", "idle"])
def test_quitting_at_any_stage_ends_with_exit_code_0(tmp_path, picture, stage):
    process = child(tmp_path / "data", picture(), "quit", stage)
    _, complaints = process.communicate(timeout=60)
    lines = [line for line in complaints.splitlines() if "propagateSizeHints" not in line]
    assert (process.returncode, lines) == (0, [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_polite_kill_ends_with_exit_code_0_and_keeps_the_job(tmp_path, five_pages, number):
    process = child(tmp_path / "data", five_pages, "hang", "1")
    assert process.stdout.readline().strip() == "there"
    process.send_signal(number)
    _, complaints = process.communicate(timeout=30)
    assert (process.returncode, [c for c in complaints.splitlines() if "propagateSizeHints" not in c]) == (0, [])
    assert len(journal_pages(tmp_path / "data")) == 1
    assert list((tmp_path / "data" / "jobs").glob("queue-*.json"))


def test_what_an_export_left_half_written_goes_at_the_next_start(qtbot, tmp_path, picture, make_window):
    """Killed in the middle: a partial file beside the target, cleaned and told by the next start."""
    target = tmp_path / "out" / "page.pdf"
    target.parent.mkdir()
    other = target.with_name("other.pdf.0123abcd.partial")
    other.write_text("of another program")
    process = child(tmp_path / "data", picture(), "write", str(target))
    assert process.stdout.readline().strip() == "there"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert len(list(target.parent.glob("page.pdf.*.partial"))) == 1
    window = make_window(ScriptedEngine())
    window.take_up()
    assert list(target.parent.iterdir()) == [other]
    told = "Leggio ended while page.pdf was being written: nothing of it is there. Export it again."
    assert window.desk.notice.text == told
    window.desk.notice.dismiss()
    window.take_up()
    assert window.desk.notice.text == ""


def test_both_an_export_and_a_reading_that_were_killed_are_told(killed, make_window):
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
    (killed / f"exports-{gone}.json").write_text(json.dumps([str(killed / "a.md")]))
    window = make_window(ScriptedEngine(script))
    window.take_up()
    assert window.desk.notice.text == (
        "Leggio ended while a.md was being written: nothing of it is there. Export it again. "
        "Reading of five.tiff stopped after page 2 of 5."
    )
    assert window.desk.notice.choices() == ["Go on", "Discard"]


def test_temporary_folders_go_with_their_process(window, monkeypatch, tmp_path):
    from leggio.processes import temporary_folder

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
    left, other = tmp_path / f"leggio-{gone}-abc", tmp_path / "leggio-notes"
    for folder in (left, other):
        folder.mkdir()
    (left / "screen.png").write_bytes(b"x")
    own = temporary_folder()
    window.shut_down()
    assert sorted(p.name for p in tmp_path.glob("leggio-*")) == ["leggio-notes"] and not own.exists()


@pytest.fixture
def killed(tmp_path, five_pages) -> Path:
    """A data folder left behind by a kill -9 in page 3 of 5."""
    process = child(tmp_path / "data", five_pages, "hang", "2")
    assert process.stdout.readline().strip() == "there"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    return tmp_path / "data"


def journal_pages(data: Path) -> list[str]:
    """Records of the finished pages as they stand in the journal."""
    lines = next((data / "jobs").glob("*.jsonl")).read_text().splitlines()
    return [line.split(" ", 1)[1] for line in lines[1:]]


def script(number: int) -> str:
    return PAGE.replace("Notes", f"Page {number}, notes")


def test_after_a_kill_reading_goes_on_with_the_next_page(qtbot, killed, make_window):
    before = journal_pages(killed)
    assert len(before) == 2
    engine = ScriptedEngine(script)
    window = make_window(engine)
    window.resume.offer()
    assert window.desk.notice.text == "Reading of five.tiff stopped after page 2 of 5."
    window.desk.notice.choose("Go on")
    qtbot.waitUntil(lambda: window.model.rowCount() == 5 and not window.session.busy, timeout=20_000)
    assert [number for _, number in engine.read_pages] == [2, 3, 4]
    pages = [i.page for i in window.model.items]
    assert [p.finish_reason for p in pages] == [FinishReason.EOS] * 5
    assert [dump_json(page_record(p)) for p in pages[:2]] == before
    assert pages[1].text.startswith("Page 1, notes")
    qtbot.waitUntil(lambda: not list((killed / "jobs").glob("*")))
    assert [p.name for p in window.keeper.history.search()] == ["five.tiff"]


@pytest.mark.parametrize(
    ("change", "words"), [("file", "the file"), ("settings", "the settings"), ("model", "the model")]
)
def test_going_on_is_refused_when_something_changed(qtbot, killed, five_pages, make_window, store, change, words):
    engine = ScriptedEngine(script)
    if change == "file":
        with five_pages.open("ab") as file:
            file.write(b"more")
    if change == "settings":
        store.set_read(dpi=150)
    if change == "model":
        import dataclasses

        engine.info = dataclasses.replace(engine.info, model_id="ab" * 32)
    window = make_window(engine)
    window.resume.offer()
    window.desk.notice.choose("Go on")
    qtbot.waitUntil(lambda: words in window.desk.notice.text)
    assert "changed" in window.desk.notice.text and window.model.rowCount() == 0
    window.desk.notice.choose("Read it from the start")
    qtbot.waitUntil(lambda: window.model.rowCount() == 5 and not window.session.busy, timeout=20_000)
    assert len(engine.read_pages) == 5


def test_the_offer_to_go_on_stays_when_files_are_opened_and_a_refusal_does_not(
    qtbot, killed, make_window, picture, tmp_path
):
    """`leggio FILE` after a kill: the file is read, and the offer is still there."""
    window = make_window(ScriptedEngine(script))
    window.take_up()
    offer = window.desk.notice.text
    read_all(qtbot, window, [picture()])
    assert window.desk.notice.text == offer and offer.startswith("Reading of five.tiff stopped")
    window.desk.notice.choose("Discard")
    (tmp_path / "empty").mkdir()
    window.open_inputs([tmp_path / "empty"])
    qtbot.waitUntil(lambda: "holds no picture" in window.desk.notice.text)
    window.open_inputs([picture("b.png")])
    assert window.desk.notice.text == ""


def test_a_discarded_job_is_not_offered_again(qtbot, killed, make_window):
    window = make_window(ScriptedEngine())
    window.resume.offer()
    window.desk.notice.choose("Discard")
    qtbot.waitUntil(lambda: not list((killed / "jobs").glob("*")))
    window.resume.offer()
    assert window.desk.notice.text == ""


def test_cancelling_is_not_an_interruption(qtbot, make_window, five_pages, tmp_path):
    import threading

    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(steps=steps))
    window.open_inputs([five_pages])
    qtbot.waitUntil(lambda: window.session.current is not None)
    assert list((tmp_path / "data" / "jobs").glob("queue-*.json"))
    window.actions_["cancel"].trigger()
    qtbot.waitUntil(lambda: not window.session.busy)
    assert not list((tmp_path / "data" / "jobs").glob("queue-*.json"))


def test_staying_keeps_reading(qtbot, make_window, picture, monkeypatch):
    import threading

    steps = threading.Semaphore(0)
    window = make_window(ScriptedEngine(steps=steps))
    window.open_inputs([picture()])
    qtbot.waitUntil(lambda: window.session.current is not None)
    monkeypatch.setattr(QMessageBox, "exec", lambda box: next(b for b in box.buttons() if b.text() == "Stay").click())
    assert not window.close()
    steps.release(1000)
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)


def test_the_history_is_searched_and_opened_without_reading_again(qtbot, make_window, picture):
    engine = ScriptedEngine()
    window = make_window(engine)
    read_all(qtbot, window, [picture("ferry.png"), picture("other.png")])
    history = window.keeper.history
    assert {p.name for p in history.search("ferry")} == {"ferry.png", "other.png"}  # both say "ferry office"
    assert [p.name for p in history.search("ferry.png")] == ["ferry.png"]
    assert history.search("passengers zebra") == [] and history.search("100%") == []
    past = history.search("ferry.png")[0]
    window.close_all = window.actions_["close_all"].trigger
    window.close_all()
    window.resume.open_past(past)
    assert window.model.item(0).state is PageState.DONE
    assert "ferry office" in window.panel.view.toPlainText()
    assert len(engine.read_pages) == 2


def test_a_damaged_history_is_told_and_stops_nothing(tmp_path):
    (tmp_path / "h.sqlite").write_bytes(b"not a database at all" * 100)
    history = HistoryStore(tmp_path / "h.sqlite")
    assert "h.sqlite" in history.problem.text and history.search() == []


# -- settings


def test_settings_are_kept_and_nonsense_in_the_file_is_passed_over(tmp_path):
    storage = QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat)
    store = SettingsStore(storage)
    store.set_read(dpi=200, preset="tiny")
    store.set_window(follow=False, appearance="dark")
    storage.setValue("window/threads", "many")
    storage.setValue("window/quant", "q3")
    storage.sync()
    again = SettingsStore(QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat))
    assert (again.read.dpi, again.read.preset) == (200, "tiny")
    assert (again.window.follow, again.window.appearance) == (False, "dark")
    assert (again.window.threads, again.window.quant) == (0, "")


def test_settings_on_the_command_line_hold_for_this_start_only(store):
    options = build_parser().parse_args(["--dpi", "150", "--no-follow", "--quant", "q4", "a.pdf", "--pages", "1-3"])
    assert options.files == ["a.pdf"]
    store.override(given(options, WindowSettings), given(options, ReadSettings))
    assert (store.read.dpi, store.read.pages, store.window.follow, store.window.quant) == (
        150,
        "1-3",
        False,
        "q4",
    )
    store.set_window(text_size=15)
    assert store._window.follow is True and store._window.quant == ""
    with pytest.raises(InvalidRequest):
        store.override({}, {"dpi": 7})


def test_every_setting_has_a_flag_a_title_and_help():
    from dataclasses import fields

    from leggio.settings.table import READ_HELPS, READ_TITLES, visible_read_fields

    help_text = build_parser().format_help()
    for f in fields(WindowSettings):
        assert f"--{f.name.replace('_', '-')}" in help_text
        assert f.metadata["title"] and f.metadata["help"]
    for f in visible_read_fields():
        assert f"--{f.name.replace('_', '-')}" in help_text
        assert READ_TITLES[f.name] and READ_HELPS[f.name]


def test_the_settings_window_stores_what_was_changed(qtbot, window, store):
    dialog = SettingsDialog(store, {}, window)
    qtbot.addWidget(dialog)
    dialog._read._widgets["dpi"].setValue(240)
    dialog._window._widgets["follow"].setChecked(False)
    dialog._take()
    assert dialog.result() == QDialog.DialogCode.Accepted and not dialog.engine_changed
    assert store.read.dpi == 240 and store.window.follow is False
    assert store.read.prompt is None and store.read.preset is None
    other = SettingsDialog(store, {}, window)
    qtbot.addWidget(other)
    other._engine._widgets["threads"].setValue(1)
    other._take()
    assert other.engine_changed and store.window.threads == 1


def test_an_engine_that_cannot_be_opened_is_told_and_the_window_lives(qtbot, make_window, picture, store):
    def refuse():
        raise ModelNotFound("There is no model file /x/y.uocr.")

    window = make_window(refuse, model="/x/y.uocr")
    assert "no model file" in window.desk.notice.text
    assert window.desk.notice.choices() == ["Use the built-in model"]
    window.open_inputs([picture()])
    qtbot.waitUntil(lambda: window.model.rowCount() == 1)
    assert window.model.item(0).state is PageState.WAITING
    engine = ScriptedEngine()
    window._factory = lambda _: lambda: engine
    window.use_built_in()
    qtbot.waitUntil(lambda: window.model.item(0).state is PageState.DONE)


def test_the_windows_places_are_kept(make_window, store):
    window = make_window(ScriptedEngine())
    window.resize(900, 640)
    window.actions_["show_views"].setChecked(True)
    window.shut_down()
    again = make_window(ScriptedEngine())
    again.shut_down()
    assert again.actions_["show_views"].isChecked()
    assert isinstance(store.place("geometry"), type(window.saveGeometry()))


# -- about and diagnostics


def test_the_diagnostics_file_holds_nothing_of_the_documents(qtbot, window, picture, tmp_path, store):
    read_all(qtbot, window, [picture("secret-name.png")])
    store.set_read(prompt="<image>my private question")
    store.set_window(model="/home/somebody/secret.uocr")
    save_diagnostics(tmp_path / "d.json", window.session.facts, store)
    text = (tmp_path / "d.json").read_text()
    for secret in ("secret-name", "ferry", "private question", "somebody", str(tmp_path)):
        assert secret not in text
    record = json.loads(text)
    assert record["versions"]["Leggio"] and record["reading"]["prompt"] == "(own)"
    assert record["engine"]["profile"] == "q8"
    assert diagnostics(None, store)["engine"] == {}


def test_about_names_versions_and_licences(qtbot, window):
    dialog = AboutDialog(window.session.facts, window)
    qtbot.addWidget(dialog)
    from PySide6.QtWidgets import QPlainTextEdit

    text = dialog.findChild(QPlainTextEdit).toPlainText()
    assert "PyMuPDF" in text and "AGPL-3.0" in text and "Model: scripted" in text
