"""Every dialog, and the window, in both languages: nothing cut off, a name on every control, a hover over every
setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from leggio.export.dialog import ExportDialog
from leggio.history.dialog import HistoryDialog
from leggio.look.units import bytes_text, number_text, share_text
from leggio.models.sheet import ModelSheet
from leggio.pages.items import PageState
from leggio.settings.dialog import ReadWithDialog, SettingsDialog
from leggio.settings.form import SettingsForm
from leggio.window.about import AboutDialog
from leggio.window.main_window import MainWindow
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QMenuBar,
    QPlainTextEdit,
    QSpinBox,
    QTabBar,
    QTabWidget,
    QTextEdit,
    QToolBar,
    QToolButton,
    QWidget,
)

from .test_reading import read_all

MAKERS: dict[str, Callable[[MainWindow], QDialog]] = {
    "export": lambda w: ExportDialog({"page": 1, "document": 3, "all": 5}, w, text_layer=True),
    "settings": lambda w: SettingsDialog(w.store, {"trained_presets": ["base", "gundam"]}, w),
    "read with": lambda w: ReadWithDialog(w.store.read, 2, {"multi_page": True}, w),
    "models": lambda w: ModelSheet("built-in", None, w),
    "history": lambda w: HistoryDialog(w.keeper.history, w),
    "about": lambda w: AboutDialog(w.session.facts, w),
}


@pytest.fixture(params=["en", "it"])
def language(qapp, request) -> Iterator[str]:
    qapp.set_language(request.param)
    yield request.param
    qapp.set_language("en")


@pytest.fixture
def opened(qtbot, language, make_window, engine, picture, monkeypatch, tmp_path, request) -> QWidget:
    """A dialog by its name, shown over a window that has read a page; "window" is the window itself."""
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path / "cache"))
    window = make_window(engine)
    read_all(qtbot, window, [picture("a page with a rather long name.png")])
    if request.param == "window":
        window.resize(1280, 800)
        return window
    dialog = MAKERS[request.param](window)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def all_tabs(widget: QWidget) -> Iterator[None]:
    """Once for every tab, with that tab in front; once without tabs."""
    tabs = widget.findChild(QTabWidget)
    for index in range(tabs.count() if tabs is not None else 1):
        if tabs is not None:
            tabs.setCurrentIndex(index)
        yield


@pytest.mark.parametrize("opened", [*MAKERS, "window"], indirect=True)
def test_nothing_is_cut_off(opened):
    cut = []
    for _ in all_tabs(opened):
        for widget in opened.findChildren(QWidget):
            if not widget.isVisible() or not isinstance(widget, QAbstractButton | QLabel | QComboBox | QSpinBox):
                continue
            if isinstance(widget, QLabel) and (widget.wordWrap() or not widget.text()):
                enough = widget.heightForWidth(widget.width()) <= widget.height() + 1 or not widget.text()
            else:
                enough = widget.sizeHint().width() <= widget.width() + 1
            inside = widget.window().rect().contains(widget.mapTo(widget.window(), widget.rect().bottomRight()))
            if not (enough and inside):
                cut.append((type(widget).__name__, getattr(widget, "text", widget.objectName)()))
    assert cut == []


@pytest.mark.parametrize("opened", [*MAKERS, "window"], indirect=True)
def test_every_control_has_an_accessible_name(opened):
    kinds = (QAbstractButton, QAbstractItemView, QComboBox, QLineEdit, QSpinBox, QTextEdit, QPlainTextEdit)
    nameless = []
    for widget in opened.findChildren(QWidget):
        if isinstance(widget, kinds) and not made_by_qt(widget):
            name = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
            if not name:
                nameless.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")
    assert nameless == []


def made_by_qt(widget: QWidget) -> bool:
    """Whether Qt made it inside a control of ours, such as the clear button of a field."""
    above = widget.parent()
    while above is not None:
        if isinstance(above, QLineEdit | QSpinBox | QComboBox | QTabBar | QMenuBar):
            return True
        above = above.parent()
    return widget.objectName() == "qt_toolbar_ext_button"


@pytest.mark.parametrize("opened", ["settings", "read with"], indirect=True)
def test_every_setting_explains_itself_on_hover(opened):
    for form in opened.findChildren(SettingsForm):
        for name, widget in form._widgets.items():
            assert len(widget.toolTip()) > 8, name
            label = form.layout().labelForField(widget)
            assert label is None or not label.text() or label.toolTip() == widget.toolTip(), name
        assert isinstance(form.layout(), QFormLayout)


@pytest.mark.parametrize("opened", ["window"], indirect=True)
def test_every_button_and_number_of_the_window_explains_itself_on_hover(opened):
    window = opened
    buttons = [b for b in window.findChildren(QToolButton) if b.isVisible() and isinstance(b.parent(), QToolBar)]
    assert len(buttons) > 15 and all(len(b.toolTip()) > 8 for b in buttons)
    strip = window.strip
    for label in (strip._tokens, strip._detail, strip._backend, strip._memory, strip._estimate, strip.rate):
        assert len(label.toolTip()) > 8, label
    assert all(item.toolTip() for items in window.desk.canvas._blocks.values() for item in items)
    assert window.model.item(0).state is PageState.DONE


def test_numbers_have_the_marks_of_the_language(language):
    told = (number_text(10_360), number_text(3.25, 1), bytes_text(6_900_000_000), share_text(0.25))
    assert (
        told
        == {
            "en": ("10,360", "3.3", "6.90 GB", "25%"),
            "it": ("10.360", "3,3", "6,90 GB", "25%"),
        }[language]
    )


def test_qts_own_words_are_translated_too(qtbot, language, window):
    dialog = AboutDialog(None, window)
    qtbot.addWidget(dialog)
    words = {b.text().replace("&", "") for b in dialog.findChildren(QAbstractButton)}
    assert words == {{"en": "Close", "it": "Chiudi"}[language]}
