"""Every action in one table: words, shortcut, symbol, menu; and which of them toolbar and context menus hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtGui import QAction, QKeySequence

Standard = QKeySequence.StandardKey
Text = Any
"""A text marked for translation; QT_TRANSLATE_NOOP is declared to give an object."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One action. `short` is what the toolbar says; without it the action is in the menus alone."""

    name: str
    menu: str
    words: Text
    keys: Standard | str
    help: Text
    icon: str = ""
    short: Text = ""
    checkable: bool = False
    role: QAction.MenuRole = QAction.MenuRole.NoRole


MENUS: dict[str, Text] = {
    "file": QT_TRANSLATE_NOOP("Actions", "&File"),
    "edit": QT_TRANSLATE_NOOP("Actions", "&Edit"),
    "page": QT_TRANSLATE_NOOP("Actions", "&Page"),
    "view": QT_TRANSLATE_NOOP("Actions", "&View"),
    "window": QT_TRANSLATE_NOOP("Actions", "&Window"),
    "help": QT_TRANSLATE_NOOP("Actions", "&Help"),
}
SEPARATOR = "-"

ENTRIES: tuple[Entry | tuple[str, str], ...] = (
    Entry(
        "open",
        "file",
        QT_TRANSLATE_NOOP("Actions", "Open…"),
        Standard.Open,
        QT_TRANSLATE_NOOP("Actions", "Open pictures and PDFs"),
        "open",
        QT_TRANSLATE_NOOP("Actions", "Open"),
    ),
    Entry(
        "open_folder",
        "file",
        QT_TRANSLATE_NOOP("Actions", "Open folder…"),
        "Ctrl+Shift+O",
        QT_TRANSLATE_NOOP("Actions", "Open every picture and PDF of a folder"),
    ),
    Entry(
        "capture",
        "file",
        QT_TRANSLATE_NOOP("Actions", "Capture part of the screen"),
        "Ctrl+Shift+K",
        QT_TRANSLATE_NOOP("Actions", "Choose a part of the screen and read it"),
        "capture",
    ),
    ("-", "file"),
    Entry(
        "export",
        "file",
        QT_TRANSLATE_NOOP("Actions", "Export…"),
        "Ctrl+E",
        QT_TRANSLATE_NOOP("Actions", "Save the text in a file"),
        "export",
        QT_TRANSLATE_NOOP("Actions", "Export"),
    ),
    Entry(
        "history",
        "file",
        QT_TRANSLATE_NOOP("Actions", "History…"),
        "Ctrl+Shift+H",
        QT_TRANSLATE_NOOP("Actions", "Documents read before, with search"),
    ),
    ("-", "file"),
    Entry(
        "close_all",
        "file",
        QT_TRANSLATE_NOOP("Actions", "Close all documents"),
        "Ctrl+Shift+W",
        QT_TRANSLATE_NOOP("Actions", "Empty the list of pages"),
    ),
    Entry(
        "settings",
        "file",
        QT_TRANSLATE_NOOP("Actions", "Settings…"),
        Standard.Preferences,
        QT_TRANSLATE_NOOP("Actions", "How pages are read and how the window behaves"),
        role=QAction.MenuRole.PreferencesRole,
    ),
    Entry(
        "quit",
        "file",
        QT_TRANSLATE_NOOP("Actions", "Quit Leggio"),
        Standard.Quit,
        QT_TRANSLATE_NOOP("Actions", "Stop reading and leave"),
        role=QAction.MenuRole.QuitRole,
    ),
    Entry(
        "undo",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Undo"),
        Standard.Undo,
        QT_TRANSLATE_NOOP("Actions", "Take the last correction back"),
    ),
    Entry(
        "redo",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Redo"),
        Standard.Redo,
        QT_TRANSLATE_NOOP("Actions", "Make it again"),
    ),
    ("-", "edit"),
    Entry(
        "copy",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Copy"),
        Standard.Copy,
        QT_TRANSLATE_NOOP("Actions", "Copy the selection, or the text of the page"),
        "copy",
        QT_TRANSLATE_NOOP("Actions", "Copy"),
    ),
    Entry(
        "copy_markdown",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Copy as Markdown"),
        "Ctrl+Shift+C",
        QT_TRANSLATE_NOOP("Actions", "Copy the page with headings, tables and formulas as Markdown"),
    ),
    Entry(
        "copy_rich",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Copy as rich text"),
        "Ctrl+Alt+C",
        QT_TRANSLATE_NOOP("Actions", "Copy the page with headings and tables, for word processors"),
    ),
    Entry(
        "copy_all",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Copy text of all pages"),
        "Ctrl+Alt+Shift+C",
        QT_TRANSLATE_NOOP("Actions", "Copy the text of every page that was read"),
    ),
    Entry(
        "paste",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Paste picture or files"),
        Standard.Paste,
        QT_TRANSLATE_NOOP("Actions", "Open what is on the clipboard"),
    ),
    ("-", "edit"),
    Entry(
        "find",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Find…"),
        Standard.Find,
        QT_TRANSLATE_NOOP("Actions", "Find in the text of the page"),
    ),
    Entry(
        "find_next",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Find next"),
        Standard.FindNext,
        QT_TRANSLATE_NOOP("Actions", "Go to the next place found"),
    ),
    Entry(
        "next_doubtful",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Next doubtful word"),
        "Ctrl+D",
        QT_TRANSLATE_NOOP("Actions", "Go to the next word the model was unsure of"),
        "doubt",
        QT_TRANSLATE_NOOP("Actions", "Doubtful"),
    ),
    Entry(
        "correct",
        "edit",
        QT_TRANSLATE_NOOP("Actions", "Correct block"),
        "F2",
        QT_TRANSLATE_NOOP("Actions", "Edit the text of the chosen block"),
    ),
    Entry(
        "read",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Read"),
        "Ctrl+R",
        QT_TRANSLATE_NOOP("Actions", "Read the chosen pages, or all that were not read"),
        "read",
        QT_TRANSLATE_NOOP("Actions", "Read"),
    ),
    Entry(
        "read_with",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Read with other settings…"),
        "Ctrl+Shift+R",
        QT_TRANSLATE_NOOP("Actions", "Choose how these pages are read"),
    ),
    Entry(
        "pause",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Pause"),
        "Ctrl+Shift+P",
        QT_TRANSLATE_NOOP("Actions", "Hold reading, or go on"),
        "pause",
        QT_TRANSLATE_NOOP("Actions", "Pause"),
        checkable=True,
    ),
    Entry(
        "cancel",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Cancel reading"),
        "Ctrl+.",
        QT_TRANSLATE_NOOP("Actions", "Stop now; what was read is kept"),
        "stop",
        QT_TRANSLATE_NOOP("Actions", "Cancel"),
    ),
    ("-", "page"),
    Entry(
        "region",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Read a region"),
        "Ctrl+Shift+A",
        QT_TRANSLATE_NOOP("Actions", "Draw a rectangle on the page and read only that"),
        "region",
        QT_TRANSLATE_NOOP("Actions", "Region"),
        checkable=True,
    ),
    Entry(
        "rotate",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Turn right"),
        "Ctrl+]",
        QT_TRANSLATE_NOOP("Actions", "Turn the page by 90 degrees and read it that way"),
        "rotate",
    ),
    Entry(
        "rotate_left",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Turn left"),
        "Ctrl+[",
        QT_TRANSLATE_NOOP("Actions", "Turn the page by 90 degrees the other way"),
    ),
    Entry(
        "choose_pages",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Choose pages of the document…"),
        "Ctrl+Shift+G",
        QT_TRANSLATE_NOOP("Actions", "Keep only some pages, such as 1-3,7,-1"),
    ),
    Entry(
        "move_up",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Move up"),
        "Alt+Up",
        QT_TRANSLATE_NOOP("Actions", "Move the chosen pages towards the start"),
    ),
    Entry(
        "move_down",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Move down"),
        "Alt+Down",
        QT_TRANSLATE_NOOP("Actions", "Move the chosen pages towards the end"),
    ),
    Entry(
        "remove",
        "page",
        QT_TRANSLATE_NOOP("Actions", "Remove from list"),
        "Ctrl+Backspace",
        QT_TRANSLATE_NOOP("Actions", "The file itself stays where it is"),
    ),
    Entry(
        "zoom_in",
        "view",
        QT_TRANSLATE_NOOP("Actions", "Zoom in"),
        Standard.ZoomIn,
        QT_TRANSLATE_NOOP("Actions", "Show the page larger"),
        "zoom-in",
    ),
    Entry(
        "zoom_out",
        "view",
        QT_TRANSLATE_NOOP("Actions", "Zoom out"),
        Standard.ZoomOut,
        QT_TRANSLATE_NOOP("Actions", "Show the page smaller"),
        "zoom-out",
    ),
    Entry(
        "actual",
        "view",
        QT_TRANSLATE_NOOP("Actions", "Actual size"),
        "Ctrl+0",
        QT_TRANSLATE_NOOP("Actions", "One page pixel on one screen pixel"),
    ),
    Entry(
        "fit",
        "view",
        QT_TRANSLATE_NOOP("Actions", "Fit page"),
        "Ctrl+9",
        QT_TRANSLATE_NOOP("Actions", "Show the whole page"),
        "fit",
    ),
    Entry(
        "fit_width",
        "view",
        QT_TRANSLATE_NOOP("Actions", "Fit width"),
        "Ctrl+8",
        QT_TRANSLATE_NOOP("Actions", "Make the page as wide as its part of the window"),
    ),
    ("-", "view"),
    Entry(
        "show_blocks",
        "view",
        QT_TRANSLATE_NOOP("Actions", "Blocks"),
        "Ctrl+B",
        QT_TRANSLATE_NOOP("Actions", "Draw a box around every block of text"),
        "boxes",
        QT_TRANSLATE_NOOP("Actions", "Blocks"),
        checkable=True,
    ),
    Entry(
        "show_views",
        "view",
        QT_TRANSLATE_NOOP("Actions", "What the model sees"),
        "Ctrl+Alt+V",
        QT_TRANSLATE_NOOP("Actions", "Draw the frames that are cut from the page for the model, and what they cost"),
        "views",
        QT_TRANSLATE_NOOP("Actions", "Views"),
        checkable=True,
    ),
    Entry(
        "show_marks",
        "view",
        QT_TRANSLATE_NOOP("Actions", "Places for a second look"),
        "Ctrl+Alt+L",
        QT_TRANSLATE_NOOP("Actions", "Mark ink outside every block, and blocks without ink"),
        checkable=True,
    ),
    ("-", "view"),
    Entry(
        "source",
        "view",
        QT_TRANSLATE_NOOP("Actions", "Markdown source"),
        "Ctrl+U",
        QT_TRANSLATE_NOOP("Actions", "Show the text as Markdown instead of rendered"),
        "page",
        QT_TRANSLATE_NOOP("Actions", "Source"),
        checkable=True,
    ),
    Entry(
        "minimize",
        "window",
        QT_TRANSLATE_NOOP("Actions", "Minimise"),
        "Ctrl+M",
        QT_TRANSLATE_NOOP("Actions", "Put the window away"),
    ),
    Entry(
        "full_screen",
        "window",
        QT_TRANSLATE_NOOP("Actions", "Full screen"),
        Standard.FullScreen,
        QT_TRANSLATE_NOOP("Actions", "Use the whole screen"),
        checkable=True,
    ),
    Entry(
        "models",
        "window",
        QT_TRANSLATE_NOOP("Actions", "Models…"),
        "Ctrl+Shift+M",
        QT_TRANSLATE_NOOP("Actions", "Download, choose and remove models"),
    ),
    Entry(
        "diagnostics",
        "help",
        QT_TRANSLATE_NOOP("Actions", "Save diagnostics file…"),
        "Ctrl+Shift+D",
        QT_TRANSLATE_NOOP("Actions", "Versions and settings for a bug report; nothing of your documents"),
    ),
    Entry(
        "about",
        "help",
        QT_TRANSLATE_NOOP("Actions", "About Leggio"),
        "F1",
        QT_TRANSLATE_NOOP("Actions", "Versions and licences"),
        role=QAction.MenuRole.AboutRole,
    ),
)

TOOLBAR = (
    "open",
    SEPARATOR,
    "read",
    "pause",
    "cancel",
    SEPARATOR,
    "zoom_out",
    "zoom_in",
    "fit",
    "rotate",
    "region",
    SEPARATOR,
    "show_blocks",
    "show_views",
    "",
    "next_doubtful",
    "source",
    "copy",
    "export",
)
""""" is a stretch: what follows stands on the right."""


PAGE_MENU = (
    "read",
    "read_with",
    "",
    "rotate",
    "rotate_left",
    "choose_pages",
    "",
    "export",
    "copy_markdown",
    "",
    "move_up",
    "move_down",
    "remove",
)
TEXT_MENU = ("copy", "copy_markdown", "copy_rich", "", "correct", "next_doubtful", "find")
"""What a right click on a page and on the text offers; "" is a line."""
