"""Tables of training: empty cells and spans are written where they stand, and a reader can tell that they are there."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path

import pytest
from PIL import Image

from training import fonts
from training.charset import CHARSET
from training.pages.cells import TRAINED, UPRIGHT, Cell, Grid, HeldOutCells, TrainedCells
from training.pages.ink import FontShelf, SizedFont
from training.pages.office import OfficeSetter
from training.pages.tables import TableSetter
from training.smoke import smoke_pack
from training.targets import Block
from training.words import Words

USABLE = {*CHARSET, " "}
Drawn = tuple[Grid, list[float], list[float], Block]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("training") / "pack")


def _grids(pack: Path, count: int) -> list[Grid]:
    rng = random.Random(31)
    cells = TrainedCells(rng, Words(pack, "train", rng))
    return [grid for _ in range(count) if (grid := cells.grid(rng.randint(2, 12), rng.uniform(10, 40), USABLE))]


@pytest.fixture(scope="module")
def drawn(pack: Path) -> list[Drawn]:
    """Tables as they were set: grid, edges of columns and of rows, block."""
    font, rng, kept = SizedFont(pack / "fonts" / "builtin.ttf", 20), random.Random(32), list[Drawn]()
    setter = TableSetter(rng, FontShelf(pack, fonts.load(pack, "train"), rng), Words(pack, "train", rng))
    original = setter._draw

    def draw(page: Image.Image, grid: Grid, xs: list[float], ys: list[float], *rest: object) -> Block | None:
        block = original(page, grid, xs, ys, *rest)  # type: ignore[arg-type]
        if block is not None:
            kept.append((grid, xs, ys, block))
        return block

    setter._draw = draw  # type: ignore[method-assign, assignment]
    for _ in range(120):
        width = rng.choice((300, 500, 900))
        setter.set(Image.new("L", (1000, 900)), font, font, USABLE, (20, 20, width, 800), True)
    assert len(kept) > 100
    return kept


def _filled(grid: Grid, row: int) -> list[Cell]:
    return [cell for cell in grid.cells if cell.row == row and cell.words]


def test_an_empty_cell_is_written_in_its_place(drawn: list[Drawn]) -> None:
    empty = 0
    for grid, _, ys, block in drawn:
        rows = re.findall(r"<tr>(.*?)</tr>", block.text)
        assert len(rows) == len(ys) - 1
        for number, row in enumerate(rows):
            written = re.findall(r"<td[^>]*>(.*?)</td>", row)
            shown = [
                " ".join(run.text for line in cell.lines for run, _ in line)
                for cell in grid.cells
                if cell.row == number
            ]
            assert written == shown
            empty += written.count("")
    assert empty > 100


def test_words_stand_in_the_columns_that_their_cells_are_written_for(drawn: list[Drawn]) -> None:
    for grid, xs, ys, block in drawn:
        for cell, match in zip(
            [cell for cell in grid.cells if cell.row < len(ys) - 1],
            re.finditer(r"<td[^>]*>(.*?)</td>", block.text),
            strict=True,
        ):
            for x, y in block.points[match.start(1) : match.end(1)]:
                assert xs[cell.column] - 1 <= x <= xs[cell.column + cell.columns] + 1
                assert ys[cell.row] - 1 <= y <= ys[cell.row + cell.rows] + 1


def test_without_rules_other_cells_show_where_an_empty_one_is(pack: Path) -> None:
    seen = 0
    for grid in _grids(pack, 400):
        seen += grid.ruled != "all" and any(not cell.words for cell in grid.cells)
        if grid.ruled == "all":
            continue
        assert all(cell.words for cell in grid.cells if cell.rows > 1 or cell.columns > 1)
        assert all(any(cell.rows == 1 for cell in _filled(grid, row)) for row in range(grid.rows)), "a row is seen"
        if grid.ruled not in UPRIGHT:
            places = {cell.column for cell in grid.cells if cell.words and cell.columns == 1}
            assert places == set(range(grid.columns)), "a column is seen"
    assert seen > 60


def test_tables_have_empty_cells_in_several_shares_and_many_have_none(pack: Path) -> None:
    shares = [sum(not cell.words for cell in grid.cells) / len(grid.cells) for grid in _grids(pack, 400)]
    assert 0.08 < sum(shares) / len(shares) < 0.2
    assert 0.2 < sum(share == 0 for share in shares) / len(shares) < 0.6
    assert sum(share > 0.25 for share in shares) > 40


def test_a_column_may_be_empty_but_for_its_head_and_a_head_may_begin_with_nothing(pack: Path) -> None:
    bare = corner = 0
    for grid in _grids(pack, 400):
        below = [[c for c in grid.cells if c.column == n and c.row > 0] for n in range(grid.columns)]
        bare += any(len(column) > 2 and not any(cell.words for cell in column) for column in below)
        corner += not grid.cells[0].words
    assert bare > 8 and corner > 30


def test_a_span_without_rules_reaches_over_the_columns_it_spans(drawn: list[Drawn]) -> None:
    spans = 0
    for grid, xs, _, block in drawn:
        if grid.ruled in UPRIGHT:
            continue
        for cell, match in zip(grid.cells, re.finditer(r"<td[^>]*>(.*?)</td>", block.text), strict=True):
            if cell.columns > 1:
                across = [x for x, _ in block.points[match.start(1) : match.end(1)]]
                assert min(across) < xs[cell.column + 1] and max(across) > xs[cell.column + cell.columns - 1]
                spans += 1
    assert spans > 5


def test_columns_without_rules_stand_further_apart_than_words(pack: Path) -> None:
    gaps = [grid.gap for grid in _grids(pack, 300) if grid.ruled not in UPRIGHT]
    assert min(gaps) >= 0.45 and max(gaps) > 1.4
    assert len(gaps) > 100
    assert {grid.ruled for grid in _grids(pack, 300)} == {name for name, _ in TRAINED.rules}
    assert max(grid.columns for grid in _grids(pack, 300)) == 8


def test_held_out_grids_are_what_they_always_were(pack: Path) -> None:
    rng, found = random.Random(33), hashlib.sha256()
    cells = HeldOutCells(rng, Words(pack, "test", rng))
    for _ in range(200):
        grid = cells.grid(rng.randint(1, 14), rng.uniform(6, 40), USABLE)
        if grid is not None:
            assert (grid.ruled, grid.aligned, grid.gap, grid.raised) == ("", None, 0.0, False)
            found.update(repr([(c.row, c.column, c.rows, c.columns, c.words) for c in grid.cells]).encode())
    assert found.hexdigest() == "8cba18757c93f450481cfc0c487abef23dda9335f689b326af5bb90b1155678b"


def test_a_leader_fills_the_gap_before_a_value_at_the_right_edge(pack: Path) -> None:
    rng = random.Random(34)
    setter = OfficeSetter(rng, FontShelf(pack, fonts.load(pack, "train"), rng), Words(pack, "train", rng), 0.6)
    sheet = setter.sheet(Image.new("L", (800, 900)), 20, 3000, 1)
    (block,) = setter._row(sheet, "Total:", "7", 0.0, True, ".")
    assert re.fullmatch(r"Total: \.{9,} 7", block.text)
    assert sheet.x + sheet.measure - 20 < block.points[-1][0] < sheet.x + sheet.measure
    steps = [b[0] - a[0] for a, b in zip(block.points[7:-3], block.points[8:-2], strict=True)]
    assert max(steps) < 20, "without a hole"


def test_values_of_rows_may_be_short_on_training_sheets_only(pack: Path) -> None:
    short = {}
    for split in ("train", "test"):
        rng = random.Random(35)
        setter = OfficeSetter(rng, FontShelf(pack, fonts.load(pack, split), rng), Words(pack, split, rng), 0.6)
        texts = list[str]()
        for _ in range(60):
            texts += [b.text for b in setter.rows(setter.sheet(Image.new("L", (800, 900)), 20, 3000, 1))]
        short[split] = sum(bool(re.search(r" ([A-Z]|x|–|ja|no)$", text)) for text in texts)
    assert short["train"] > 20 > 5 > short["test"]
