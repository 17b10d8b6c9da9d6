"""HTML for the parts that HTML itself and Markdown share: tables and lines, everything escaped."""

from __future__ import annotations

import html

from uocr.markup.grid import Cell, Table
from uocr.markup.inline import Kind, Line


def table_markup(table: Table, before_formula: str, after_formula: str) -> str:
    """A table as HTML without empty lines (which would end an HTML block in Markdown)."""
    rows = ["".join(_cell(cell, before_formula, after_formula) for cell in row) for row in table.rows]
    return "<table>\n" + "\n".join(f"<tr>{row}</tr>" for row in rows) + "\n</table>"


def _cell(cell: Cell, before_formula: str, after_formula: str) -> str:
    name = "th" if cell.header else "td"
    spans = (f' rowspan="{cell.rows}"' if cell.rows > 1 else "") + (
        f' colspan="{cell.columns}"' if cell.columns > 1 else "")
    lines = "<br>".join(line_markup(line, before_formula, after_formula).strip() for line in cell.lines)
    return f"<{name}{spans}>{lines}</{name}>"


def line_markup(line: Line, before_formula: str, after_formula: str) -> str:
    """One line as HTML; formulas as TeX between the given marks."""
    pieces = []
    for run in line:
        text = html.escape(run.text, quote=False)
        match run.kind:
            case Kind.MATH | Kind.DISPLAY:
                pieces.append(f"{before_formula}{text}{after_formula}")
            case Kind.SUPERSCRIPT | Kind.SUBSCRIPT:
                pieces.append(f"<{run.kind.value}>{text}</{run.kind.value}>")
            case _:
                pieces.append(text)
    return "".join(pieces)
