"""The list of pages as Qt sees it: one row a page, in reading order, moved by dragging."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QByteArray,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)

from leggio.pages.items import PageItem, PageState
from leggio.pages.wording import badge, describe

ROWS_MIME = "application/x-leggio-rows"
Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()


class PageModel(QAbstractListModel):
    """Rows of `PageItem`. Every change goes through a method here, so that views hear of it."""

    ItemRole = Qt.ItemDataRole.UserRole + 1

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._items: list[PageItem] = []
        self._rows: dict[int, int] = {}
        """Row by page key."""

    # -- reading the model ---------------------------------------------------------------------------------

    @property
    def items(self) -> Sequence[PageItem]:
        return self._items

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._items)

    def item(self, index: Index | int) -> PageItem | None:
        row = index if isinstance(index, int) else index.row()
        return self._items[row] if 0 <= row < len(self._items) else None

    def by_key(self, key: int) -> PageItem | None:
        row = self._rows.get(key)
        return None if row is None else self._items[row]

    def row_of(self, item: PageItem) -> int:
        return self._rows.get(item.key, -1)

    def index_of(self, item: PageItem) -> QModelIndex:
        return self.index(self.row_of(item))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        item = self.item(index)
        if item is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return item.title
        if role == self.ItemRole:
            return item
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{item.title}, {badge(item)}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return describe(item)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        base = Qt.ItemFlag.ItemIsDropEnabled
        if index.isValid():
            base = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled
        return base

    # -- changing it ---------------------------------------------------------------------------------------

    def append(self, items: Sequence[PageItem]) -> None:
        if not items:
            return
        start = len(self._items)
        self.beginInsertRows(NO_INDEX, start, start + len(items) - 1)
        self._items += items
        self._renumber(start)
        self.endInsertRows()

    def remove(self, items: Iterable[PageItem]) -> None:
        for row in sorted((r for i in items if (r := self.row_of(i)) >= 0), reverse=True):
            self.beginRemoveRows(NO_INDEX, row, row)
            del self._rows[self._items.pop(row).key]
            self._renumber(row)
            self.endRemoveRows()

    def move(self, items: Sequence[PageItem], row: int) -> None:
        """Put `items`, in their order, before what is now at `row` (the number of rows: at the end)."""
        chosen = sorted(items, key=self.row_of)
        for item in chosen:
            start = self.row_of(item)
            if start in (row, row - 1):
                row = max(row, start + 1)
                continue
            if self.beginMoveRows(NO_INDEX, start, start, NO_INDEX, row):
                target = row - 1 if start < row else row
                self._items.insert(target, self._items.pop(start))
                self._renumber(min(start, target))
                self.endMoveRows()
                row = target + 1

    def touch(self, item: PageItem) -> None:
        """Something about `item` changed; paint it again."""
        index = self.index_of(item)
        if index.isValid():
            self.dataChanged.emit(index, index)

    def set_state(self, item: PageItem, state: PageState, progress: float = 0.0, phase: str = "") -> None:
        item.state, item.progress, item.phase = state, progress, phase
        self.touch(item)

    def _renumber(self, start: int) -> None:
        for row in range(start, len(self._items)):
            self._rows[self._items[row].key] = row

    # -- dragging ------------------------------------------------------------------------------------------

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:
        return [ROWS_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        data = QMimeData()
        keys = ",".join(str(i.key) for index in indexes if (i := self.item(index)))
        data.setData(ROWS_MIME, QByteArray(keys.encode()))
        return data

    def dropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        if not data.hasFormat(ROWS_MIME):
            return False
        keys = bytes(data.data(ROWS_MIME).data()).decode()
        chosen = [i for key in keys.split(",") if key and (i := self.by_key(int(key)))]
        if parent.isValid():
            row = parent.row()
        self.move(chosen, len(self._items) if row < 0 else row)
        return False  # the rows were moved already; the view must not remove them
