"""Pages survive a kill; a journal that no longer fits is refused, saying what changed."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from export_samples import page, rich_page
from uocr import journal
from uocr.document import FinishReason, Page
from uocr.errors import JournalMismatch, OutputFailed
from uocr.export.json_file import dump_json, page_record
from uocr.journal import Journal, default_path, discard

KEY = {"file": "f" * 64, "settings": "5" * 64, "model": "d" * 32, "engine": "0.1.0"}
PAGES = [
    rich_page(),
    page(("text", "\ud800 \u202e \0 line\u2028end"), index=1),
    page(index=2, finish=FinishReason.LOOP),
]


def written(path: Path, pages: list[Page] = PAGES) -> Path:
    with Journal.open(path, KEY) as log:
        for done in pages:
            log.append(done)
    return path


def test_pages_come_back_byte_identical(tmp_path):
    with Journal.open(written(tmp_path / "j"), KEY) as log:
        assert log.pages == PAGES
        assert [dump_json(page_record(p)) for p in log.pages] == [dump_json(page_record(p)) for p in PAGES]


def test_a_resumed_journal_goes_on(tmp_path):
    written(tmp_path / "j", PAGES[:2])
    with Journal.open(tmp_path / "j", KEY) as log:
        log.append(PAGES[2])
        assert log.pages == PAGES
    with Journal.open(tmp_path / "j", KEY) as log:
        assert log.pages == PAGES


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"file": "e" * 64}, "the file (ffffffffffff then, eeeeeeeeeeee now) changed"),
        ({"settings": "6" * 64}, "the settings (555555555555 then, 666666666666 now) changed"),
        ({"model": "c" * 32}, "the model (dddddddddddd then, cccccccccccc now) changed"),
        ({"engine": "0.2.0"}, "the engine version (0.1.0 then, 0.2.0 now) changed"),
        (
            {"model": "c" * 32, "engine": "0.2.0"},
            "the model (dddddddddddd then, cccccccccccc now) and "
            "the engine version (0.1.0 then, 0.2.0 now) changed",
        ),
    ],
)
def test_what_changed_is_told_and_the_journal_stays(changes, told, tmp_path):
    path = written(tmp_path / "j")
    before = path.read_bytes()
    with pytest.raises(JournalMismatch) as caught:
        Journal.open(path, KEY | changes)
    assert told in str(caught.value)
    assert caught.value.changed == tuple(changes)
    assert path.read_bytes() == before
    with Journal.open(path, KEY) as log:
        assert log.pages == PAGES


def test_the_setting_that_changed_is_told_with_both_values(tmp_path):
    then = {"preset": "base", "region": (1, 2, 3, 4), "dpi": 300, "rotate": 0}
    with Journal.open(tmp_path / "j", KEY, then) as log:
        log.append(PAGES[0])
    now = {"preset": None, "region": (1, 2, 3, 4), "dpi": 200, "shear": 1}
    with pytest.raises(JournalMismatch) as caught:
        Journal.open(tmp_path / "j", KEY | {"settings": "6" * 64}, now)
    assert (
        'the settings (preset: "base" then, null now; dpi: 300 then, 200 now; rotate: 0 then, unknown now; '
        "shear: unknown then, 1 now) changed" in str(caught.value)
    )
    assert caught.value.changed == ("settings",)


def test_details_alone_never_refuse_a_journal(tmp_path):
    written(tmp_path / "j", PAGES[:1])
    with Journal.open(tmp_path / "j", KEY, {"dpi": 200}) as log:
        assert log.pages == PAGES[:1]


def test_a_journal_without_a_page_is_removed(tmp_path):
    """Nothing is lost with it, and it would only refuse the same job with other settings."""
    with Journal.open(tmp_path / "j", KEY):
        assert (tmp_path / "j").exists()
    assert not (tmp_path / "j").exists()


def test_a_key_without_a_part_does_not_fit(tmp_path):
    path = written(tmp_path / "j")
    with pytest.raises(JournalMismatch, match=r"the engine version \(0.1.0 then, none now\)"):
        Journal.open(path, {name: value for name, value in KEY.items() if name != "engine"})


def test_a_cut_at_any_byte_keeps_every_whole_page(tmp_path):
    small = [page(("text", str(i)), index=i) for i in range(2)]
    whole = written(tmp_path / "j", small).read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    near_the_ends = {end + shift for end in ends for shift in (-2, -1, 0, 1)}
    cuts = {*range(0, ends[0], 9), *range(0, len(whole), 97), *near_the_ends}
    for cut in sorted(cut for cut in cuts if cut < len(whole)):
        (tmp_path / "cut").write_bytes(whole[:cut])
        with Journal.open(tmp_path / "cut", KEY) as log:
            assert len(log.pages) == max(sum(end <= cut for end in ends) - 1, 0)
            log.append(small[0])
        with Journal.open(tmp_path / "cut", KEY) as log:
            assert log.pages[-1] == small[0]


def test_from_an_altered_byte_on_pages_are_read_again(tmp_path):
    path = written(tmp_path / "j")
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"line", b"lime")
    path.write_bytes(b"\n".join(lines))
    with Journal.open(path, KEY) as log:
        assert log.pages == PAGES[:1]


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from export_samples import page
from uocr.journal import Journal
log = Journal.open(sys.argv[1], {key!r})
for i in range(100_000):
    log.append(page(("text", "x" * 5000), index=i))
    print(i, flush=True)
"""


def test_pages_written_before_kill_9_are_there(tmp_path):
    script = SCRIPT.format(path=sys.path, key=KEY)
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "j")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 3:
                process.send_signal(signal.SIGKILL)
                break
        told = 4 + len(process.stdout.read().split("\n")) - 1
    with Journal.open(tmp_path / "j", KEY) as log:
        assert len(log.pages) >= told
        assert [p.index for p in log.pages] == list(range(len(log.pages)))


def test_every_page_is_on_the_disk_before_append_returns(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size) or real(descriptor)
    )
    with Journal.open(tmp_path / "j", KEY) as log:
        for done in PAGES:
            log.append(done)
            assert synced[-1] == (tmp_path / "j").stat().st_size


@pytest.mark.parametrize(
    "content", ["precious notes\n", "precious notes", "{}\n", "0000 \n", "deadbeef precious"]
)
def test_a_file_that_is_no_journal_is_left_alone(content, tmp_path):
    (tmp_path / "j").write_text(content)
    with pytest.raises(JournalMismatch, match="is no journal"):
        Journal.open(tmp_path / "j", KEY)
    assert (tmp_path / "j").read_text() == content


def test_a_journal_of_another_format_is_refused(tmp_path, monkeypatch):
    written(tmp_path / "j")
    monkeypatch.setattr(journal, "_FORMAT", "leggio-journal 2")
    with pytest.raises(JournalMismatch, match="another version"):
        Journal.open(tmp_path / "j", KEY)


def test_two_jobs_do_not_share_a_journal(tmp_path):
    with Journal.open(tmp_path / "j", KEY) as log:
        with pytest.raises(JournalMismatch, match="another process"):
            Journal.open(tmp_path / "j", KEY)
        log.append(PAGES[0])
    Journal.open(tmp_path / "j", KEY).close()


def test_a_finished_job_leaves_no_journal(tmp_path):
    log = Journal.open(tmp_path / "j", KEY)
    log.append(PAGES[0])
    log.close()
    assert (tmp_path / "j").exists()
    log = Journal.open(tmp_path / "j", KEY)
    log.close(finished=True)
    log.close(finished=True)
    assert not (tmp_path / "j").exists()


def test_a_journal_can_be_discarded(tmp_path):
    discard(written(tmp_path / "j"))
    discard(tmp_path / "j")
    with Journal.open(tmp_path / "j", KEY) as log:
        assert log.pages == []


def test_a_journal_in_use_is_not_discarded(tmp_path):
    with Journal.open(tmp_path / "j", KEY) as log:
        with pytest.raises(JournalMismatch, match="another process"):
            discard(tmp_path / "j")
        log.append(PAGES[0])
    assert (tmp_path / "j").exists()


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_and_what_was_written_stays(tmp_path):
    log = Journal.open(tmp_path / "j", KEY)
    log.append(PAGES[0])
    size = (tmp_path / "j").stat().st_size
    with largest_file(size + 100), pytest.raises(OutputFailed, match="beyond the size"):
        log.append(PAGES[1])
    assert (tmp_path / "j").stat().st_size == size
    log.append(PAGES[2])
    log.close()
    with Journal.open(tmp_path / "j", KEY) as log:
        assert log.pages == [PAGES[0], PAGES[2]]


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputFailed, match=r"The journal .*/file/j cannot be written: "):
        Journal.open(tmp_path / "file" / "j", KEY)


def test_the_default_place_is_the_state_folder_by_name_and_content(tmp_path, monkeypatch):
    monkeypatch.setattr("platformdirs.user_state_path", lambda *_, **__: tmp_path)
    path = default_path("/home/me/My scans/a b.pdf", KEY)
    assert path == tmp_path / "journals" / "a_b.pdf-ffffffffffffffff.jsonl"
    assert default_path("https://host/x/", KEY | {"engine": "9"}).name == "x-ffffffffffffffff.jsonl"
    assert default_path("a\0b/../..", {}).name == "..-.jsonl"
    assert len(default_path("x" * 500, KEY).name) < 100
