"""The sheet that asks what to export and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)
from uocr.export import FORMATS


@dataclass(frozen=True, slots=True)
class ExportChoice:
    """`scope` is "page", "document" or "all"."""

    format: str
    scope: str
    per_page: bool
    pictures: bool
    add_to_text_layer: bool


class ExportDialog(QDialog):
    """Format, which pages, one file or one a page."""

    def __init__(self, counts: dict[str, int], parent: QWidget | None = None, *, text_layer: bool = False) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Export"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self._format = QComboBox(self)
        self._format.setAccessibleName(self.tr("Format"))
        for format_ in FORMATS:
            self._format.addItem(self.format_words(format_), format_)
        self._scopes: dict[str, QRadioButton] = {}
        scopes = QVBoxLayout()
        scopes.setSpacing(4)
        for scope, words in (
            ("page", self.tr("This page")),
            ("document", self.tr("This document")),
            ("all", self.tr("All pages that were read")),
        ):
            button = QRadioButton(f"{words} ({counts.get(scope, 0)})", self)
            button.setEnabled(counts.get(scope, 0) > 0)
            scopes.addWidget(button)
            self._scopes[scope] = button
        best = next((s for s in ("document", "all", "page") if counts.get(s, 0)), "all")
        self._scopes[best].setChecked(True)
        self._per_page = QCheckBox(self.tr("One file for every page"), self)
        self._pictures = QCheckBox(self.tr("Cut pictures out of the pages"), self)
        self._pictures.setChecked(True)
        self._layer = QCheckBox(self.tr("Add text also to pages that already have some"), self)
        self._note = QLabel(self)
        self._note.setWordWrap(True)
        self._text_layer = text_layer
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setHorizontalSpacing(14)
        form.setVerticalSpacing(12)
        form.addRow(self.tr("Format"), self._format)
        form.addRow(self.tr("Pages"), scopes)
        form.addRow("", self._per_page)
        form.addRow("", self._pictures)
        form.addRow("", self._layer)
        form.addRow("", self._note)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        save = buttons.addButton(self.tr("Choose where…"), QDialogButtonBox.ButtonRole.AcceptRole)
        save.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        box = QVBoxLayout(self)
        box.setContentsMargins(24, 20, 24, 18)
        box.setSpacing(18)
        box.addLayout(form)
        box.addWidget(buttons)
        self._format.setCurrentIndex(max(0, self._format.findData("md")))
        self._format.currentIndexChanged.connect(self._explain)
        self._explain()
        self.setMinimumWidth(max(460, self.sizeHint().width()))

    @property
    def choice(self) -> ExportChoice:
        scope = next(name for name, button in self._scopes.items() if button.isChecked())
        return ExportChoice(
            self._format.currentData(),
            scope,
            self._per_page.isChecked(),
            self._pictures.isChecked(),
            self._layer.isChecked(),
        )

    def select(self, format_: str, scope: str | None = None) -> None:
        """Preset a format and a scope."""
        self._format.setCurrentIndex(max(0, self._format.findData(format_)))
        if scope is not None and self._scopes[scope].isEnabled():
            self._scopes[scope].setChecked(True)

    def format_words(self, format_: str) -> str:
        return {
            "txt": self.tr("Plain text (.txt)"),
            "md": self.tr("Markdown with pictures (.md)"),
            "html": self.tr("Web page (.html)"),
            "docx": self.tr("Word document (.docx)"),
            "json": self.tr("Data with boxes and certainties (.json)"),
            "pdf": self.tr("Searchable PDF (.pdf)"),
        }.get(format_, format_)

    def _explain(self) -> None:
        format_ = self._format.currentData()
        self._pictures.setVisible(format_ in ("md", "html", "docx"))
        self._layer.setVisible(format_ == "pdf" and self._text_layer)
        self._note.setText(
            {
                "pdf": self.tr(
                    "The original pages stay as they are; the text lies on them, invisible, to be found and selected."
                ),
                "json": self.tr("Every block with its box, its words and how sure the model was."),
            }.get(format_, "")
        )
        self._note.setVisible(bool(self._note.text()))
        self.adjustSize()


def suggested_name(name: str, format_: str, folder: Path) -> Path:
    """The document's name with the new suffix, counted up while it is taken."""
    stem = Path(name).stem or "text"
    path = folder / f"{stem}.{format_}"
    number = 2
    while path.exists():
        path = folder / f"{stem} {number}.{format_}"
        number += 1
    return path
