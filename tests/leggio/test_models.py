"""The sheet of models: what is here, what getting another takes, its way here, removing it."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from leggio.look.languages import languages_text
from leggio.look.units import duration_text
from leggio.models import sheet as sheets
from leggio.models.pull import Puller, PullState
from PySide6.QtWidgets import QLabel, QMessageBox
from uocr import languages
from uocr.errors import Cancelled, DownloadError
from uocr.modelfile import ModelFile

from tests.conftest import BUILT_IN

from .scripted import ScriptedEngine


def test_a_model_is_fetched_paused_and_stopped(qtbot, tmp_path):
    going = threading.Event()

    def pull(name, profile, *, progress, keep_going):
        for done in range(0, 101, 10):
            going.wait(0.01)
            if not keep_going():
                raise Cancelled("stopped")
            progress("download", done, 100)
        return tmp_path / "m.uocr"

    puller = Puller("a/b", "q4", pull=pull)
    told: list[PullState] = []
    puller.told.connect(told.append)
    with qtbot.waitSignal(puller.done) as done:
        puller.start()
    assert done.args == [tmp_path / "m.uocr"] and told[-1].done == 100
    puller.wait(10)

    stopped = Puller("a/b", "q4", pull=pull)
    stopped.pause()
    stopped.start()
    qtbot.wait(50)
    assert stopped.running and stopped.paused
    with qtbot.waitSignal(stopped.failed) as failed:
        stopped.stop()
    assert isinstance(failed.args[0], Cancelled)
    stopped.wait(10)


def test_the_sheet_of_models_tells_a_failure_in_its_own_place(qtbot, window, monkeypatch, tmp_path):
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path))

    def pull(name, profile, **_):
        raise DownloadError("The hub cannot be reached: no network. Try again when you are online.")

    monkeypatch.setattr(sheets, "Puller", lambda name, profile, parent: Puller(name, profile, parent, pull=pull))
    sheet = sheets.ModelSheet("built-in", None, window)
    qtbot.addWidget(sheet)
    assert [sheet._list.item(i).text() for i in range(sheet._list.count())] == [
        "Built-in model: clean printed Latin text (in use)"
    ]
    assert sheet._disk.text().startswith("Downloads about 6.70 GB; needs about 8.84 GB of disk for a while, ")
    sheet._get.click()
    qtbot.waitUntil(lambda: "no network" in sheet._disk.text())
    assert not sheet._get.isHidden() and sheet.puller is None


def test_the_sheet_of_models_asks_the_hub_how_large_the_model_is(qtbot, window, monkeypatch, tmp_path):
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path))
    monkeypatch.setattr("uocr.models.checkpoint_bytes", lambda name: 6_672_000_000)
    part = tmp_path / "downloads" / "baidu--Unlimited-OCR" / "0a" / "model.safetensors.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(bytes(1_500_000))
    sheet = sheets.ModelSheet("built-in", None, window)
    qtbot.addWidget(sheet)
    qtbot.waitUntil(lambda: sheet._disk.text().startswith("Downloads 6.67 GB; needs 8.81 GB of disk for a while, "))
    assert "1.50 MB of it are here already: Get goes on from there." in sheet._disk.text()
    assert sheet._profile.itemText(0) == "q4: about 2.07 GB when done"


def test_a_download_that_ends_after_its_sheet_was_closed_is_told(qtbot, window, monkeypatch, tmp_path):
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path))
    going = threading.Event()

    def pull(name, profile, **_):
        going.wait(10)
        return tmp_path / "models" / "baidu--Unlimited-OCR" / "q4.uocr"

    monkeypatch.setattr(sheets, "Puller", lambda name, profile, parent: Puller(name, profile, parent, pull=pull))
    monkeypatch.setattr(sheets.ModelSheet, "exec", lambda sheet: sheet._get.click())
    window.actions_["models"].trigger()
    assert window.sheets._puller.running
    going.set()
    qtbot.waitUntil(lambda: window.desk.notice.text == "baidu/Unlimited-OCR q4 is ready to be used.")
    assert window.sheets._puller is None


@pytest.fixture
def installed(monkeypatch, tmp_path) -> Path:
    """A cache with two converted models."""
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path))
    folder = tmp_path / "models" / "baidu--Unlimited-OCR"
    folder.mkdir(parents=True)
    for profile, size in (("q4", 2_000_000), ("q8", 3_500_000)):
        (folder / f"{profile}.uocr").write_bytes(bytes(size))
        record = {"name": "baidu/Unlimited-OCR", "profile": profile, "model_id": "ab" * 32, "revision": "cd" * 20}
        (folder / f"{profile}.json").write_text(json.dumps(record))
    return folder


def rows(sheet: sheets.ModelSheet) -> list[str]:
    return [sheet._list.item(i).text() for i in range(sheet._list.count())]


def test_installed_models_are_listed_used_and_removed(qtbot, window, installed, monkeypatch):
    sheet = sheets.ModelSheet("baidu/Unlimited-OCR q4", None, window)
    qtbot.addWidget(sheet)
    assert rows(sheet) == [
        "Built-in model: clean printed Latin text",
        "baidu/Unlimited-OCR · q4 · 2.00 MB (in use)",
        "baidu/Unlimited-OCR · q8 · 3.50 MB",
    ]
    wanted: list[tuple[str, str]] = []
    sheet.use_wanted.connect(lambda *what: wanted.append(what))
    sheet._list.setCurrentRow(1)
    assert not sheet._use.isEnabled() and sheet._remove.isEnabled()
    sheet._list.setCurrentRow(2)
    sheet._use.click()
    assert wanted == [("baidu/Unlimited-OCR", "q8")] and "3.50 MB (in use)" in rows(sheet)[2]
    monkeypatch.setattr(QMessageBox, "question", lambda *a: QMessageBox.StandardButton.Yes)
    sheet._list.setCurrentRow(2)
    sheet._remove.click()
    assert len(rows(sheet)) == 2 and not (installed / "q8.uocr").exists()
    assert sheet._disk.text() == "3.50 MB are free again."
    assert wanted[-1] == ("built-in", "")  # the model in use went: the built-in one takes its place
    sheet._list.setCurrentRow(0)
    assert not sheet._remove.isEnabled()


def test_using_a_model_opens_it(qtbot, window, store, installed, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(sheets.ModelSheet, "exec", lambda sheet: sheet.use_wanted.emit("baidu/Unlimited-OCR", "q4"))
    window._factory = lambda chosen: (opened.append(f"{chosen.window.model} {chosen.window.quant}"), lambda: None)[1]
    monkeypatch.setattr(window.session, "open_engine", lambda factory: None)
    window.actions_["models"].trigger()
    assert opened == ["baidu/Unlimited-OCR q4"]


def test_a_download_is_paused_resumed_and_stopped_in_the_sheet(qtbot, window, monkeypatch, tmp_path):
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path))
    monkeypatch.setattr("leggio.models.pull._TELL_S", 0.0)
    turn = threading.Semaphore(0)

    def pull(name, profile, *, progress, keep_going):
        for done in range(1_000_000_000, 7_000_000_000, 1_000_000_000):
            turn.acquire(timeout=20)
            if not keep_going():
                raise Cancelled("stopped")
            progress("download", done, 6_700_000_000)
        return tmp_path / "m.uocr"

    monkeypatch.setattr(sheets, "Puller", lambda name, profile, parent: Puller(name, profile, parent, pull=pull))
    sheet = sheets.ModelSheet("built-in", None, window)
    qtbot.addWidget(sheet)
    sheet._profile.setCurrentIndex(1)
    sheet._get.click()
    assert sheet.puller.profile == "q8" and sheet._get.isHidden() and not sheet._pause.isHidden()
    turn.release()
    qtbot.waitUntil(lambda: sheet._disk.text() == "Downloading: 1.00 GB of 6.70 GB")
    assert sheet._bar.value() == 149
    sheet._pause.click()
    assert sheet._pause.text() == "Resume" and sheet._disk.text().startswith("Paused.")
    turn.release()
    qtbot.wait(50)
    assert sheet._bar.value() == 149
    sheet._pause.click()
    qtbot.waitUntil(lambda: sheet._bar.value() == 299)
    puller = sheet.puller
    sheet._stop.click()
    turn.release()
    qtbot.waitUntil(lambda: sheet._disk.text() == "Stopped. What was downloaded is kept; Get goes on from there.")
    puller.wait(10)
    assert not puller.running and not sheet._get.isHidden()


def test_a_sheet_that_is_opened_again_shows_the_download_in_progress(qtbot, window, monkeypatch, tmp_path):
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path))
    going = threading.Event()
    puller = Puller("baidu/Unlimited-OCR", "q4", window, pull=lambda *a, **k: going.wait(20) and tmp_path / "m.uocr")
    puller.start()
    puller.pause()
    sheet = sheets.ModelSheet("built-in", puller, window)
    qtbot.addWidget(sheet)
    assert sheet._get.isHidden() and sheet._pause.text() == "Resume"
    going.set()
    qtbot.waitUntil(lambda: "is ready" in sheet._disk.text())
    puller.wait(10)


def test_quitting_does_not_wait_for_a_silent_hub(window, tmp_path):
    hang = threading.Event()
    window.sheets._puller = Puller("a/b", "q4", window, pull=lambda *a, **k: hang.wait(30))
    window.sheets._puller.start()
    window.sheets._puller.wait = lambda seconds: waited.append(seconds)
    waited: list[float] = []
    assert window.close()
    assert waited == [2.0]
    hang.set()


@pytest.mark.parametrize(("seconds", "words"), [(20, "1 min"), (3000, "50 min"), (7500, "2 h 05 min")])
def test_the_time_that_is_left_is_told_as_people_do(seconds, words):
    assert duration_text(seconds) == words


def test_the_welcome_and_the_sheet_say_which_languages_the_open_model_reads(qtbot, make_window, qapp):
    engine = ScriptedEngine()
    engine.front_end["languages"] = ["en", "hu", "xx"]
    window = make_window(engine)
    said = "The open model reads English, Hungarian, xx. Other languages in Latin letters come out with wrong accents"
    qtbot.waitUntil(lambda: window._welcome._languages.text().startswith(said))
    sheet = window.sheets.model_sheet()
    qtbot.addWidget(sheet)
    assert any(label.text().startswith(said) for label in sheet.findChildren(QLabel))
    assert languages_text({}) == languages_text({"languages": []}) == ""


def test_every_language_of_the_built_in_model_has_a_name():
    with ModelFile.open(BUILT_IN) as file:
        codes = languages.codes(file.front_end)
    assert len(codes) == 12 and set(codes) <= set(languages.NAMES)
    assert {languages_text({"languages": [code]}).split(".")[0][-2:] for code in codes}.isdisjoint(codes)
