"""Tables: a grid of cells (training.pages.cells) set, ruled, and written as HTML in the output grammar."""

from __future__ import annotations

import random
from collections.abc import Set

from PIL import Image, ImageDraw

from training.pages.cells import HELD_OUT, LEVEL, TRAINED, UPRIGHT, Cell, Grid, HeldOutCells, TrainedCells
from training.pages.ink import EMPTY, Box, FontShelf, SizedFont, joined
from training.pages.runs import Run, break_runs, draw_line, shifted
from training.targets import Block, Point
from training.words import Words


class TableSetter:
    """Draws tables of one random source."""

    def __init__(self, rng: random.Random, shelf: FontShelf, words: Words) -> None:
        self.rng, self.shelf, self.words = rng, shelf, words
        self.habits = TRAINED if words.trained else HELD_OUT
        self.trained = TrainedCells(rng, words) if words.trained else None
        self.cells = self.trained or HeldOutCells(rng, words)

    def set(
        self,
        page: Image.Image,
        font: SizedFont,
        head: SizedFont,
        usable: Set[str],
        place: tuple[int, int, int, int],
        quick: bool,
    ) -> Block | None:
        """A table inside (x, y, width, height) from its upper left corner on; None when none fits."""
        rng, (left, top, width, height) = self.rng, place
        pad = font.size * rng.uniform(0.3, 0.8)
        leading = int(font.size * rng.uniform(1.15, 1.4))
        grid = self.cells.grid(int(height / (leading + pad)), width / font.size, usable)
        if grid is None:
            return None
        cells, columns, fonts = grid.cells, grid.columns, (font, head)
        across = grid.gap * font.size or pad
        if grid.ruled and grid.ruled not in LEVEL:  # lines of one cell are closer than rows
            pad = max(pad, 0.45 * font.size)
        if self.habits.whole_words:
            self._shorten(cells, fonts, width / columns - 2 * across)
        least = self._least_widths(cells, columns, fonts, across)
        widths = self._widths(cells, least, font, across, width)
        if self.trained and grid.ruled not in UPRIGHT:
            cells = self._told(self.trained, grid, widths, fonts, across, usable)
        heights = self._heights(cells, grid.rows, widths, fonts, across, pad, leading)
        while heights and sum(heights) > height:
            heights.pop()
        rows = len(heights)
        if rows < 2:
            return None
        cells = [c for c in cells if c.row < rows]
        for cell in cells:
            cell.rows = min(cell.rows, rows - cell.row)
            if self.trained and grid.ruled not in LEVEL:
                cell.lines = cell.lines[:1] if cell.rows > 1 else cell.lines
        x0 = left + rng.choice((0.0, (width - sum(widths)) / 2))
        if self.habits.anywhere and rng.random() < self.habits.anywhere:
            x0 = left + rng.uniform(0.0, max(0.0, width - sum(widths)))
        xs = [x0 + sum(widths[:n]) for n in range(columns + 1)]
        ys = [top + sum(heights[:n]) for n in range(rows + 1)]
        grid.cells = cells
        ink = self._rules(page, grid, xs, ys, max(1, font.size // 18))
        return self._draw(page, grid, xs, ys, ink, fonts, across, leading, quick)

    def _told(
        self,
        trained: TrainedCells,
        grid: Grid,
        widths: list[float],
        fonts: tuple[SizedFont, SizedFont],
        pad: float,
        usable: Set[str],
    ) -> list[Cell]:
        """The cells of a table without rules between columns: those over several columns are parted unless their words
        reach from the first to the last of them, which is how a reader knows."""
        cells = list(grid.cells)
        for cell in grid.cells:
            if cell.columns == 1:
                continue
            font, spanned = fonts[cell.row == 0], widths[cell.column : cell.column + cell.columns]
            room = sum(spanned) - 2 * pad
            length = min(font.length(" ".join(cell.words)), room)
            start = pad + (room - length) / 2 if cell.align == "centre" else pad
            if start < spanned[0] - pad and start + length > sum(spanned[:-1]) + pad:
                continue
            parted = cell.cut(cell.rows, 1)
            cell.align = ""
            cells += parted
            for part in (cell, *parted):
                if part is not cell:
                    trained.fill(part, grid, usable)
                self._shorten([part], fonts, widths[part.column] - 2 * pad)
        return sorted(cells, key=Cell.place)

    def _shorten(self, cells: list[Cell], fonts: tuple[SizedFont, SizedFont], room: float) -> None:
        """Leave out words wider than a column; a number stands where nothing is left."""
        for cell in cells:
            short = [word for word in cell.words if fonts[cell.row == 0].length(word) * 1.02 < room]
            cell.words = short if short or not cell.words else [str(self.rng.randint(0, 99))]

    def _least_widths(
        self, cells: list[Cell], columns: int, fonts: tuple[SizedFont, SizedFont], pad: float
    ) -> list[float]:
        """Widths of columns in which no word must be broken; 0 where words may be."""
        least = [0.0] * columns
        if not self.habits.whole_words:
            return least
        for cell in cells:
            longest = max((fonts[cell.row == 0].length(word) for word in cell.words), default=0.0)
            for column in range(cell.column, cell.column + cell.columns):
                least[column] = max(least[column], (longest * 1.02 + 2 * pad) / cell.columns)
        return least

    def _widths(self, cells: list[Cell], least: list[float], font: SizedFont, pad: float, most: float) -> list[float]:
        """Widths of columns as their cells need them, at most `most` together, and `least` each if that can be."""
        widths = [max(font.size * 1.5, needed) for needed in least]
        for cell in cells:
            need = (font.length(" ".join(cell.words)) * 1.08 + 2 * pad) / cell.columns
            for column in range(cell.column, cell.column + cell.columns):
                widths[column] = max(widths[column], min(need, most * 0.5))
        scale, narrowest = most / sum(widths), sum(least)
        if scale < 1 and 0 < narrowest < most:
            part = (most - narrowest) / (sum(widths) - narrowest)
            return [low + part * (wide - low) for low, wide in zip(least, widths, strict=True)]
        if scale < 1 or self.rng.random() < 0.4:
            widths = [w * scale for w in widths]
        elif self.habits.widened and self.rng.random() < self.habits.widened:
            widths[self.rng.choice((0, 0, self.rng.randrange(len(widths))))] += most - sum(widths)
        return widths

    def _heights(
        self,
        cells: list[Cell],
        rows: int,
        widths: list[float],
        fonts: tuple[SizedFont, SizedFont],
        across: float,
        pad: float,
        leading: int,
    ) -> list[float]:
        """Break every cell's words and make each row as high as its tallest cell of one row."""
        heights = [leading + pad] * rows
        for cell in cells:
            font = fonts[cell.row == 0]
            room = sum(widths[cell.column : cell.column + cell.columns]) - 2 * across
            cell.lines = break_runs([Run(word, font) for word in cell.words], room, 0.0, False)
            if cell.rows == 1:
                heights[cell.row] = max(heights[cell.row], len(cell.lines) * leading + pad)
            else:
                cell.lines = cell.lines[: cell.rows]
        return heights

    def _rules(self, page: Image.Image, grid: Grid, xs: list[float], ys: list[float], weight: int) -> Box:
        rng, draw, cells = self.rng, ImageDraw.Draw(page), grid.cells
        style = grid.ruled or rng.choices(*zip(*self.habits.rules, strict=True))[0]
        tone = rng.choice((255, 255, 160, 90))
        shade = rng.randint(15, 60) if rng.random() < 0.25 else 0
        if shade:
            draw.rectangle((xs[0], ys[0], xs[-1], ys[1]), fill=shade)
        if style == "bands":
            for row in range(1, len(ys) - 1, 2):
                draw.rectangle((xs[0], ys[row], xs[-1], ys[row + 1]), fill=shade or 30)
        grouped = self.trained and style in ("head", "under") and any(c.row == 0 and c.columns > 1 for c in cells)
        if grouped:  # heads over several columns have rules of their own, and a second row of heads another
            draw.line((xs[0], ys[2], xs[-1], ys[2]), tone, weight)
        for cell in cells:
            x1, y1 = xs[cell.column], ys[cell.row]
            x2, y2 = xs[cell.column + cell.columns], ys[cell.row + cell.rows]
            if style == "all":
                draw.rectangle((x1, y1, x2, y2), outline=tone, width=weight)
            elif style == "rows" or (style in ("head", "under", "columns") and cell.row == 0):
                inset = (x2 - x1) * 0.06 if grouped and cell.columns > 1 else 0.0
                draw.line((x1 + inset, y2, x2 - inset, y2), tone, weight)
            if style == "columns" and cell.column:
                draw.line((x1, y1, x1, y2), tone, weight)
        if style == "head":
            draw.line((xs[0], ys[0], xs[-1], ys[0]), tone, weight)
            draw.line((xs[0], ys[-1], xs[-1], ys[-1]), tone, weight)
        elif style == "outer":
            draw.rectangle((xs[0], ys[0], xs[-1], ys[-1]), outline=tone, width=weight)
        return EMPTY if style == "none" and not shade else (xs[0], ys[0], xs[-1], ys[-1])

    def _draw(
        self,
        page: Image.Image,
        grid: Grid,
        xs: list[float],
        ys: list[float],
        box: Box,
        fonts: tuple[SizedFont, SizedFont],
        pad: float,
        leading: int,
        quick: bool,
    ) -> Block | None:
        """Print the cells and write the HTML; a tag stands where its cell's text begins."""
        aligned = grid.aligned or [self.rng.choice(("left", "left", "centre", "right")) for _ in xs[1:]]
        text, points = "", list[Point]()

        def write(markup: str, at: Point) -> None:
            nonlocal text
            text += markup
            points.extend([at] * len(markup))

        corner = (xs[0], ys[0] + leading / 2)
        write("<table>", corner)
        printed = False
        for row in range(len(ys) - 1):
            write("<tr>", (xs[0], ys[row] + leading / 2))
            beside = [c for c in grid.cells if c.row == row]
            tallest = max((len(c.lines) for c in beside if c.rows == 1), default=1)
            for cell in beside:
                font = fonts[row == 0]
                room = xs[cell.column + cell.columns] - xs[cell.column] - 2 * pad
                free = ys[row + cell.rows] - ys[row] - len(cell.lines) * leading
                if grid.raised and cell.rows == 1:
                    free -= max(0, tallest - len(cell.lines)) * leading
                baseline = ys[row] + free / 2 + leading * 0.5 + font.size * 0.32
                spans = "".join(
                    f' {name}="{count}"'
                    for name, count in (("rowspan", cell.rows), ("colspan", cell.columns))
                    if count > 1
                )
                content, where = "", list[Point]()
                for line in cell.lines:
                    placed = shifted(line, room, cell.align or aligned[cell.column])
                    drawn, at, ink = draw_line(page, placed, xs[cell.column] + pad, int(baseline), quick, False)
                    if content:
                        content += " "
                        where.append(at[0])
                    content += drawn
                    where += at
                    box = joined(box, ink)
                    baseline += leading
                start = where[0] if where else (xs[cell.column] + pad, (ys[row] + ys[row + cell.rows]) / 2)
                write(f"<td{spans}>", start)
                text += content
                points += where
                write("</td>", where[-1] if where else start)
                printed = printed or bool(content)
            write("</tr>", (xs[-1], ys[row] + leading / 2))
        write("</table>", (xs[-1], ys[-1]))
        return Block("table", text, points, box) if printed else None
