"""Pages of documents, tables and photographs: what is drawn is what must be written, where it stands."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from training import fonts, listings
from training.charset import CHARSET
from training.listings import NOTATIONS, Listings
from training.pages import Kind, PageMaker, elements
from training.pages.cells import Cell, Grid, grid_cells
from training.pages.documents import DocumentSetter
from training.pages.ink import FontShelf, SizedFont
from training.pages.maker import MOST_TOKENS
from training.pages.photo import perspective, photograph
from training.pages.runs import Run, break_runs, spread
from training.pages.sheet import Sheet
from training.pages.tables import TableSetter
from training.smoke import smoke_pack
from training.targets import Block
from training.technical import Technical
from training.words import Words

KINDS = [
    Kind(2, genre="document"),
    Kind(3, (2, 3), genre="document"),
    Kind(1, genre="table"),
    Kind(3, (2, 2), genre="table"),
]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("training") / "pack")


@pytest.fixture(scope="module")
def font(pack: Path) -> SizedFont:
    return SizedFont(pack / "fonts" / "builtin.ttf", 20)


@pytest.mark.parametrize("kind", KINDS)
def test_characters_of_documents_stand_where_there_is_ink(pack: Path, kind: Kind) -> None:
    maker = PageMaker(pack, "test", 11)
    sample = maker.sample(kind)
    assert 0 < len(sample.ids) <= MOST_TOKENS
    wanted = {
        CHARSET.index(c) + 1 for b in sample.blocks for c, shown in zip(b.text, b.printed(), strict=True) if shown
    }
    assert set(np.unique(sample.labels)) - {0} <= wanted
    lattice = sample.view.reshape(64, 16, 64, 16).max(axis=(1, 3)) > 0
    near = lattice.copy()
    near[1:] |= lattice[:-1]
    near[:-1] |= lattice[1:]
    near[:, 1:] |= near[:, :-1].copy()
    near[:, :-1] |= near[:, 1:].copy()
    assert near[sample.labels[..., 0] > 0].mean() > 0.99


def test_documents_have_the_labels_of_the_grammar_and_nothing_is_set_twice(pack: Path) -> None:
    maker = PageMaker(pack, "test", 12)
    labels = set()
    for _ in range(25):
        sample = maker.sample(Kind(2, genre="document"))
        labels |= {block.label for block in sample.blocks}
        for block in sample.blocks:
            assert len(block.points) == len(block.text)
    assert {"title", "text", "header", "page_number"} <= labels


@pytest.mark.parametrize("split", ["test", "train"])
def test_a_table_is_written_as_rows_that_cover_its_grid(pack: Path, split: str) -> None:
    maker = PageMaker(pack, split, 13)
    tables = [b for _ in range(12) for b in maker.sample(Kind(1, genre="table")).blocks if b.label == "table"]
    assert tables
    for table in tables:
        assert re.fullmatch(r"<table>(<tr>.*?</tr>)+</table>", table.text)
        taken: set[tuple[int, int]] = set()
        for number, row in enumerate(re.findall(r"<tr>(.*?)</tr>", table.text)):
            column = 0
            for spans in re.findall(r"<td(.*?)>", row):
                tall, wide = (
                    int((re.search(rf'{name}="(\d)"', spans) or [0, 1])[1]) for name in ("rowspan", "colspan")
                )
                while (number, column) in taken:
                    column += 1
                cells = {(number + r, column + c) for r in range(tall) for c in range(wide)}
                assert not cells & taken
                taken |= cells
        rows, columns = (max(place[axis] for place in taken) + 1 for axis in (0, 1))
        assert len(taken) == rows * columns
        printed = "".join(c for c, shown in zip(table.text, table.printed(), strict=True) if shown)
        assert printed == re.sub(r"<[^>]*>| ", "", table.text)


def test_cells_of_training_tables_hold_whole_words_in_columns_that_fit(
    pack: Path, font: SizedFont, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[list[Cell], list[float]]] = []

    def draw(self: TableSetter, page: Image.Image, grid: Grid, xs: list[float], *rest: object) -> None:
        drawn.append((grid.cells, xs))

    monkeypatch.setattr(TableSetter, "_draw", draw)
    rng = random.Random(2)
    shelf = FontShelf(pack, fonts.load(pack, "train"), rng)
    setter = TableSetter(rng, shelf, Words(pack, "train", rng))
    for width in (300, 500, 900) * 8:
        setter.set(Image.new("L", (1000, 900)), font, font, set(CHARSET), (20, 20, width, 800), True)
        cells, xs = drawn[-1]
        assert 20 - 1e-6 <= xs[0] and xs[-1] <= 20 + width + 1e-6
        for cell in cells:
            shown = [run.text for line in cell.lines for run, _ in line]
            assert shown == cell.words[: len(shown)], "no word is parted"
    assert len(drawn) == 24


def test_cells_cover_the_grid_once() -> None:
    for seed in range(30):
        cells = grid_cells(random.Random(seed), 6, 5, 0.4)
        places = [(c.row + r, c.column + k) for c in cells for r in range(c.rows) for k in range(c.columns)]
        assert sorted(places) == [(r, c) for r in range(6) for c in range(5)]


def test_words_are_parted_with_hyphens_only_where_asked_and_nothing_is_lost(font: SizedFont) -> None:
    words = "extraordinary reading machine understands hyphenation perfectly".split()
    plain = break_runs([Run(w, font) for w in words], 180, 0, False)
    assert [run.text for line in plain for run, _ in line] == words
    hyphenated = break_runs([Run(w, font) for w in words], 180, 20, True)
    pieces = [run.text for line in hyphenated for run, _ in line]
    assert any(piece.endswith("-") for piece in pieces)
    assert " ".join(pieces).replace("- ", "") == " ".join(words)
    for line in [*plain, *hyphenated]:
        last, at = line[-1]
        assert at + last.font.length(last.text) <= 180
    assert hyphenated[0][0][1] == 20


def test_a_word_wider_than_the_column_goes_on_in_the_next_line(font: SizedFont) -> None:
    lines = break_runs([Run("/usr/share/doc/leggio/examples", font)], 100, 0, True)
    assert len(lines) > 1
    assert "".join(run.text for line in lines for run, _ in line) == "/usr/share/doc/leggio/examples"


def test_a_justified_line_ends_at_the_edge(font: SizedFont) -> None:
    (line,) = break_runs([Run(w, font) for w in ("one", "two", "three")], 200, 0, False)
    last, at = spread(line, 140)[-1]
    assert at + last.font.length(last.text) == pytest.approx(140)


def test_a_photograph_moves_points_with_the_ink() -> None:
    page = Image.new("L", (300, 400))
    page.paste(255, (100, 200, 108, 208))
    block = Block("text", "x", [(104.0, 204.0)], (100, 200, 108, 208))
    seen = np.asarray(photograph(page, [block], random.Random(4)), np.float64)
    seen[seen < 230] = 0  # the ground is fainter than print
    rows, columns = np.nonzero(seen)
    x, y = block.points[0]
    assert abs(columns.mean() + 0.5 - x) < 1 and abs(rows.mean() + 0.5 - y) < 1
    assert abs(x - 104) + abs(y - 204) > 2
    x0, y0, x1, y1 = block.box
    assert x0 < x < x1 and y0 < y < y1


def test_a_perspective_takes_corners_to_corners() -> None:
    source = [(0.0, 0.0), (10.0, 0.0), (10.0, 20.0), (0.0, 20.0)]
    target = [(1.0, 2.0), (9.0, 0.0), (11.0, 19.0), (0.0, 21.0)]
    matrix = perspective(source, target)
    for (x, y), (u, v) in zip(source, target, strict=True):
        a, b, c = matrix @ (x, y, 1.0)
        assert (a / c, b / c) == pytest.approx((u, v))


def test_technical_tokens_are_of_the_character_set() -> None:
    technical = Technical(random.Random(1), "stand book page line number light".split())
    tokens = [technical.token() for _ in range(2000)]
    assert not set("".join(tokens)) - set(CHARSET) - {" "}
    runs = {len(token) for token in (technical.marks() for _ in range(400))}
    assert min(runs) == 3 and len(runs) > 20, "repeated marks come in runs of many lengths"


def test_runs_of_one_mark_are_rarer_and_shorter_in_training() -> None:
    words = "stand book page line number light".split()
    held_out, trained = (Technical(random.Random(3), words, flag) for flag in (False, True))
    lengths = [np.array([len(source.marks()) for _ in range(600)]) for source in (held_out, trained)]
    assert lengths[1].mean() < 0.75 * lengths[0].mean() and lengths[1].max() <= 30
    runs = [
        sum(bool(re.fullmatch(r"([-=*_.#~+])\1\1+", source.token())) for _ in range(8000))
        for source in (held_out, trained)
    ]
    assert 0 < runs[1] < 0.6 * runs[0]


@pytest.fixture
def source() -> Listings:
    return Listings(Technical(random.Random(4), "stand book page line number light reader window".split()))


@pytest.mark.parametrize("name", NOTATIONS)
def test_lines_of_every_notation_are_complete_and_full_of_marks(source: Listings, name: str) -> None:
    lines = [source.expanded(template) for template in NOTATIONS[name] for _ in range(30)]
    shown = "".join(lines)
    assert not set(shown) - set(CHARSET) - {" "}, "no slot is left"
    assert all(len(line) > 1 for line in set(lines)) or name == "soup"
    marks = sum(not char.isalnum() and char != " " for char in shown)
    assert marks > 0.12 * len(shown)
    assert np.median([len(line) for line in lines]) < 100


def test_every_part_of_the_notations_has_a_use(source: Listings) -> None:
    templates = [t for choices in (*NOTATIONS.values(), *listings._PARTS.values()) for t in choices]
    used = {slot for template in templates for slot in re.findall("‹(.+?)›", template)}
    assert used == listings._PARTS.keys() | source.leaves.keys()


def test_columns_of_output_stand_below_each_other(source: Listings) -> None:
    for maker in (source._files, source._numbers, source._dump):
        lines = maker(8)
        assert 0 < len(lines) <= 8
        gaps = [{n for n, char in enumerate(line) if char == " "} for line in lines[1:]]
        assert set.intersection(*gaps), "one column at least is free in all lines"


def test_typed_words_stand_where_spaces_put_them_and_are_parted_at_the_edge(pack: Path, font: SizedFont) -> None:
    rng = random.Random(5)
    shelf = FontShelf(pack, fonts.load(pack, "train"), rng)
    setter, face, step = (
        DocumentSetter(rng, shelf, Words(pack, "train", rng), 0.0),
        shelf.any_face()[1],
        font.advance("n"),
    )
    (line,) = setter._typed("  ls -l      x", face, font, 900)
    assert [(run.text, round(at / step)) for run, at in line] == [("ls", 2), ("-l", 5), ("x", 13)]
    text = 'if (x["stand"] != 0x1f) { return page_number->light::reader("%s\\n", &book); } // line number'
    lines = setter._typed(text, face, font, 150)
    assert len(lines) > 2
    assert "".join(run.text for line in lines for run, _ in line) == text.replace(" ", "")
    for line in lines:
        pen = 0.0
        for run, at in line:
            assert pen <= at and at + font.length(run.text) <= 150, "no word stands on another, or beyond the edge"
            pen = at + font.length(run.text)


def test_what_is_parted_at_the_edge_keeps_the_places_of_a_terminal(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    shelf = FontShelf(pack, fonts.load(pack, "train"), rng)
    setter, font = DocumentSetter(rng, shelf, Words(pack, "train", rng), 0.0), shelf.sized(shelf.any_face()[1], 20)
    for name, value in {"advance": lambda char: 10.0, "length": lambda text: 10.0 * len(text), "space": 10.0}.items():
        monkeypatch.setattr(font, name, value)
    lines = setter._typed("bookreader  += page", shelf.any_face()[1], font, 85)
    assert [[(run.text, at / 10) for run, at in line] for line in lines] == [
        [("bookread", 0)],
        [("er", 0), ("+=", 4), ("p", 7)],
        [("age", 0)],
    ]


def _columns(pack: Path, split: str, seed: int, columns: int = 3) -> tuple[DocumentSetter, Sheet]:
    """A setter of documents, and a sheet of so many columns of ten lines."""
    rng = random.Random(seed)
    setter = DocumentSetter(rng, FontShelf(pack, fonts.load(pack, split), rng), Words(pack, split, rng), 0.0)
    sheet = setter.sheet(Image.new("L", (900, 400)), 20, 5000, columns)
    sheet.columns, sheet.leading, sheet.bottom, sheet.hyphens = columns, 24, sheet.y + 245, False
    return setter, sheet


def test_a_paragraph_goes_on_in_the_next_column_without_loss(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{number}" for number in range(300)]
    for seed in range(8):
        setter, sheet = _columns(pack, "train", seed)
        monkeypatch.setattr(setter, "_text", lambda count: words)
        monkeypatch.setattr(setter, "section", lambda sheet, spanning=False: [])
        parts = [" ".join(block.text for block in setter._body(sheet, 0, ((setter.paragraph, 1.0),))[:3])]
        assert parts[0].split() == words[: len(parts[0].split())]
        assert sheet.column == 3 and len(parts[0].split()) > 40


def test_a_list_goes_on_in_the_next_column(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over = 0
    for seed in range(12):
        setter, sheet = _columns(pack, "train", seed)
        monkeypatch.setattr(setter, "section", lambda sheet, spanning=False: [])
        monkeypatch.setattr(setter, "_marker", lambda style, number: f"{number}:")
        monkeypatch.setattr(setter, "_text", lambda count: ["stand"] * 9)
        look = elements._List("", "-", False, 0, 5.0, 0.0, 0)
        monkeypatch.setattr(setter, "items", lambda sheet, setter=setter, look=look: setter._items(sheet, look, 0, 40))
        blocks = setter._body(sheet, 0, ((setter.items, 1.0),))
        texts = " ".join(block.text for block in blocks)
        numbers = [int(number) for number in re.findall(r"(\d+):", texts)]
        assert numbers == sorted(numbers) and len(set(numbers)) == len(numbers), "no item stands twice"
        assert texts.replace(":", " ").split().count("stand") >= 9 * (len(blocks) - 6)
        over += len({round(block.box[0] / 250) for block in blocks}) > 1
    assert over > 8


def test_nothing_goes_on_in_the_next_column_on_held_out_pages(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for split in ("test", "prose"):
        setter, sheet = _columns(pack, split, 3)
        monkeypatch.setattr(setter, "_text", lambda count: ["stand"] * 300)
        for maker in (setter.paragraph, setter.items):
            sheet.y = sheet.top
            maker(sheet)
            assert sheet.rest is None


def test_records_that_do_not_fit_stand_whole_in_the_next_column(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setter, sheet = _columns(pack, "train", 5)
    monkeypatch.setattr(setter, "section", lambda sheet, spanning=False: [])
    for name in ("field", "value"):
        monkeypatch.setattr(setter.say, name, lambda: "page")
    values = {"Name:": "book", "Date:": "stand", "Nr.:": "line"}
    monkeypatch.setattr(setter, "records", lambda sheet: setter._records(sheet, dict(values), 30))
    blocks = setter._body(sheet, 0, ((setter.records, 1.0),))
    assert len(blocks) == 9 and len({round(block.box[0]) for block in blocks}) == 3
    assert all(re.match("Name: .* Date: .* Nr.: ", block.text) for block in blocks)


def test_what_stands_left_of_a_paragraph_is_read_before_it(pack: Path) -> None:
    pairs = 0
    for seed in range(12):
        setter, sheet = _columns(pack, "train", seed, 1)
        sheet.bottom = sheet.top + 900
        blocks = setter.beside(sheet)
        for one, other in pairwise(blocks):
            assert other.box[1] > one.box[1] - 24
            if other.box[0] > one.box[2]:
                assert abs(one.box[1] - other.box[1]) < 24
                pairs += 1
    assert pairs > 12


def test_lines_of_some_listings_begin_alike(pack: Path, font: SizedFont) -> None:
    rng = random.Random(5)
    shelf = FontShelf(pack, fonts.load(pack, "train"), rng)
    setter = DocumentSetter(rng, shelf, Words(pack, "train", rng), 0.0)
    for _ in range(20):
        lines = setter._alike(shelf.any_face()[1], font, 20, 3000)
        begins = {line[0][0].text for line in lines}
        whole = {" ".join(run.text for run, _ in line) for line in lines}
        assert 1 <= len(begins) <= 4 and len(lines) == 20
        assert len(whole) >= 3, "and are not all the same"


def test_some_documents_of_training_are_of_few_kinds_of_elements(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for split, (low, high) in {"train": (15, 45), "test": (0, 0)}.items():
        setter, few = _columns(pack, split, 7)[0], list[bool]()
        monkeypatch.setattr(setter, "_body", lambda sheet, before, kinds, few=few: few.append(len(kinds) < 3) or [])
        for _ in range(100):
            setter.document(Image.new("L", (900, 1200)), 20, 3000)
        assert low <= sum(few) <= high, split


def test_half_of_the_listings_of_training_are_in_some_notation_and_none_of_the_held_out_ones(
    pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    kept = Listings.lines
    monkeypatch.setattr(Listings, "lines", lambda self, count: calls.append(count) or kept(self, count))
    for split, (low, high) in {"train": (60, 100), "test": (0, 0), "prose": (0, 0)}.items():
        maker = PageMaker(pack, split, 6)
        calls.clear()
        for _ in range(160):
            sheet = maker.documents.sheet(Image.new("L", (900, 1200)), 20, 3000, 1)
            maker.documents.listing(sheet)
        assert low <= len(calls) <= high, split
