"""Arguments become inputs in the order a person expects; page ranges mean what people write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from uocr.errors import EmptyDocument, InvalidRequest, UnreadableFile
from uocr.sources import Input, expand_input, expand_inputs, natural_key, open_source
from uocr.sources.ranges import choose_pages


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def names(found: list[str | Path], folder: Path) -> list[str]:
    return [Path(path).relative_to(folder).as_posix() for path in found]


# -- K17: order -----------------------------------------------------------------------------------

def test_a_folder_comes_in_natural_order(tmp_path: Path):
    make(tmp_path, "1.png", "10.png", "2.png", "Page 3.jpg", "page 20.jpg", "page 4.JPG")
    assert names(expand_inputs([tmp_path]), tmp_path) == [
        "1.png", "2.png", "10.png", "Page 3.jpg", "page 4.JPG", "page 20.jpg"]


def test_folders_in_a_folder_come_in_natural_order_too(tmp_path: Path):
    make(tmp_path, "b/2.png", "b/10.png", "a10/1.png", "a9/1.png", "z.png", "c/d/e/5.pdf")
    assert names(expand_inputs([tmp_path]), tmp_path) == [
        "a9/1.png", "a10/1.png", "b/2.png", "b/10.png", "c/d/e/5.pdf", "z.png"]
    assert names(expand_inputs([tmp_path], recursive=False), tmp_path) == ["z.png"]


def test_only_pictures_and_pdfs_are_taken_from_a_folder(tmp_path: Path):
    make(tmp_path, "a.png", "notes.txt", "a.docx", "._a.png", ".hidden.png", ".git/b.png", "Thumbs.db",
         "c.heic", "d.tif", "e.pdf", "README")
    assert names(expand_inputs([tmp_path]), tmp_path) == ["a.png", "c.heic", "d.tif", "e.pdf"]


def test_a_pattern_comes_in_natural_order(tmp_path: Path):
    make(tmp_path, "p1.png", "p10.png", "p2.png", "q1.png", "deep/p3.png")
    assert names(expand_inputs([str(tmp_path / "p*.png")]), tmp_path) == ["p1.png", "p2.png", "p10.png"]
    assert names(expand_inputs([str(tmp_path / "**" / "p*.png")]), tmp_path) == [
        "deep/p3.png", "p1.png", "p2.png", "p10.png"]


def test_files_keep_the_order_they_are_named_in_and_come_once(tmp_path: Path):
    make(tmp_path, "1.png", "2.png", "3.png")
    given = [tmp_path / "3.png", str(tmp_path / "1.png"), tmp_path / "3.png", tmp_path]
    assert names(expand_inputs(given), tmp_path) == ["3.png", "1.png", "2.png"]


def test_a_name_that_looks_like_a_pattern_is_a_name_first(tmp_path: Path):
    make(tmp_path, "scan[1].png", "scan1.png")
    assert names(expand_inputs([str(tmp_path / "scan[1].png")]), tmp_path) == ["scan[1].png"]


def test_addresses_standard_input_and_odd_names_pass_through(tmp_path: Path):
    make(tmp_path, "no-suffix")
    given = ["-", "https://example.com/a.png?x=[1]", "HTTP://example.com/*.png", "data:image/png;base64,AAAA",
             "ftp://example.com/a[1].png", "s3://bucket/*.pdf", tmp_path / "no-suffix", tmp_path / "missing.png"]
    assert expand_inputs(given) == given
    windows = ["C:\\scans\\a.png", "C:/scans/a.png", "12:30.png"]  # no addresses
    assert expand_inputs(windows) == [Path(name) for name in windows]


def test_an_address_without_parts_is_told():
    with pytest.raises(InvalidRequest, match=r"^http://\[x/a.png is not an address: Invalid IPv6 URL"):
        expand_inputs(["http://me:secret@[x/a.png"])


def test_nothing_found_is_told(tmp_path: Path):
    with pytest.raises(UnreadableFile, match=r"No file matches .*\*.png"):
        expand_inputs([str(tmp_path / "*.png")])
    with pytest.raises(EmptyDocument, match="holds no picture and no PDF") as empty:
        expand_inputs([tmp_path])
    assert isinstance(empty.value, InvalidRequest) and empty.value.exit_code == 13


def test_an_empty_name_is_refused_and_never_the_current_folder(tmp_path: Path, monkeypatch):
    make(tmp_path, "a.png")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableFile, match="The name of an input is empty"):
        expand_inputs([""])
    with pytest.raises(UnreadableFile, match="The name of an input is empty"):
        open_source("")
    assert expand_inputs(["."]) == [Path("a.png")]


def test_each_input_knows_the_folder_it_was_found_in(tmp_path: Path):
    make(tmp_path, "a/1.png", "a/b/2.png")
    a = tmp_path / "a"
    assert expand_input(a) == [Input(a / "1.png", a), Input(a / "b/2.png", a)]
    assert expand_input(str(tmp_path / "*" / "b" / "*.png")) == [Input(a / "b/2.png", tmp_path)]
    assert expand_input(str(a / "?.png")) == [Input(a / "1.png", a)]
    assert expand_input(str(a / "1.png")) == [Input(a / "1.png")]


def test_names_that_the_system_refuses_are_told_when_they_are_opened(tmp_path: Path):
    (tmp_path / "circle").symlink_to("circle")
    make(tmp_path, "file")
    refused = ["n" * 300, str(tmp_path / "n" / ("n" * 300)), str(tmp_path / "circle"), str(tmp_path / "circle/a.png"),
               str(tmp_path / "file" / "a.png"), "~nobody-of-that-name/a.png"]
    for name in refused:
        assert expand_inputs([name]) == [Path(name)]
        with pytest.raises(UnreadableFile, match="cannot be opened: "):
            open_source(Path(name))
    with pytest.raises(UnreadableFile, match="No file matches"):
        expand_inputs([str(tmp_path / ("n" * 300) / "*.png")])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path):
    make(tmp_path, "a/1.png")
    (tmp_path / "a").chmod(0)
    try:
        with pytest.raises(UnreadableFile, match="cannot be listed"):
            expand_inputs([tmp_path / "a"])
    finally:
        (tmp_path / "a").chmod(0o700)


def test_a_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UnreadableFile, match="Standard input is closed"):
        open_source("-")


def test_a_folder_that_links_to_itself_ends(tmp_path: Path):
    make(tmp_path, "a/1.png")
    os.symlink(tmp_path, tmp_path / "a" / "again")
    assert names(expand_inputs([tmp_path]), tmp_path) == ["a/1.png"]


def test_ten_thousand_files(tmp_path: Path):
    for n in range(10_000):
        os.close(os.open(f"{tmp_path}/{n}.png", os.O_CREAT))
    found = expand_inputs([tmp_path])
    assert [int(Path(path).stem) for path in found] == list(range(10_000))


def test_natural_keys_never_tie_and_compare_any_names():
    given = ["a", "A", "1", "01", "a1b2", "a1b10", "", "1a", "é", "²", "a١"]
    assert len({natural_key(name) for name in given}) == len(given)
    assert sorted(given, key=natural_key)[0] == ""
    assert natural_key("a1b2") < natural_key("a1b10") < natural_key("b")


# -- page ranges ----------------------------------------------------------------------------------

@pytest.mark.parametrize(("pages", "expected"), [
    (None, [0, 1, 2, 3, 4, 5]),
    ("", [0, 1, 2, 3, 4, 5]),
    ("1-3,5,-1", [0, 1, 2, 4, 5]),
    ("2", [1]),
    ("-1", [5]),
    ("-2-", [4, 5]),
    ("-3--1", [3, 4, 5]),
    ("4-", [3, 4, 5]),
    ("3-1", [2, 1, 0]),
    (" 1 - 2 , 6 ", [0, 1, 5]),
    ("2,1,2", [1, 0]),
    ("1-6,1", [0, 1, 2, 3, 4, 5]),
])
def test_page_ranges(pages: str | None, expected: list[int]):
    assert choose_pages(pages, 6, "a.pdf") == expected


@pytest.mark.parametrize(("pages", "words"), [
    ("0", "There is no page 0 in a.pdf, which has 6 pages"),
    ("7", "There is no page 7 in a.pdf, which has 6 pages"),
    ("-7", "There is no page -7 in a.pdf"),
    ("1-9", "There is no page 9 in a.pdf"),
    ("one", "The page range 'one' cannot be read"),
    ("1,,2", "The page range '' cannot be read"),
    ("1-2-3", "The page range '1-2-3' cannot be read"),
    ("1.5", "The page range '1.5' cannot be read"),
    ("--1", "The page range '--1' cannot be read"),
])
def test_page_ranges_that_mean_nothing(pages: str, words: str):
    with pytest.raises(InvalidRequest, match=words):
        choose_pages(pages, 6, "a.pdf")


def test_a_document_without_pages_is_empty_whatever_is_asked():
    for pages in (None, "1"):
        with pytest.raises(EmptyDocument, match=r"a.pdf has no page in it"):
            choose_pages(pages, 0, "a.pdf")
