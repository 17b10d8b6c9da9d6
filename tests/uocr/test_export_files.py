"""Exported files: names, existing targets, full and read-only targets, memory."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import socket
import stat
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from export_samples import document, many_pages, page, page_picture, rich_page
from uocr.document import Document, FinishReason
from uocr.errors import InvalidRequest, OutputExists, OutputFailed
from uocr.export import FORMATS, export
from uocr.export.plain_text import page_text

THREE = document(
    page(("text", "end of one")),
    page(("text", "two"), index=1, finish=FinishReason.LENGTH),
    page(("text", "three"), index=2),
)


@pytest.fixture(params=FORMATS)
def format(request):
    return request.param


def test_plain_text(tmp_path):
    export(document(rich_page()), tmp_path / "a.txt")
    assert (
        (tmp_path / "a.txt").read_text(encoding="utf-8")
        == """\
Harbour log

Depth was d = 3.2 m at noon.

- first
- second | half
    - inner
- third

[picture]

[picture]

Fig. 1

Hour\tDepth | m
12\t3.2 3.3

a\tb\t
\tc\tx^2

E = mc^2

7
"""
    )


def test_words_are_not_glued_at_page_borders(tmp_path):
    export(THREE, tmp_path / "a.txt")
    text = (tmp_path / "a.txt").read_text()
    assert text.split("\f")[0].split()[-1] == "one"
    assert text.split() == [
        "end",
        "of",
        "one",
        "two",
        "[Page",
        "2",
        "is",
        "cut",
        "short:",
        "the",
        "limit",
        "of",
        "generated",
        "text",
        "was",
        "reached",
        "before",
        "its",
        "end.]",
        "three",
    ]
    assert text.count("\f") == 2


def test_pages_keep_the_order_they_are_given_in(tmp_path):
    export([page(("text", f"page {i}"), index=i - 1) for i in (1, 2, 10)], tmp_path / "a.txt")
    assert [p.strip() for p in (tmp_path / "a.txt").read_text().split("\f")] == [
        "page 1",
        "page 2",
        "page 10",
    ]


def test_one_file_a_page(format, tmp_path):
    done = export(THREE, tmp_path / f"a.{format}", per_page=True)
    assert [file.name for file in done.files] == [f"a-000{i}.{format}" for i in (1, 2, 3)]
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"a-000{i}.{format}" for i in (1, 2, 3)]
    assert done.pages == 3


def test_one_file_a_page_with_pictures_in_one_folder(tmp_path):
    done = export(
        document(rich_page(), rich_page()), tmp_path / "a.md", per_page=True, page_images=page_picture
    )
    assert done.pictures == tmp_path / "a-pictures"
    assert "a-pictures/0003.jpg" in (tmp_path / "a-0002.md").read_text()
    assert len(list(done.pictures.iterdir())) == 4


def test_an_existing_file_is_not_overwritten_unless_asked(format, tmp_path):
    target = tmp_path / f"a.{format}"
    target.write_text("precious")
    with pytest.raises(OutputExists, match="exists already"):
        export(THREE, target)
    assert target.read_text() == "precious"
    export(THREE, target, overwrite=True)
    assert target.read_bytes() != b"precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == [target.name]


def test_one_file_a_page_stops_at_an_existing_one(tmp_path):
    (tmp_path / "a-0002.txt").write_text("precious")
    with pytest.raises(OutputExists):
        export(THREE, tmp_path / "a.txt", per_page=True)
    assert (tmp_path / "a-0002.txt").read_text() == "precious"


def test_an_existing_picture_folder_is_not_touched_unless_asked(tmp_path):
    (tmp_path / "a-pictures").mkdir()
    (tmp_path / "a-pictures" / "mine.jpg").write_text("precious")
    with pytest.raises(OutputExists, match="a-pictures"):
        export(document(rich_page()), tmp_path / "a.md", page_images=page_picture)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a-pictures"]
    export(document(rich_page()), tmp_path / "a.md", page_images=page_picture, overwrite=True)
    assert sorted(p.name for p in (tmp_path / "a-pictures").iterdir()) == ["0001.jpg", "0002.jpg", "mine.jpg"]


def test_a_name_taken_while_writing_is_not_overwritten(tmp_path):
    def pages() -> Iterator[object]:
        yield page(("text", "a"))
        (tmp_path / "a.txt").write_text("precious")

    with pytest.raises(OutputExists):
        export(pages(), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "precious"


def test_a_folder_of_that_name_is_refused(tmp_path):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(OutputExists, match="is a folder"):
        export(THREE, tmp_path / "a.txt", overwrite=True)


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(InvalidRequest, match=r"choose one of txt, md, json"):
        export(THREE, tmp_path / "a.xyz")
    with pytest.raises(InvalidRequest, match="no suffix"):
        export(THREE, tmp_path / "a")
    assert export(THREE, tmp_path / "a", "txt").files == [tmp_path / "a"]


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """The system refuses to let a file of this process grow beyond `size` bytes: a full disk in small."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("old", [None, "precious"])
def test_a_full_target_keeps_the_text_and_the_old_file(format, old, tmp_path):
    target = tmp_path / f"a.{format}"
    if old:
        target.write_text(old)
    long = document(*many_pages(40))
    with largest_file(2_000), pytest.raises(OutputFailed, match="beyond the size") as caught:
        export(long, target, overwrite=True)
    assert str(target) in str(caught.value)
    assert caught.value.text == "\n\n".join(page_text(page, between="\n") for page in long.pages)
    assert [p.name for p in tmp_path.iterdir()] == ([target.name] if old else [])
    assert not old or target.read_text() == old


def test_a_target_full_in_the_middle_of_a_stream_keeps_what_was_read_so_far(tmp_path):
    with largest_file(20_000), pytest.raises(OutputFailed) as caught:
        export(many_pages(400), tmp_path / "a.txt")
    assert caught.value.text.startswith("Chapter 0\nword0-0 ")
    assert "Chapter 5\n" in caught.value.text
    assert "Chapter 399" not in caught.value.text


def test_a_full_target_while_pictures_are_saved_leaves_no_half_export(tmp_path):
    with largest_file(300), pytest.raises(OutputFailed, match="a-pictures"):
        export(document(rich_page()), tmp_path / "a.md", page_images=page_picture)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to a read-only folder")
def test_a_read_only_folder_keeps_the_text(format, tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputFailed, match="not allowed") as caught:
            export(THREE, tmp_path / f"a.{format}")
    finally:
        tmp_path.chmod(0o700)
    assert caught.value.text == THREE.text


def test_a_missing_folder_keeps_the_text(format, tmp_path):
    with pytest.raises(OutputFailed, match="the folder does not exist; create it first") as caught:
        export(THREE, tmp_path / "none" / f"a.{format}")
    assert caught.value.text == THREE.text


def test_a_failure_while_reading_leaves_nothing_behind(format, tmp_path):
    def pages() -> Iterator[object]:
        yield rich_page()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(pages(), tmp_path / f"a.{format}", page_images=page_picture)
    assert list(tmp_path.iterdir()) == []


def test_partial_files_of_others_are_never_touched(tmp_path):
    """A user's own file may be called X.partial, and another process may be writing the same target."""
    (tmp_path / "a-pictures.partial").mkdir()
    (tmp_path / "a-pictures.partial" / "0009.jpg").write_text("mine")
    (tmp_path / "a.md.partial").write_text("mine")
    export(document(rich_page()), tmp_path / "a.md", page_images=page_picture)
    assert (tmp_path / "a.md.partial").read_text() == "mine"
    assert (tmp_path / "a-pictures.partial" / "0009.jpg").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "a-pictures",
        "a-pictures.partial",
        "a.md",
        "a.md.partial",
    ]


def test_what_a_killed_export_left_goes_with_the_next_one_a_day_later(tmp_path):
    left = ["a.md.0123abcd.partial", "a-0002.md.0123abcd.partial", "a.md.89abcdef.partial-0"]
    others = ["b.md.0123abcd.partial", "a.md.partial", "a.md.notahex!.partial", "xa.md.0123abcd.partial"]
    for name in left + others:
        (tmp_path / name).write_text("half")
    (tmp_path / "a-pictures.0123abcd.partial").mkdir()
    (tmp_path / "a-pictures.0123abcd.partial" / "0001.jpg").write_text("half")
    first = export(document(page(("text", "words"))), tmp_path / "a.md")
    assert first.notes == [] and all((tmp_path / name).exists() for name in left + others)
    yesterday = time.time() - 100_000
    for path in tmp_path.iterdir():
        os.utime(path, (yesterday, yesterday))
    second = export(document(page(("text", "words"))), tmp_path / "a.md", overwrite=True)
    assert second.notes == ["what an earlier export to this name had left half written was removed"]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["a.md", *others])


def test_two_writers_of_one_target_do_not_meet(format, tmp_path):
    """The second finishes while the first is in the middle: without `overwrite` the first is refused."""
    target = tmp_path / f"a.{format}"

    def pages(overwrite: bool) -> Iterator[object]:
        yield page(("text", "first"))
        export(THREE, target, overwrite=overwrite)

    export(THREE, tmp_path / f"alone.{format}")
    with pytest.raises(OutputExists):
        export(pages(False), target)
    assert target.stat().st_size > 0
    if format in ("txt", "md", "json", "html"):
        assert target.read_bytes() == (tmp_path / f"alone.{format}").read_bytes()
    export(pages(True), target, overwrite=True)
    assert "three" not in target.read_text(errors="replace") or format in ("docx", "pdf")
    assert sorted(p.name for p in tmp_path.iterdir()) == [target.name, f"alone.{format}"]


def test_a_symbolic_link_is_written_through_and_stays(format, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / f"a.{format}").symlink_to(f"real/b.{format}")
    with pytest.raises(OutputExists):
        export(THREE, tmp_path / f"a.{format}")
    for _ in range(2):  # a link to nothing, then one to a file
        export(THREE, tmp_path / f"a.{format}", overwrite=True)
        assert (tmp_path / f"a.{format}").is_symlink()
        assert [p.name for p in (tmp_path / "real").iterdir()] == [f"b.{format}"]


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "a.txt").chmod(0o640)
    export(THREE, tmp_path / "a.txt", overwrite=True)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


def test_a_pipe_gets_the_whole_file_and_stays_a_pipe(format, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # holds 64 KiB without anybody reading
    try:
        export(document(page(("text", "short"))), pipe, format, overwrite=True)
        found = os.read(reader, 1 << 20)
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert found[:1] in (b"s", b"{", b"<", b"P", b"%") and found
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_a_device_is_written_into_and_never_replaced(format, monkeypatch):
    real = os.replace

    def replace(source, target):  # a mistake must not cost root the machine's devices
        assert not str(target).startswith("/dev/")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    before = os.stat("/dev/null")
    export(THREE, "/dev/null", format, overwrite=True)
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode) and (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)


def make_device(path: Path, minor: int) -> None:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        with open(path, "rb"):
            pass
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")


def test_a_full_device_is_told_and_the_text_kept(format, tmp_path):
    make_device(tmp_path / "full", 7)
    with pytest.raises(OutputFailed, match="the disk is full") as caught:
        export(THREE, tmp_path / "full", format, overwrite=True)
    assert caught.value.text == THREE.text
    assert stat.S_ISCHR((tmp_path / "full").stat().st_mode)


def test_a_socket_is_refused(format, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets may have 107 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(OutputFailed, match="s is a socket and is not written to; choose a file"):
            export(THREE, "s", format, overwrite=True)
    assert stat.S_ISSOCK(os.stat("s").st_mode)


def test_a_descriptor_that_leads_to_a_file_is_appended_to(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("before\n")
    descriptor = os.open(kept, os.O_RDWR | os.O_APPEND)
    try:
        export(document(page(("text", "after"))), f"/dev/fd/{descriptor}", "txt", overwrite=True)
    finally:
        os.close(descriptor)
    assert kept.read_text() == "before\nafter\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("n" * 300 + ".txt", "the name is too long"),
        ("file/a.txt", "a file stands where a folder should be"),
        ("circle", "in a circle"),
        ("circle/a.txt", "in a circle"),
    ],
)
def test_names_that_the_system_refuses_are_told_in_a_sentence(name, words, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OutputFailed, match=words):
        export(THREE, tmp_path / name, "txt", overwrite=True)


def test_the_longest_name_has_room_for_its_partial_file(format, tmp_path):
    target = tmp_path / ("n" * (254 - len(format)) + f".{format}")
    export(THREE, target)
    assert target.exists()


def odd_characters() -> Document:
    """Every control character, NUL, lone surrogates, non-characters, each between letters."""
    odd = [
        *range(0x20),
        *range(0x7F, 0xA0),
        0xAD,
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
        0xD800,
        0xDBFF,
        0xDC00,
        0xDFFF,
        0xFEFF,
        0xFFFE,
        0xFFFF,
    ]
    texts = [("text", f"A{chr(code)}B") for code in odd]
    tables = [("table", f"<table><tr><td>C{chr(code)}D</td></tr></table>") for code in odd]
    titles = [("title", f"E{chr(code)}F") for code in odd]
    labels = [(f"label{chr(code)}", "G") for code in odd]
    return Document(
        "s\0\ud800.pdf",
        [
            page(
                *labels,
                *texts,
                *tables,
                *titles,
                finish=FinishReason.ERROR,
                error="bad \x07 \ud800",
                source="s\0\ud800.pdf",
            )
        ],
        "m\x01",
        "id",
    )


def test_no_character_loses_an_export(format, tmp_path):
    done = export(odd_characters(), tmp_path / f"a.{format}", page_images=page_picture)
    assert done.files[0].stat().st_size > 0
    if format != "json":
        assert done.notes[0].endswith("were replaced or removed")


def peak(count: int, target: Path) -> int:
    """Bytes that exporting `count` pages needs at its peak, beyond what is there before."""
    gc.collect()
    tracemalloc.start()
    try:
        export(many_pages(count), target, page_images=page_picture)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("format", ["txt", "md", "json", "html"])
def test_ten_times_the_pages_need_hardly_more_memory(format, tmp_path):
    export(many_pages(2), tmp_path / f"warm.{format}", page_images=page_picture)
    small, large = peak(50, tmp_path / f"a.{format}"), peak(500, tmp_path / f"b.{format}")
    kept_text = sum(len(p.text) + 80 for p in many_pages(450))  # kept in case the target fails at the end
    assert large < 2 * small + kept_text
