"""A reading that is stopped: nothing read is lost, and no unfinished file takes a final name."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from uocr import UnlimitedOCR, errors, events
from uocr.cli.stopped import file_words, holds_text, input_words, missing, page_words, without_unread_end
from uocr.cli.targets import Output, Targets
from uocr.document import Block, Document, FinishReason, Page
from uocr.sources import Input

from tests.conftest import SAMPLES

LEAFLET = str(SAMPLES / "leaflet.pdf")
"""Three pages of text."""
CANCELLED = errors.Cancelled.exit_code
Stop = Callable[[Callable[[events.ReadEvent], bool]], None]


@pytest.fixture
def stop_when(monkeypatch: pytest.MonkeyPatch) -> Stop:
    """Cancels, as Ctrl-C does, before the first event that a condition holds for is shown."""

    def arm(condition: Callable[[events.ReadEvent], bool]) -> None:
        real = UnlimitedOCR.stream

        def stream(self, source, *, control, **more):
            for event in real(self, source, control=control, **more):
                if condition(event):
                    control.cancel()
                yield event

        monkeypatch.setattr(UnlimitedOCR, "stream", stream)

    return arm


def begins(page: int) -> Callable[[events.ReadEvent], bool]:
    """When the page of that number begins: nothing of it is read."""
    return lambda event: isinstance(event, events.PageStarted) and event.page.index + 1 == page


def is_written(page: int, tokens: int = 60) -> Callable[[events.ReadEvent], bool]:
    """When so many tokens of the page of that number are written: some of its text is there."""
    started: list[int] = []

    def condition(event: events.ReadEvent) -> bool:
        if isinstance(event, events.PageStarted):
            started.append(event.page.index + 1)
        return started[-1:] == [page] and isinstance(event, events.TextDelta) and event.count >= tokens

    return condition


def files(folder: Path) -> list[str]:
    """All below `folder` but the state folder, as relative names."""
    found = (p.relative_to(folder) for p in folder.rglob("*"))
    return sorted(p.as_posix() for p in found if p.parts[0] != "state")


@pytest.mark.parametrize("more", [(), ("--per-page",), ("--format", "docx"), ("--format", "json")])
@pytest.mark.parametrize("name", ["out", "new/", "deep/new/out.md"])
def test_without_a_page_no_file_and_no_folder_is_made(run, stop_when: Stop, tmp_path: Path, more, name) -> None:
    if name.endswith(".md") and "--format" in more:
        name = name.removesuffix("md") + more[1]
    stop_when(begins(1))
    code, out, err = run("read", LEAFLET, "-o", f"{tmp_path}/{name}", "-q", *more)
    assert (code, out) == (CANCELLED, "")
    assert err.splitlines() == [
        f"{LEAFLET}: pages 1 to 3 were not read",
        f"{LEAFLET}: nothing was read, so nothing is written",
    ]
    assert files(tmp_path) == []


@pytest.mark.parametrize("format", ["md", "json", "html"])
def test_without_a_page_standard_output_stays_empty(run, stop_when: Stop, format: str) -> None:
    stop_when(begins(1))
    code, out, err = run("read", LEAFLET, "--format", format, "-q")
    assert (code, out) == (CANCELLED, "")
    assert "nothing was read, so nothing is written" in err


def test_pages_never_begun_are_told_once(run, stop_when: Stop) -> None:
    stop_when(begins(2))
    _, out, err = run("read", LEAFLET)
    assert err.count("not_read") == 0 and err.count("finish reason") == 2
    assert err.splitlines()[-1] == f"{LEAFLET}: pages 2 and 3 were not read"
    assert "Page 2 is cut short: reading was cancelled." in out and "Page 3 was not read." in out


def test_what_was_read_goes_to_a_partial_file_and_the_same_command_is_free(
    run, stop_when: Stop, tmp_path: Path
) -> None:
    command = ("read", LEAFLET, "-o", f"{tmp_path}/out.md", "-q")
    stop_when(is_written(1))
    code, out, err = run(*command)
    assert (code, out) == (CANCELLED, "")
    assert err.splitlines() == [
        f"{LEAFLET}: page 1 was cut short, pages 2 and 3 were not read",
        f"{LEAFLET}: what was read is in {tmp_path}/out.partial.md",
    ]
    assert files(tmp_path) == ["out.partial.md"]
    first = (tmp_path / "out.partial.md").read_text()
    assert len(first.partition("Page 1 is cut short")[0]) > 40 and "Page 3 was not read." in first
    assert run(*command)[0] == CANCELLED  # not refused, and what was kept first stays
    assert (tmp_path / "out.partial.md").read_text() == first
    assert files(tmp_path) == ["out.partial-2.md", "out.partial.md"]


def test_a_whole_file_is_never_replaced_by_part_of_one(run, stop_when: Stop, tmp_path: Path) -> None:
    (tmp_path / "out.md").write_text("whole")
    (tmp_path / "out.partial.md").write_text("mine")
    stop_when(is_written(1))
    assert run("read", LEAFLET, "-o", f"{tmp_path}/out.md", "--overwrite", "-q")[0] == CANCELLED
    assert (tmp_path / "out.md").read_text() == "whole"
    assert (tmp_path / "out.partial.md").read_text() == "mine"
    assert "Page 3 was not read." in (tmp_path / "out.partial-2.md").read_text()


def test_of_several_inputs_each_whole_one_has_its_name(run, stop_when: Stop, tmp_path: Path) -> None:
    names = [tmp_path / "in" / f"{n}.pdf" for n in "abcd"]
    (tmp_path / "in").mkdir()
    for name in names[1:]:
        shutil.copy(LEAFLET, name)
    Image.new("RGB", (60, 40), "white").save(names[0])
    stop_when(begins(2))
    code, _, err = run("read", *map(str, names), "-o", f"{tmp_path}/out/", "--preset", "tiny", "-q")
    assert code == CANCELLED
    assert [name for name in files(tmp_path) if name.startswith("out/")] == ["out/a.md", "out/b.partial.md"]
    assert err.splitlines()[-3:] == [
        f"{names[1]}: pages 2 and 3 were not read",
        f"{names[1]}: what was read is in {tmp_path}/out/b.partial.md",
        f"{names[2]} and 1 more input: not begun",
    ]


def test_inputs_never_begun_are_no_success(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped while the first, complete, is written."""
    from uocr.cli.read import Job

    real = Job._deliver

    def deliver(job, *arguments):
        real(job, *arguments)
        job.control.cancel()

    monkeypatch.setattr(Job, "_deliver", deliver)
    names = [str(tmp_path / f"{n}.png") for n in "ab"]
    for name in names:
        Image.new("RGB", (60, 40), "white").save(name)
    code, _, err = run("read", *names, "-o", f"{tmp_path}/out/", "--preset", "tiny", "-q")
    assert code == CANCELLED and err.endswith(f"{names[1]}: not begun\n")
    assert (tmp_path / "out" / "a.md").exists()


def test_one_file_a_page_is_partial_too(run, stop_when: Stop, tmp_path: Path) -> None:
    stop_when(is_written(1))
    code, _, err = run("read", LEAFLET, "-o", f"{tmp_path}/out.txt", "--per-page", "-q")
    assert code == CANCELLED
    assert files(tmp_path) == ["out.partial-0001.txt"]
    assert f"what was read is in {tmp_path}/out.partial-0001.txt" in err


def test_a_device_gets_what_was_read(run, stop_when: Stop) -> None:
    stop_when(is_written(1))
    code, _, err = run("read", LEAFLET, "-o", "/dev/null", "-q")
    assert code == CANCELLED and err == f"{LEAFLET}: page 1 was cut short, pages 2 and 3 were not read\n"


def test_json_on_standard_output_leaves_out_what_was_not_read(run, stop_when: Stop, tmp_path: Path) -> None:
    page = tmp_path / "a.png"
    Image.new("RGB", (60, 40), "white").save(page)
    stop_when(lambda event: begins(1)(event) and event.page.source == LEAFLET)
    code, out, _ = run("read", str(page), LEAFLET, "--json", "-q", "--preset", "tiny")
    assert code == CANCELLED
    assert [document["source"] for document in json.loads(out)["documents"]] == [str(page)]


def test_a_journal_that_failed_leaves_a_partial_file(
    run, stop_when: Stop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that the journal does not have would be lost otherwise."""
    from uocr.journal import Journal

    def full(*_: object) -> None:
        raise errors.OutputFailed("The journal a cannot be written: the disk is full.")

    monkeypatch.setattr(Journal, "append", full)
    stop_when(begins(2))
    code, _, err = run("read", LEAFLET, "-o", f"{tmp_path}/out.md", "--resume", "-q")
    assert code == errors.OutputFailed.exit_code
    assert f"what was read is in {tmp_path}/out.partial.md" in err
    assert files(tmp_path) == ["out.partial.md"]


def test_a_partial_file_that_cannot_be_written_keeps_its_text(
    run, stop_when: Stop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(document, *_, **__):
        raise errors.OutputFailed("out.partial.md: cannot be written: the disk is full.", document.text)

    monkeypatch.setattr("uocr.export.export", full)
    stop_when(is_written(1))
    _, _, err = run("read", LEAFLET, "-o", f"{tmp_path}/out.md", "-q")
    assert "the disk is full" in err and "The text that was read is kept in" in err


def test_the_signal_itself_at_once_leaves_nothing(tmp_path: Path) -> None:
    """From before the model is loaded to the first page: one exit code, no file, no traceback."""
    target = tmp_path / "out.md"
    command = [sys.executable, "-m", "uocr.cli", "read", LEAFLET, "-o", str(target)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert "page 1" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait() == CANCELLED, rest
    assert "Stopping; finished pages are kept." in rest and "Traceback" not in rest
    assert not target.exists() and "pages 1 to 3 were not read" in rest


def page(number: int, reason: FinishReason, text: str = "") -> Page:
    return Page("a.pdf", number - 1, 10, 10, [Block("text", (), text)] if text else [], finish_reason=reason)


def test_missing_pages_are_one_sentence() -> None:
    eos, cut, unread = FinishReason.EOS, FinishReason.CANCELLED, FinishReason.NOT_READ
    failed = FinishReason.ERROR

    def told(*pages: Page) -> str:
        return missing(Document("a.pdf", pages=list(pages)))

    assert told(page(1, eos, "words"), page(2, FinishReason.LENGTH)) == ""
    assert told(page(1, cut, "wor"), page(2, unread)) == "page 1 was cut short, page 2 was not read"
    assert told(page(1, eos), page(2, cut)) == "page 2 was not read"
    assert holds_text(page(1, eos)) and not holds_text(page(1, cut)) and holds_text(page(1, cut, "wor"))
    kept = [page(1, unread), page(2, eos), page(3, failed)]
    assert without_unread_end([*kept, page(4, cut), page(5, unread)]) == kept


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([2], "page 2"),
        ([2, 3], "pages 2 and 3"),
        ([3, 4, 5, 8], "pages 3 to 5 and 8"),
        ([1, 2, 4, 7, 8, 9], "pages 1, 2, 4 and 7 to 9"),
        ([3, 2, 1], "pages 3, 2 and 1"),
    ],
)
def test_page_numbers_are_listed_as_people_do(numbers: list[int], words: str) -> None:
    assert page_words(numbers) == words


def test_inputs_and_files_are_named_in_one_line() -> None:
    assert input_words([Path("a.png")]) == "a.png"
    assert input_words([Path("a.png"), "-"]) == "a.png and 1 more input"
    assert input_words(["https://me:secret@a.org/b.png", "-", "x"]) == "https://a.org/b.png and 2 more inputs"
    assert input_words(["-"]) == "standard input"
    assert input_words(["data:image/png;base64,AAAA"]) == "a data URI"
    assert file_words([Path("out/a.md")]) == "out/a.md"
    assert file_words([Path("out/a-0001.md"), Path("out/a-0003.md")]) == "out/a-0001.md to a-0003.md"


def test_partial_names_are_free_and_never_too_long(tmp_path: Path) -> None:
    def first(name: str) -> str:
        target = tmp_path / name
        places = Targets(Output(target, False), "md", [Input(Path("a.pdf"))], per_page=False, overwrite=True)
        return next(places.partial_names(target)).name

    assert first("a.md") == "a.partial.md"
    (tmp_path / "a.partial.md").symlink_to("nowhere")
    (tmp_path / "a.partial-2-pictures").mkdir()
    (tmp_path / "a.partial-3-0001.md").write_text("")
    assert first("a.md") == "a.partial-4.md"
    assert first("n" * 250 + ".md") == "n" * 180 + ".partial.md"


def test_an_input_named_twice_is_read_once_and_that_is_said(run, tmp_path: Path) -> None:
    names = [tmp_path / f"{n}.png" for n in "ab"]
    for name in names:
        Image.new("RGB", (60, 40), "white").save(name)
    quick = ("--preset", "tiny", "-q")
    err = run("read", str(names[0]), str(names[0]), "-o", f"{tmp_path}/one/", *quick)[2]
    assert err.splitlines()[0] == f"{names[0]}: named more than once; it is read once"
    assert err.count("named more than once") == 1 and len(list((tmp_path / "one").iterdir())) == 1
    err = run("read", *map(str, names), f"{tmp_path}/*.png", "-o", f"{tmp_path}/two/", *quick)[2]
    assert err.splitlines()[0] == f"{names[0]} and 1 more input: named more than once; each is read once"
    assert "more than once" not in run("read", *map(str, names), "-o", f"{tmp_path}/three/", *quick)[2]
