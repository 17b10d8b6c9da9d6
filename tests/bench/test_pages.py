"""Sets of pages, drawn from a pack that needs no download, and a whole run of the quality bench over some of them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from uocr import document
from uocr.document import Block, Box, FinishReason
from uocr.views import make_views

from bench.held_out import Pair, compare, equal_boxes, figures
from bench.quality import __main__ as command
from bench.quality import generated, readers, table_pages, teds
from bench.quality.kept import Kept
from bench.quality.pages import Page, PageCache, PageSet
from training.pages import Kind
from training.smoke import smoke_pack


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("smoke") / "pack")


SMALL = PageSet("small", generated.Generated(3, Kind(1, clean=True)))


def test_a_page_depends_on_its_number_alone_and_is_drawn_once(pack: Path, tmp_path: Path) -> None:
    first = list(PageCache(tmp_path / "a", pack).pages(SMALL, 2))
    second = list(PageCache(tmp_path / "b", pack, processes=2).pages(SMALL, 2))
    for one, two in zip(first, second, strict=True):
        assert one.blocks == two.blocks
        assert one.picture.read_bytes() == two.picture.read_bytes()
    before = first[1].picture.stat().st_mtime_ns
    assert next(iter(PageCache(tmp_path / "a", pack).pages(SMALL, 1))).text == first[0].text
    assert first[1].picture.stat().st_mtime_ns == before


def test_another_pack_has_pages_of_its_own(pack: Path, tmp_path: Path) -> None:
    key = PageCache(tmp_path, pack).key
    words = pack / "text" / "words.test.txt"
    old = words.read_text("utf-8")
    words.write_text(old + "more\n", "utf-8")
    try:
        assert PageCache(tmp_path, pack).key != key
    finally:
        words.write_text(old, "utf-8")


def test_true_boxes_hold_ink_and_the_space_around_holds_none(pack: Path) -> None:
    picture, blocks = generated.Generated(3, Kind(1, clean=True), generated.looks.clean)(pack, 0)
    ink = np.asarray(picture.convert("L")) < 128
    assert blocks
    for block in blocks:
        assert block.box is not None
        left, top, right, bottom = block.box.pixels(*picture.size)
        assert ink[top:bottom, left:right].any()
        ink[max(top - 3, 0):bottom + 4, max(left - 3, 0):right + 4] = False
    assert ink.mean() < 0.002


def test_a_page_read_through_crops_is_the_mosaic_of_its_crops(pack: Path) -> None:
    picture, _ = generated.Generated(8, Kind(1, (2, 2)), generated.looks.clean)(pack, 0)
    views = make_views(picture, "gundam")
    assert picture.size == (1280, 1280) and (views.crop_cols, views.crop_rows) == (2, 2)
    assert np.array_equal(next(iter(views.views)), np.asarray(picture)[:640, :640])


def test_table_pages_hold_one_table_of_known_shape(pack: Path) -> None:
    picture, blocks = table_pages.table_page(pack, 1)
    assert picture.size == (1024, 820)
    assert [block.label for block in blocks] == ["table"]
    assert teds.similarity(blocks[0].text, blocks[0].text) == 1.0
    found = teds.tree(blocks[0].text)
    assert found is not None and 3 <= len(found.children) <= 8


def test_every_set_has_its_own_name() -> None:
    names = [s.name for s in (*generated.sets(), *table_pages.sets())]
    assert len(names) == len(set(names))
    assert names[:4] == [f"density {n}" for n in range(4)]


def test_a_run_writes_a_report_of_what_was_read(pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "out"
    args = command.parse(["--set", "density 0", "--set", "blank", "--pages", "1", "--confidence-pages", "0", "--pack",
                          str(pack), "--cache", str(tmp_path / "cache"), "--out", str(out)])
    command.run(args)
    report = json.loads((out / "quality.json").read_text("utf-8"))
    assert report["model"]["quantisation"] == "q8"
    figures_ = report["sets"]["density 0"]["readers"]["uocr"]
    assert figures_["pages"] == 1 and figures_["characters"] > 0 and figures_["peak_mebibytes"] > 20
    assert "pages_with_inventions" in report["sets"]["blank"]["readers"]["uocr"]
    stored = [json.loads(line) for line in (out / "readings.jsonl").read_text("utf-8").splitlines()[1:]]
    assert [(r["reader"], r["set"]) for r in stored] == [("uocr", "density 0"), ("uocr", "blank")]
    assert all(r["seconds"] > 0 and r["cpu_seconds"] > 0 for r in stored)
    assert "density 0" in capsys.readouterr().out


def test_a_second_run_reads_only_what_is_missing(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def arguments(pages: int, jobs: int) -> argparse.Namespace:
        return command.parse(["--set", "density 0", "--pages", str(pages), "--confidence-pages", "0", "--pack",
                              str(pack), "--jobs", str(jobs), "--cache", str(tmp_path / "cache"), "--out",
                              str(tmp_path / "out")])

    command.run(arguments(1, 1))
    started: list[int] = []
    start = readers.Reader.start
    monkeypatch.setattr(readers.Reader, "start", lambda self, page: started.append(page.number) or start(self, page))
    command.run(arguments(3, 2))
    assert started == [1, 2]
    stored = json.loads((tmp_path / "out" / "quality.json").read_text("utf-8"))
    assert stored["sets"]["density 0"]["readers"]["uocr"]["pages"] == 3 and stored["jobs"] == 2
    kept = Kept(tmp_path / "out" / "readings.jsonl", "other pages")
    assert not kept.known, "readings of other pages are not taken for these"


def test_an_unknown_set_is_refused_before_anything_is_read(pack: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no set 'densities'"):
        command.run(command.parse(["--set", "densities", "--pack", str(pack), "--out", str(tmp_path)]))


def read(text: str) -> document.Page:
    return document.Page("", 0, 9, 9, blocks=[block(text, Box(0, 0, 9, 9))], finish_reason=FinishReason.EOS)


def block(text: str, *boxes: Box) -> Block:
    return Block("text", boxes, text)


def test_boxes_are_equal_within_two_units_at_each_side() -> None:
    theirs = [block("a", Box(10, 10, 100, 50)), block("b", Box(10, 60, 100, 90))]
    assert equal_boxes([block("a", Box(12, 8, 100, 50)), block("b", Box(10, 60, 100, 93))], theirs) == 1
    assert equal_boxes([], theirs) == 0


def test_a_block_of_several_lines_stays_whole() -> None:
    text = "<|det|>text [0, 0, 9, 9]<|/det|>one\ntwo\n\nfour\n<|det|>title [1, 2, 3, 4]<|/det|>end\n"
    assert [(b.label, b.text) for b in generated.blocks_of(text)] == [("text", "one\ntwo\n\nfour"), ("title", "end")]


def test_the_comparison_pairs_errors_by_page(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "p.png")
    truth = generated.blocks_of("<|det|>text [0, 0, 9, 9]<|/det|>abcdefghij\n")
    page = Page("density 0", 0, tmp_path / "p.png", tuple(truth), "base")
    pairs = [compare(page, read("abcdefghij"), read("abcdefghix")),
             Pair("density 1", 0, "abcdefghij", "abcdefghxx", "abcdefghij", 1, 0, False, False)]
    found = figures(pairs)
    assert (found["engine_rate"], found["torch_rate"]) == (10.0, 5.0)
    assert found["difference"] == [5.0, -10.0, 20.0]
    assert found["by_set"] == {"density 0": [0.0, 10.0], "density 1": [20.0, 0.0]}
    assert (found["ended_pages"], found["ended_difference"]) == (1, [-10.0, -10.0, -10.0])
    assert (found["blocks"], found["equal_boxes"], found["pages_with_equal_text"]) == (2, 50.0, 0)
