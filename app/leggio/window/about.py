"""Versions and licences, and the file that goes with a bug report."""

from __future__ import annotations

import dataclasses
import json
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QLocale, Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

import leggio
from leggio.reading.engine import EngineFacts
from leggio.settings.store import SettingsStore

translate = QCoreApplication.translate

PARTS = (
    ("PySide6_Essentials", "LGPL-3.0"),
    ("PyMuPDF", "AGPL-3.0"),
    ("pillow", "MIT-CMU"),
    ("numpy", "BSD-3-Clause"),
    ("cffi", "MIT-0"),
    ("tokenizers", "Apache-2.0"),
    ("pi_heif", "BSD-3-Clause"),
    ("ziamath", "MIT"),
    ("markdown-it-py", "MIT"),
    ("nh3", "MIT"),
    ("python-docx", "MIT"),
    ("huggingface_hub", "Apache-2.0"),
    ("platformdirs", "MIT"),
)


def versions() -> dict[str, str]:
    """Version by part; parts that are not installed are left out."""
    found = {"Leggio": leggio.__version__, "Python": platform.python_version(), "Qt": qVersion()}
    for name, _ in PARTS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


class AboutDialog(QDialog):
    """Who made what, under which licence."""

    def __init__(self, facts: EngineFacts | None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(translate("About", "About Leggio"))
        title = QLabel(f"Leggio {leggio.__version__}", self)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 1.6)
        font.setBold(True)
        title.setFont(font)
        words = QLabel(translate("About", "Reads pages on this machine. Nothing you open leaves it."), self)
        words.setWordWrap(True)
        licence = QLabel(
            translate("About", "The window and the uocr package: AGPL-3.0-or-later. The engine: Apache-2.0."),
            self,
        )
        licence.setWordWrap(True)
        parts = QPlainTextEdit(self)
        parts.setReadOnly(True)
        lines = licence_lines(facts)
        parts.setPlainText("\n".join(lines))
        parts.setAccessibleName(translate("About", "Parts and licences"))
        margins = 2 * (parts.document().documentMargin() + parts.frameWidth())
        parts.setMinimumHeight(int(parts.fontMetrics().lineSpacing() * len(lines) + margins + 2))
        parts.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        box = QVBoxLayout(self)
        box.setContentsMargins(24, 20, 24, 18)
        box.setSpacing(12)
        for part in (title, words, licence, parts, buttons):
            box.addWidget(part)
        self.setMinimumWidth(max(480, self.sizeHint().width()))
        self.setWindowModality(Qt.WindowModality.WindowModal)


def licence_lines(facts: EngineFacts | None) -> list[str]:
    found, licences = versions(), dict(PARTS)
    lines = [
        f"{name} {version}" + (f"  —  {licences[name]}" if name in licences else "") for name, version in found.items()
    ]
    if facts is not None:
        lines.append(translate("About", "Model: {0} ({1})").format(facts.name, facts.info.model_id[:16]))
    return lines


def diagnostics(facts: EngineFacts | None, store: SettingsStore) -> dict[str, Any]:
    """What helps with a bug report. No document, no file name, no text, no prompt, no password."""
    window = dataclasses.asdict(store.window)
    read = store.read.recorded()
    read["prompt"] = "(own)" if read.get("prompt") else None
    read["region"] = None
    if window["model"] not in ("built-in",) and ("/" in window["model"] or window["model"].endswith(".uocr")):
        window["model"] = Path(window["model"]).name
    screens = [
        {"pixels": [s.size().width(), s.size().height()], "scale": s.devicePixelRatio()}
        for s in QGuiApplication.screens()
    ]
    engine: dict[str, Any] = {}
    if facts is not None:
        engine = dataclasses.asdict(facts.info)
        engine["memory"] = {"current": dict(facts.memory.current), "budget": facts.memory.budget}
    return {
        "versions": versions(),
        "system": {
            "platform": platform.platform(),
            "machine": platform.machine(),
            "python": sys.version.split()[0],
            "qt_platform": QGuiApplication.platformName(),
            "locale": QLocale.system().name(),
        },
        "screens": screens,
        "window": window,
        "reading": read,
        "engine": engine,
    }


def save_diagnostics(path: Path, facts: EngineFacts | None, store: SettingsStore) -> None:
    """Write the file. Raises OSError."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(diagnostics(facts, store), indent=2, ensure_ascii=False) + "\n", "utf-8")
    partial.replace(path)
