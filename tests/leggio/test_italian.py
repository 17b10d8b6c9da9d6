"""In an Italian window no English sentence stands where errors are told; uocr's exact words are in the hover."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator

import pytest
from leggio.export.clipboard import copy
from leggio.history.store import HistoryStore
from leggio.look.told import Told, notes_told, system_reason, told
from leggio.models.sheet import ModelSheet
from leggio.pages.items import PageState
from leggio.pages.wording import describe, explain
from leggio.settings.dialog import SettingsDialog
from PySide6 import QtWidgets
from PySide6.QtCore import QMimeData
from uocr import errors
from uocr.document import FinishReason

from .scripted import ScriptedEngine, unsure_engine
from .test_export import choice, write
from .test_reading import drop, read_all
from .test_sources import damaged, encrypted, gigantic_pdf

ENGLISH = re.compile(
    r"\b(the|is|are|was|were|cannot|could|not|with|this|that|there|has|have|and|of|in it|be|to|needs)\b", re.IGNORECASE
)
"""Words that no English sentence of uocr does without, none of them Italian."""


def english_in(text: str) -> list[str]:
    return ENGLISH.findall(text)


@pytest.fixture(autouse=True)
def italian(qapp) -> Iterator[None]:
    assert qapp.set_language("it")
    yield
    qapp.set_language("en")


def every_error() -> list[Exception]:
    """One of every class of uocr.errors, with what it carries; the message stands for any English sentence."""
    words = "The thing is not there and cannot be used."
    found: list[Exception] = []
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.UocrError):
            found.append(kind(words))
    for reason in ("offline", "terms", "unknown", "certificate", "authority", "proxy", "silent", "network", "broken"):
        found.append(errors.DownloadError(words, reason))
    found += [errors.DownloadError(words, reason) for reason in ("disk", "hash", "busy", "503")]
    found.append(errors.OverBudget(words, {"KV cache": 9}, 9_000_000_000, 4_000_000_000))
    found.append(errors.JournalMismatch(words, ("file", "settings", "model", "engine")))
    for number in (errno.ENOSPC, errno.EACCES, errno.ENOENT, errno.EROFS, errno.EIO):
        for wrapped in (errors.OutputFailed(words), errors.UnreadableFile(words)):
            wrapped.__cause__ = OSError(number, "words of the system")
            found.append(wrapped)
    return [*found, ValueError(words)]


@pytest.mark.parametrize("error", every_error(), ids=lambda e: type(e).__name__)
def test_every_error_is_told_in_italian_with_its_exact_words_on_hover(error):
    said = told(error, "pagina.png")
    assert said.text and english_in(said.text) == [], said.text
    assert said.detail == "The thing is not there and cannot be used."


def test_what_an_error_carries_is_in_its_italian_sentence():
    refused = errors.OverBudget("x", {}, 9_000_000_000, 4_000_000_000)
    assert told(refused, "a.png").text == "a.png richiede 9,00 GB di memoria, il limite è 4,00 GB."
    full = errors.OutputFailed("x")
    full.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert told(full, "a.md").text == (
        "a.md non può essere scritto: il disco è pieno. Il testo è al sicuro; scegli un altro posto."
    )
    assert told(errors.JournalMismatch("x", ("file",))).text == "dopo la lettura è cambiato: il file."
    assert told(PermissionError(errno.EACCES, "Permission denied"), "a.json").text == (
        "a.json non può essere aperto: il permesso è negato."
    )
    assert system_reason(OSError(errno.EROFS, "Read-only")) == "il disco è di sola lettura"


def test_an_english_window_shows_the_exact_words(qapp):
    qapp.set_language("en")
    assert told(errors.TooLarge("a.png is too large."), "a.png") == Told("a.png is too large.")
    assert notes_told(["a box is empty", "second"]) == Told("A box is empty. Second.")


def refuse(number: int) -> str:
    raise errors.OverBudget("This page needs too much.", {"KV cache": 5}, 9_000_000_000, 4_000_000_000)


@pytest.mark.parametrize(
    "kind",
    [
        *("words", "empty", "half", "gone", "encrypted", "gigantic"),
        *("refused", "cut", "loop", "blank", "problems", "unsure"),
    ],
)
def test_pages_that_were_not_read_well_are_explained_in_italian(qtbot, make_window, picture, tmp_path, kind):
    finish = {"cut": FinishReason.LENGTH, "loop": FinishReason.LOOP}.get(kind, FinishReason.EOS)
    scripts = {"refused": refuse, "blank": lambda n: "", "problems": lambda n: "<|det|>text [5, 5, 5]<|/det|>words"}
    script = scripts.get(kind)
    engine = ScriptedEngine(script, finish=finish) if script else ScriptedEngine(finish=finish)
    window = make_window(unsure_engine() if kind == "unsure" else engine)
    if kind in ("words", "empty", "half", "gone"):
        path = damaged(tmp_path, kind)
    elif kind == "encrypted":
        path = encrypted(tmp_path / "chiuso.pdf")
    else:
        path = gigantic_pdf(tmp_path / "enorme.pdf") if kind == "gigantic" else picture("pagina.png")
    read_all(qtbot, window, [path])
    item = window.model.item(0)
    notice = window.panel.notice
    assert notice.text and english_in(notice.text) == [], notice.text
    assert english_in(describe(item)) == [], describe(item)
    assert all(english_in(words) == [] for words in notice.choices())
    if item.state is PageState.FAILED or kind == "problems":
        assert notice.detail and notice.detail == explain(item).detail


def test_refused_inputs_are_told_in_italian(qtbot, window, tmp_path, picture, monkeypatch):
    notice = window.desk.notice
    (tmp_path / "vuota").mkdir()
    window.open_inputs([tmp_path / "vuota"])
    qtbot.waitUntil(lambda: "vuota" in notice.text)
    assert notice.text == "La cartella vuota non contiene né immagini né PDF."
    nothing = QMimeData()
    nothing.setText("words")
    drop(window, nothing)
    assert english_in(notice.text) == []
    read_all(qtbot, window, [picture("a.png")])
    monkeypatch.setattr(QtWidgets.QInputDialog, "getText", lambda *a, **k: ("9-x", True))
    window.actions_["choose_pages"].trigger()
    assert notice.text == "9-x non è una scelta tra le 1 pagine di a.png; scrivila come 1-3,7,-1."
    assert "9-x" in notice.detail


def test_a_model_that_cannot_be_opened_is_told_in_italian(make_window):
    def fail():
        raise errors.ModelNotFound("There is no model file /x/y.uocr.")

    window = make_window(fail, model="/x/y.uocr")
    assert window.desk.notice.text == "/x/y.uocr: su questo computer non c'è un modello con questo nome."
    assert window.desk.notice.detail == "There is no model file /x/y.uocr."


def test_exports_that_fail_or_have_remarks_are_told_in_italian(qtbot, window, tmp_path, picture):
    read_all(qtbot, window, [picture("a.png")])
    write(qtbot, window, tmp_path / "non" / "qui.txt", choice("txt"))
    assert english_in(window.panel.notice.text) == [] and "qui.txt" in window.panel.notice.text
    window.model.item(0).page.blocks[0].text += "\x07"
    write(qtbot, window, tmp_path / "b.docx", choice("docx"))
    assert english_in(window.panel.notice.text) == []
    assert "control" in window.panel.notice.detail


def test_dialogs_tell_their_problems_in_italian(qtbot, window, store, tmp_path, monkeypatch):
    settings = SettingsDialog(store, {}, window)
    qtbot.addWidget(settings)
    monkeypatch.setattr(store, "set_read", lambda **_: (_ for _ in ()).throw(errors.InvalidRequest("dpi is 7.")))
    settings._read._widgets["dpi"].setValue(80)
    settings._take()
    assert settings._problem.text() == "Uno dei valori in Lettura non ha senso."
    assert settings._problem.toolTip() == "dpi is 7."
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path))
    sheet = ModelSheet("built-in", None, window)
    qtbot.addWidget(sheet)
    sheet._failed(errors.DownloadError("No network: hub cannot be reached.", "network"))
    assert sheet._disk.text() == "Non c'è rete. Ciò che è arrivato è conservato."
    assert sheet._disk.toolTip() == "No network: hub cannot be reached."


def test_a_damaged_history_is_told_in_italian(tmp_path):
    file = tmp_path / "storia.sqlite"
    file.write_bytes(b"no database" * 100)
    said = HistoryStore(file).problem.text
    assert said == f"La cronologia {file} non può essere usata. Sposta il file per cominciarne una nuova."


def test_copying_nothing_is_told_in_italian(qtbot):
    assert copy("") == (False, "Non c'è ancora testo da copiare.")


def test_an_unwritable_journal_is_told_in_italian(qtbot, make_window, tmp_path, picture):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "jobs").write_text("a file stands where the folder should be")
    window = make_window(ScriptedEngine())
    read_all(qtbot, window, [picture()])
    notice = window.desk.notice
    assert (
        notice.text == "Ciò che si legge non può essere conservato per un altro avvio; la lettura va avanti comunque."
    )
    assert "jobs" in notice.detail and window.model.item(0).state is PageState.DONE


def test_the_hover_of_a_notice_goes_with_it(window):
    window.panel.notice.tell(Told("Breve.", "Short, exactly."))
    assert window.panel.notice.detail == "Short, exactly."
    assert window.panel.notice.accessibleDescription() == "Short, exactly."
    window.panel.notice.tell("Altro.")
    assert window.panel.notice.detail == ""


def test_a_model_over_the_budget_and_pages_left_out_are_told_in_italian(qtbot, window, tmp_path, picture):
    alone = errors.OverBudget("x", {"model views": 26_000_000}, 26_000_000, 20_000_000)
    assert told(alone, "built-in").text == (
        "Il solo modello richiede 26,0 MB di memoria, il limite è 20,0 MB: alzalo nelle Impostazioni."
    )
    assert told(errors.ModelError("x"), "built-in").text.startswith("Il modello incluso: ")
    read_all(qtbot, window, [picture("a.png"), picture("b.png")])
    failed = window.model.item(1)
    failed.page.blocks, failed.page.finish_reason = [], FinishReason.ERROR
    write(qtbot, window, tmp_path / "out.txt", choice("txt"))
    assert "Lasciate fuori perché non è stato possibile leggerle: pagine di b.png (1)." in window.panel.notice.text
