"""Documents that were read, in one SQLite file of this user's. Text and results stay on this machine."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QCoreApplication
from uocr.document import Page
from uocr.export.json_file import dump_json, page_from_record, page_record

from leggio.look.told import Told

translate = QCoreApplication.translate

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, path TEXT NOT NULL, read_at REAL NOT NULL, pages INTEGER NOT
    NULL, model TEXT NOT NULL, text TEXT NOT NULL, record TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS by_time ON documents (read_at DESC);
"""


@dataclass(frozen=True, slots=True)
class Past:
    """One document of the history. `read_at` is seconds since 1970."""

    id: int
    name: str
    path: Path
    read_at: float
    pages: int
    model: str
    snippet: str


class HistoryStore:
    """Open on the window's thread. A file that cannot be used makes an empty history, not an error."""

    def __init__(self, file: Path) -> None:
        self.problem = Told("")
        """One sentence when the history cannot be kept."""
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(file)
            self._database.execute("PRAGMA journal_mode=WAL")  # a page ends in milliseconds, not in a disk flush
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            words = translate("History", "The history {0} cannot be used. Move the file away to begin a new one.")
            self.problem = Told(words.format(file), str(error))
            self._database = sqlite3.connect(":memory:")
            self._database.executescript(_SCHEMA)

    def add(self, name: str, path: Path, pages: Sequence[Page], model: str) -> None:
        """Keep a document; an earlier reading of the same file is replaced."""
        text = "\n\n".join(page.text for page in pages)
        record = dump_json([page_record(page) for page in pages])
        with self._database:
            self._database.execute("DELETE FROM documents WHERE path = ?", (str(path),))
            self._database.execute(
                "INSERT INTO documents (name, path, read_at, pages, model, text, record) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (name, str(path), time.time(), len(pages), model, _storable(text), _storable(record)),
            )

    def search(self, words: str = "", limit: int = 500) -> list[Past]:
        """Newest first; with `words`, documents whose name or text holds all of them."""
        wanted = words.split()
        where = " AND ".join(["(name LIKE ? ESCAPE '!' OR text LIKE ? ESCAPE '!')"] * len(wanted)) or "1"
        values = [f"%{_literal(w)}%" for w in wanted for _ in range(2)]
        rows = self._database.execute(
            f"SELECT id, name, path, read_at, pages, model, text FROM documents WHERE {where} "
            "ORDER BY read_at DESC LIMIT ?",
            (*values, limit),
        )
        return [
            Past(id_, name, Path(path), at, pages, model, _snippet(text, wanted))
            for id_, name, path, at, pages, model, text in rows
        ]

    def pages(self, id_: int) -> list[Page]:
        """The pages of a document, as they were read and corrected."""
        row = self._database.execute("SELECT record FROM documents WHERE id = ?", (id_,)).fetchone()
        return [page_from_record(record) for record in json.loads(row[0])] if row else []

    def remove(self, id_: int) -> None:
        with self._database:
            self._database.execute("DELETE FROM documents WHERE id = ?", (id_,))

    def clear(self) -> None:
        with self._database:
            self._database.execute("DELETE FROM documents")
        self._database.execute("VACUUM")

    def close(self) -> None:
        self._database.close()


def _storable(text: str) -> str:
    """SQLite holds UTF-8: a lone surrogate, which a model can write, becomes a replacement mark."""
    return text.encode("utf-8", "replace").decode()


def _literal(word: str) -> str:
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _snippet(text: str, words: list[str], length: int = 160) -> str:
    at = text.lower().find(words[0].lower()) if words else 0
    start = max(0, at - 40)
    piece = " ".join(text[start : start + length].split())
    return ("…" if start else "") + piece + ("…" if start + length < len(text) else "")
