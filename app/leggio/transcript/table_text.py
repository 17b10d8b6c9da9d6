"""A table as a person corrects it: a row a line, cells parted by tabs, instead of the HTML that the model writes."""

from __future__ import annotations

_BETWEEN_ROWS, _BETWEEN_CELLS = "</td></tr><tr><td>", "</td><td>"
_START, _END = "<table><tr><td>", "</td></tr></table>"


def shown(text: str) -> str:
    """A block's `text` for the editor. A table with spans or marked cells stays HTML, a row a line."""
    rows = text.removeprefix(_START).removesuffix(_END).split(_BETWEEN_ROWS)
    plain = "\n".join(row.replace(_BETWEEN_CELLS, "\t") for row in rows)
    return plain if is_plain(text) else text.replace("</tr><tr>", "</tr>\n<tr>")


def written(corrected: str, before: str) -> str:
    """What a block says whose text was `before` and was `corrected` as it was shown."""
    if not is_plain(before):
        return corrected
    return _table(corrected.strip("\n")) if corrected.strip() else ""


def is_plain(text: str) -> bool:
    """Whether `text` is one table that rows and tabs say all of."""
    if not (text.startswith(_START) and text.endswith(_END)):
        return False
    rows = text.removeprefix(_START).removesuffix(_END).split(_BETWEEN_ROWS)
    cells = [cell for row in rows for cell in row.split(_BETWEEN_CELLS)]
    return not any(mark in cell for cell in cells for mark in ("\t", "\n", "<t", "</t"))


def _table(rows: str) -> str:
    cells = (row.replace("\t", _BETWEEN_CELLS) for row in rows.split("\n"))
    return f"{_START}{_BETWEEN_ROWS.join(cells)}{_END}"
