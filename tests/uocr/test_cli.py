"""The command line: what it prints, what it writes, and one exit code a cause."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from uocr import errors
from uocr.audit import Audit
from uocr.cli.app import COMMANDS
from uocr.cli.targets import place_names
from uocr.cli.view import page_lines, page_warnings
from uocr.document import Block, Box, FinishReason, Page, Word
from uocr.sources import Input

from tests.conftest import BUILT_IN, GOLDEN, SAMPLES

SCREENSHOT = str(SAMPLES / "screenshot.png")


@pytest.fixture
def blank(tmp_path: Path) -> str:
    path = tmp_path / "blank.png"
    Image.new("RGB", (200, 200), "white").save(path)
    return str(path)


def test_reading_prints_markdown_and_tells_the_figures_apart(run) -> None:
    code, out, err = run("read", SCREENSHOT)
    assert code == 0
    assert "Next meeting: Tuesday at 15:30, room 12." in out
    assert "<|det|>" not in out
    assert "finish reason: eos" in err and "tokens/s" in err


def test_json_holds_every_number(run) -> None:
    code, out, _ = run("read", SCREENSHOT, "--json", "-q")
    page = json.loads(out)["documents"][0]["pages"][0]
    assert code == 0
    assert page["finish_reason"] == "eos"
    assert page["blocks"] and page["tokens"] and page["memory_peak"]


def test_files_are_written_once_and_never_over_another(run, tmp_path: Path) -> None:
    target = tmp_path / "out.md"
    assert run("read", SCREENSHOT, "-o", str(target))[0] == 0
    first = target.read_bytes()
    code, _, err = run("read", SCREENSHOT, "-o", str(target), "--max-new-tokens", "3")
    assert code == errors.OutputExists.exit_code and "--overwrite" in err
    assert target.read_bytes() == first
    assert run("read", SCREENSHOT, "-o", str(target), "--overwrite", "-q")[0] == 0


def picture(path: Path) -> Path:
    """A small blank page: read in a moment, nothing on it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (60, 40), "white").save(path)
    return path


QUICK = ("--max-new-tokens", "2", "--preset", "tiny", "-q")


def written(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if not p.is_dir())


def test_inputs_of_one_name_get_a_file_each(run, tmp_path: Path) -> None:
    """In a folder that was given sub-folders are kept; equal names keep their suffix, then their folders."""
    for name in ("in/a.gif", "in/a.webp", "in/b.png", "in/sub1/p1.png", "in/sub2/p1.png", "else/b.png", "in/c.PNG"):
        picture(tmp_path / name)
    run("read", str(tmp_path / "in"), str(tmp_path / "else/b.png"), "-o", str(tmp_path / "out"), *QUICK)
    assert written(tmp_path / "out") == [
        "a.gif.md", "a.webp.md", "c.md", "else/b.png.md", "in/b.png.md", "sub1/p1.md", "sub2/p1.md"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["x/p.png", "y/p.png", "q.png"], ["x/p.png", "y/p.png", "q"]),
        (["a.png", "A.gif"], ["a.png", "A.gif"]),
        (["a.png", "a.gif", "a.gif.bmp"], ["a.png", "a.gif", "a.gif.bmp"]),
        (["https://one/x/p.png?size=2", "http://two/p.png"], ["p.png", "p.png-2"]),
        (["-", "data:image/png;base64,AAAA", "https://one/"], ["standard-input", "data", "page"]),
        (["n" * 250 + ".png"], ["n" * 180]),
        (["in/../p.png", "in/p.png"], ["p.png", "in/p.png"]),
    ],
)
def test_places_below_a_folder_are_never_equal(names, places) -> None:
    found = [Input(name if ":" in name or name == "-" else Path(name)) for name in names]
    assert [str(place) for place in place_names(found).values()] == places


def test_an_input_is_never_written_over(run, tmp_path: Path) -> None:
    """Not even with --overwrite, by another name of the file, or by a name made in a folder."""
    pdf = tmp_path / "in" / "a.pdf"
    picture(pdf)
    before = pdf.read_bytes()
    (tmp_path / "link.pdf").symlink_to(pdf)
    for inputs, target in (
        ([pdf], pdf),
        ([pdf], tmp_path / "link.pdf"),
        ([pdf.as_uri()], pdf),
        ([SCREENSHOT, pdf], tmp_path / "in"),
        ([tmp_path / "in"], f"{tmp_path}/in/"),
    ):
        code, _, err = run("read", *map(str, inputs), "-o", str(target), "--format", "pdf", "--overwrite")
        assert code == errors.OutputExists.exit_code and "is an input itself" in err
    page = picture(tmp_path / "in" / "b-0001.pdf")
    code, _, err = run("read", str(page), "-o", str(tmp_path / "in/b.pdf"), "--per-page", "--overwrite")
    assert code == errors.OutputExists.exit_code and "is an input itself" in err
    assert pdf.read_bytes() == before


def test_the_format_follows_the_suffix(run, tmp_path: Path) -> None:
    page = str(picture(tmp_path / "a.png"))
    for suffix, start in (("docx", b"PK"), ("json", b"{"), ("htm", b"<!")):
        run("read", page, "-o", str(tmp_path / f"out.{suffix}"), *QUICK)
        assert (tmp_path / f"out.{suffix}").read_bytes().startswith(start)
    run("read", page, "-o", str(tmp_path / "out.text"), "--format", "json", *QUICK)
    assert (tmp_path / "out.text").read_bytes().startswith(b"{")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("-o", "a.docx", "--format", "pdf"), errors.InvalidRequest, "ends in .docx, but the format asked for is pdf"),
        (("-o", "out.xyz"), errors.InvalidRequest, "choose one of txt, md, json, html, docx, pdf"),
        (("-o", "out.md", "a.png"), errors.InvalidRequest, "names one file, but there are 2 inputs"),
        (("--json", "--format", "md"), errors.InvalidRequest, "contradict"),
        (("-o", "dangling/out.md"), errors.OutputFailed, "dangling: cannot be written: the folder does not exist"),
        (("-o", "dangling/deep/"), errors.OutputFailed, "dangling: cannot be written: the folder does not exist"),
        (("-o", "link.md", "--overwrite"), errors.OutputFailed, "link.md: cannot be written: the folder does not"),
        (("-o", "a.png/deep/out.md"), errors.OutputFailed, "a file stands where a folder should be"),
        (("-o", "a.png/out.md"), errors.OutputFailed, "a file stands where a folder should be"),
        (("-o", "a.png/"), errors.OutputFailed, "a file stands where a folder should be"),
        (("-o", "a.png/deep/"), errors.OutputFailed, "a file stands where a folder should be"),
        (("-o", "n" * 300 + ".md"), errors.OutputFailed, "the name is too long"),
        (("-o", "n" * 300), errors.OutputFailed, "the name is too long"),
        (("-o", "circle/x/"), errors.OutputFailed, "in a circle"),
        (("-o", "circle"), errors.OutputFailed, "in a circle"),
        (("-o", "full", "--per-page"), errors.OutputExists, "b-0001.md exists; add --overwrite"),
        (("-o", ""), errors.InvalidRequest, "-o is empty"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(
    run, arguments, code, words, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("uocr.cli.read.UnlimitedOCR", None)  # a model is not even looked for
    picture(tmp_path / "a.png")
    picture(tmp_path / "b.png")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "link.md").symlink_to("nowhere/out.md")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "b-0001.md").write_text("mine")
    before = written(tmp_path)
    found, _, err = run("read", "b.png", *arguments)
    assert found == code.exit_code and words in err and err.count("\n") == 1
    assert written(tmp_path) == before


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("uocr.cli.read.UnlimitedOCR", None)
    closed = tmp_path / "closed"
    closed.mkdir()
    real = os.access  # asked in place of the folder's own permissions, which do not bind root
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and real(path, mode))
    for target in ("closed/out.md", "closed", "closed/new/", "closed/new/out.md"):
        code, _, err = run("read", SCREENSHOT, "-o", f"{tmp_path}/{target}")
        assert code == errors.OutputFailed.exit_code
        assert "closed" in err and "cannot be written: writing there is not allowed" in err


def test_a_folder_that_takes_no_file_is_found_before_any_work(run, tmp_path: Path, monkeypatch) -> None:
    """Whatever its permissions say: folders of the system let the superuser in and have no place for a file."""
    monkeypatch.setattr("uocr.cli.read.UnlimitedOCR", None)
    real = os.open

    def refused(path, *more, **named):
        if Path(path).parent == tmp_path:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        return real(path, *more, **named)

    monkeypatch.setattr(os, "open", refused)
    for target in ("out.md", "out.d/", "new/out.md"):
        code, _, err = run("read", SCREENSHOT, "-o", f"{tmp_path}/{target}")
        assert code == errors.OutputFailed.exit_code
        assert "cannot be written: writing there is not allowed; choose another place" in err
    assert written(tmp_path) == []


def test_a_folder_by_its_slash_and_none_left_behind(run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"\x89PNG broken")
    assert run("read", str(bad), "-o", f"{tmp_path}/new.d/")[0] == errors.UnreadableFile.exit_code
    assert not (tmp_path / "new.d").exists()
    run("read", str(picture(tmp_path / "a.png")), "-o", f"{tmp_path}/new.d/deep/", *QUICK)
    assert written(tmp_path / "new.d") == ["deep/a.md"]


@pytest.mark.parametrize("more", [(), ("--per-page",)])
def test_folders_of_a_file_are_made_and_none_left_behind(run, tmp_path: Path, more: tuple[str, ...]) -> None:
    """As those of a folder are."""
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"\x89PNG broken")
    target = f"{tmp_path}/new/deep/out.md"
    assert run("read", str(bad), "-o", target, *more)[0] == errors.UnreadableFile.exit_code
    assert not (tmp_path / "new").exists()
    run("read", str(picture(tmp_path / "a.png")), "-o", target, *QUICK, *more)
    assert written(tmp_path / "new") == ["deep/out-0001.md" if more else "deep/out.md"]


def test_an_address_that_is_not_understood_never_stops_the_others(run, tmp_path: Path) -> None:
    page = str(picture(tmp_path / "a.png"))
    odd = ("ftp://example.org/x.png", "http://[x/y.png", "file://server/z.png")
    code, _, err = run("read", *odd, page, "-o", f"{tmp_path}/out/", *QUICK)
    assert code == errors.InvalidRequest.exit_code
    assert "ftp://example.org/x.png cannot be opened: addresses that begin with ftp:// are not understood" in err
    assert "http://[x/y.png is not an address" in err and "of the machine server" in err
    assert written(tmp_path / "out") == ["a.md"]


def test_devices_are_written_into_and_stay(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("replace", "rename", "link"):  # a mistake must not cost root the machine's devices
        monkeypatch.setattr(os, name, lambda *_: pytest.fail("a device would be replaced"))
    page = str(picture(tmp_path / "a.png"))
    before = [os.stat(device).st_rdev for device in ("/dev/null", "/dev/full")]
    assert run("read", page, page, "-o", "/dev/null", *QUICK)[0] in (0, 3)
    code, _, err = run("read", page, "-o", "/dev/full", "--format", "json", *QUICK)
    assert code == errors.OutputFailed.exit_code
    assert "/dev/full: cannot be written: the disk is full" in err
    assert [os.stat(device).st_rdev for device in ("/dev/null", "/dev/full")] == before


def test_json_of_several_inputs_is_one_document(run, tmp_path: Path) -> None:
    names = [str(picture(tmp_path / f"{n}.png")) for n in "ab"]
    long, pattern = str(tmp_path / ("n" * 300)), str(tmp_path / "*.gif")
    code, out, err = run("read", names[0], long, names[1], pattern, "--json", *QUICK)
    assert [d["source"] for d in json.loads(out)["documents"]] == names
    assert code == errors.UnreadableFile.exit_code  # the pattern is looked at first
    assert "No file matches" in err and "File name too long" in err
    assert run("read", *names, "--format", "html", *QUICK)[1].count("<html") == 1


def test_a_failed_write_keeps_the_text_and_the_journal(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from uocr import export

    leaflet, real = str(SAMPLES / "leaflet.pdf"), export.export
    command = ("read", leaflet, "--resume", "--pages", "1", "-q", "-o", str(tmp_path / "out.md"))

    def full(document, *_, **__):
        raise errors.OutputFailed("out.md: cannot be written: the disk is full.", document.text)

    monkeypatch.setattr(export, "export", full)
    code, out, err = run(*command)
    assert code == errors.OutputFailed.exit_code and out == ""
    kept = Path(err.partition("kept in ")[2].partition(".txt")[0] + ".txt")
    assert kept.is_relative_to(tmp_path / "state") and len(kept.read_text()) > 40
    assert "1 page is in the journal; run the same command to go on" in err
    monkeypatch.setattr("uocr.cli.targets.rescue", lambda *_: os.stat(tmp_path / "none"))
    code, out, err = run(*command)
    assert out == kept.read_text() and "is shown instead" in err
    monkeypatch.setattr(export, "export", real)
    code, _, err = run(*(word for word in command if word != "-q"))
    assert code == 0 and "going on after 1 page of the journal" in err and (tmp_path / "out.md").exists()
    assert not list((tmp_path / "state").rglob("*.jsonl"))


def test_a_changed_setting_is_named_and_fresh_starts_anew(run, tmp_path: Path, monkeypatch) -> None:
    page = str(picture(tmp_path / "a.png"))
    with monkeypatch.context() as patch:  # a write that fails leaves the journal
        patch.setattr("uocr.cli.view.write", lambda _: (_ for _ in ()).throw(errors.OutputFailed("Full.")))
        assert run("read", page, "--resume", "-q")[0] == errors.OutputFailed.exit_code
    code, _, err = run("read", page, "--resume", "-q", "--dpi", "200")
    assert code == errors.JournalMismatch.exit_code
    assert "the settings (--dpi: 300 then, 200 now) changed" in err and "--fresh" in err
    code, _, err = run("read", page, "--fresh", "--dpi", "200")
    assert code == 0 and "going on" not in err
    assert not list((tmp_path / "state").rglob("*.jsonl"))


def test_a_state_folder_that_cannot_be_written_is_told(run, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    code, _, err = run("read", SCREENSHOT, "--resume", *QUICK)
    assert code == errors.OutputFailed.exit_code
    assert "The journal" in err and "Read without --resume, or set XDG_STATE_HOME" in err


def test_what_a_person_should_know_of_a_page_is_said_even_when_quiet(
    run, blank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(*blocks: Block, below: float = 0.3, **more: bool) -> Page:
        return Page(
            "a.pdf", 6, 1998, 999, list(blocks), finish_reason=FinishReason.EOS, confidence_threshold=below, **more
        )

    unsure = Block("text", (), "words", confidence=0.389)
    assert page_warnings(page(unsure, below=0.5)) == [
        "page 7: the model is unsure (confidence 0.39); the text may be wrong"
    ]
    with_layer = page(unsure, below=0.5, has_text_layer=True)
    assert page_warnings(with_layer)[0].endswith("; the PDF page has text of its own")
    assert page_warnings(page(unsure)) == []
    assert page_warnings(page()) == ["page 7: no text found"]
    why = "too small or blurred, or in a script or hand that the model does not read"
    assert page_warnings(page(has_ink=True)) == [
        "page 7: no text found, though there is ink on the page; the page may be turned (try --rotate 180, 90 or 270), "
        + why
    ]
    unsure.words = [Word("words", 0, 0.389)]
    assert page_warnings(page(unsure, below=0.5), rotate=90) == [
        "page 7: the model is unsure (confidence 0.39); the text may be wrong, as hardly any word is sure: "
        "the page may be turned (try --rotate 270, 180 or 0), " + why
    ]
    unsure.words = []
    assert any("text of its own" in line for line in page_lines(with_layer))
    found = Audit([Box(515, 132, 865, 144), Box(514, 152, 897, 227)], [0])
    assert page_warnings(page(unsure), found) == [
        "page 7: there is ink that no block covers, from pixel 1030,132 to 1730,144 and in 1 more place; text may be "
        "missing (--region 1030,132,1730,144 reads that place)",
        "page 7: 1 block stands where the page is empty; text may be invented",
    ]
    assert page_warnings(page(unsure), Audit()) == []
    assert run("read", SCREENSHOT, "-q")[2] == ""
    monkeypatch.setattr("uocr.cli.read.audit", lambda page, picture: Audit([Box(100, 200, 300, 400)]))
    assert "no block covers, from pixel " in run("read", SCREENSHOT, "-q")[2]
    assert run("read", SCREENSHOT, "-q", "--region", "0,0,962,400")[2] == ""
    assert run("read", blank, "-q")[2] == f"{blank}, page 1: no text found\n"


def test_a_page_cut_short_ends_with_its_own_code(run, blank: str) -> None:
    code, _, err = run("read", SCREENSHOT, "--max-new-tokens", "5")
    assert code == 3
    assert "length" in err


def test_one_bad_file_never_stops_the_others(run, tmp_path: Path, blank: str) -> None:
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"\x89PNG broken")
    code, out, err = run("read", str(bad), SCREENSHOT)
    assert code == errors.UnreadableFile.exit_code
    assert "bad.png" in err
    assert "Weekly report" in out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("read", "no-such-file.png"), errors.UnreadableFile),
        (("read", "no-such-*.png"), errors.UnreadableFile),
        (("read", ""), errors.UnreadableFile),
        (("read", str(GOLDEN / "model")), errors.EmptyDocument),
        (("read", SCREENSHOT, "--model", "nowhere/nothing.uocr"), errors.ModelNotFound),
        (("read", SCREENSHOT, "--model", "nonsense"), errors.ModelNotFound),
        (("read", SCREENSHOT, "--memory-budget", "1 MB"), errors.OverBudget),
        (("read", SCREENSHOT, "--memory-budget", "40 MB"), errors.OverBudget),
        (("read", SCREENSHOT, "--memory-budget", "many"), errors.InvalidRequest),
        (("read", SCREENSHOT, "--preset", "huge"), errors.InvalidRequest),
        (("read", SCREENSHOT, "--format", "odt"), errors.InvalidRequest),
        (("read", SCREENSHOT, "--format", "docx"), errors.InvalidRequest),
        (("read", SCREENSHOT, "--region", "1,2,3"), errors.InvalidRequest),
        (("info", str(GOLDEN / "index.json")), errors.ModelFileError),
        (("check-golden", str(SAMPLES)), errors.InvalidRequest),
        (("bench", "--random-full", "q5"), errors.InvalidRequest),
    ],
)
def test_each_cause_has_its_exit_code_and_one_line(run, arguments, code) -> None:
    found, _, err = run(*arguments)
    assert found == code.exit_code, err
    assert err.startswith("uocr: ") and "Traceback" not in err


def test_exit_codes_are_listed_in_help() -> None:
    text = subprocess.run(
        [sys.executable, "-m", "uocr.cli", "read", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "200"},
    ).stdout
    codes = {c.exit_code for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.UocrError)}
    for code in codes - {1}:
        assert f"{code} " in text, code


def test_wrong_usage_is_two(run) -> None:
    assert run("read")[0] == 2
    assert run("read", SCREENSHOT, "--no-such-flag")[0] == 2


def test_info_describes_the_model(run) -> None:
    code, out, _ = run("info", str(BUILT_IN), "--tensors")
    assert code == 0
    assert "22,511,104 parameters" in out
    assert "reads English, Italian, German, Spanish, Portuguese, French, Dutch, Swedish, Danish, Polish, " in out
    assert "Czech and Hungarian;\n  other languages in Latin letters come out with wrong accents, often" in out
    assert "layers.1.mlp.experts.gate_proj.weight" in out


def test_info_alone_describes_this_machine_too(run) -> None:
    code, out, _ = run("info")
    assert code == 0
    assert "memory budget" in out and "threads" in out and "models are kept in" in out


def test_doctor_verifies_the_file(run) -> None:
    code, out, _ = run("doctor", "--verify")
    assert code == 0 and "every payload hash is right" in out


def test_doctor_names_the_back_ends(run) -> None:
    _, out, _ = run("doctor")
    assert "back end cpu: built in" in out
    assert "back end metal: built in" in out or "back end metal: The Metal back end is not in this build" in out


def test_doctor_names_the_tensor_whose_bytes_were_changed(run, tmp_path: Path) -> None:
    data = bytearray(BUILT_IN.read_bytes())
    data[-70_000] ^= 1
    path = tmp_path / "changed.uocr"
    path.write_bytes(data)
    code, _, err = run("doctor", "--verify", "--model", str(path))
    assert code == errors.ModelFileError.exit_code
    assert "changed.uocr" in err


def test_convert_writes_a_model_and_refuses_to_replace_it(run, tmp_path: Path) -> None:
    target = tmp_path / "golden.uocr"
    assert run("convert", str(GOLDEN / "model"), str(target), "--quant", "q8")[0] == 0
    assert run("convert", str(GOLDEN / "model"), str(target))[0] == errors.OutputExists.exit_code


def test_bench_gives_its_figures_as_json(run) -> None:
    code, out, _ = run("bench", "--json", "--decode-tokens", "4")
    figures = json.loads(out)
    assert code == 0
    for name in ("decode_tokens_per_s", "prefill_tokens_per_s", "view_1024_s", "view_640_s"):
        assert figures[name] > 0


def test_trace_on_the_cpu_says_that_there_are_no_dispatches_and_shows_operators(run) -> None:
    code, out, _ = run("bench", "--trace", "--decode-tokens", "2")
    assert code == 0
    assert "back end cpu" in out and "The CPU has no dispatches" in out
    assert "decode/linear" in out and "vision/attention_global" in out
    assert "command buffers" not in out


def test_profile_shows_operators_with_their_share(run) -> None:
    _, _, err = run("read", SCREENSHOT, "--profile", "--max-new-tokens", "2")
    assert "linear" in err and "%" in err


def test_resume_goes_on_after_the_pages_of_the_journal(run, tmp_path: Path) -> None:
    leaflet = str(SAMPLES / "leaflet.pdf")
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
    process = subprocess.Popen(
        [sys.executable, "-m", "uocr.cli", "read", leaflet, "--resume", "-o", str(tmp_path / "out.md")],
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    for line in process.stderr:
        if "page 2" in line:  # page 1 is journalled
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    assert not (tmp_path / "out.md").exists()
    code, _, err = run("read", leaflet, "--resume", "-o", str(tmp_path / "out.md"))
    assert code == 0
    assert "going on after 1 page of" in err
    whole = run("read", leaflet, "-q")[1]
    assert (tmp_path / "out.md").read_text() == whole
    assert run("read", leaflet, "--resume", "-q")[1] == whole  # a finished job leaves no journal


def test_a_job_without_a_finished_page_leaves_no_journal(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code, _, err = run("read", SCREENSHOT, "--resume", "--locate", "x", "--model", str(BUILT_IN))
    assert code == errors.InvalidRequest.exit_code and "was not trained to say where words stand" in err
    assert written(tmp_path) == []
    assert run("read", SCREENSHOT, "--resume", "--max-new-tokens", "5", "-q")[0] == 3
    assert written(tmp_path) == []


def test_ctrl_c_stops_cleanly_and_keeps_finished_pages(tmp_path: Path) -> None:
    """Under a name that says so: the final one is for the whole document."""
    target = tmp_path / "out.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "uocr.cli", "read", str(SAMPLES / "leaflet.pdf"), "-o", str(target), "--format", "json"],
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if "page 2" in line:
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait() == errors.Cancelled.exit_code, rest
    assert not target.exists() and f"what was read is in {tmp_path}/out.partial.json" in rest
    kept = json.loads((tmp_path / "out.partial.json").read_text())["documents"][0]["pages"]
    assert [page["finish_reason"] for page in kept] == ["eos", "cancelled", "not_read"]


def test_ctrl_c_with_a_journal_leaves_the_way_free_for_the_same_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "uocr.cli", "read", str(SAMPLES / "leaflet.pdf"), "--resume", "--pages", "1-2"]
    command += ["-o", f"{tmp_path}/new/"]
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    for line in process.stderr:
        if "page 2" in line:
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait() == errors.Cancelled.exit_code, rest
    assert "1 page is in the journal; run the same command to go on" in rest
    assert not (tmp_path / "new").exists()
    again = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert again.returncode == 0, again.stderr
    assert "going on after 1 page of" in again.stderr
    assert (tmp_path / "new" / "leaflet.md").exists()


def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")  # a signal may be ignored where tests run
    done = subprocess.run(
        [sys.executable, "-m", "uocr.cli", "info"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (errors.Cancelled.exit_code, "", "Stopped.\n")


def shell(line: str, **more: str) -> tuple[int, str]:
    """The exit code and standard error of a line for the shell; `uocr` is the program."""
    program = f"uocr() {{ {shlex.quote(sys.executable)} -m uocr.cli \"$@\"; }}; "
    done = subprocess.run(["bash", "-c", program + line], stderr=subprocess.PIPE, text=True, env=os.environ | more)
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", ["info", "--help", "--version", "read {} --json -q"])
def test_standard_output_that_cannot_be_written_is_told(command: str, tmp_path: Path) -> None:
    command = command.format(picture(tmp_path / "a.png"))
    state = str(tmp_path / "state")
    for closed, words in ((">&-", "it is closed"), ("> /dev/full", "the disk is full")):
        code, err = shell(f"uocr {command} {closed}", XDG_STATE_HOME=state)
        assert code == errors.OutputFailed.exit_code, err
        assert "standard output" in err and words in err and "Traceback" not in err
    code, err = shell(f"set -o pipefail; uocr {command} | true", XDG_STATE_HOME=state)
    assert code == 0
    assert err in ("", f"{tmp_path}/a.png, page 1: no text found\n")


def test_files_are_written_although_standard_streams_are_closed(tmp_path: Path) -> None:
    page, target = picture(tmp_path / "a.png"), tmp_path / "out.md"
    code, err = shell(f"uocr read {page} -o {target} <&- >&-")
    assert code == 0, err
    assert target.exists()
    code, err = shell("uocr read - <&-")
    assert code == errors.UnreadableFile.exit_code and "Standard input is closed" in err


def test_version_names_package_engine_and_model_format(run) -> None:
    code, out, _ = run("--version")
    assert code == 0
    assert re.fullmatch(r"uocr \d+\.\d+\.\d+, engine \d+\.\d+\.\d+\S*, model format 1\n", out)


def test_help_and_messages_speak_of_flags_as_they_are_typed(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = run("read", "--help")[1]
    budget = next(line for line in text.splitlines() if "--memory-budget" in line)
    assert "default: 0" not in budget
    assert "--fresh" in text and "a.gif.md" in text
    assert "f32, f16, q8 or q4" in run("convert", "--help")[1]
    assert "--guard-allow is 'x'" in run("read", "a.png", "--guard-allow", "x")[2]
    assert "--max-new-tokens is -1" in run("read", "a.png", "--max-new-tokens", "-1")[2]
    assert "and with 0: 80 %" in text and "runs backwards" in text
    for turn in ("-90", "45", "360"):
        words = f"--rotate is {turn}; choose 0, 90, 180 or 270."
        assert words in run("read", "a.png", "--rotate", turn)[2]
    for region in ("500,500,400,600", "500,500,600,400", "5,5,5,9"):
        code, _, err = run("read", "a.png", "--region", region)
        assert code == errors.InvalidRequest.exit_code
        assert f"--region is {region}" in err and "right greater than left" in err


def test_arguments_are_checked_before_a_bar_is_drawn(run, tmp_path: Path) -> None:
    for arguments in (
        ("convert", str(GOLDEN / "model"), str(tmp_path / "a.uocr"), "--quant", "q5"),
        ("convert", str(tmp_path / "none"), str(tmp_path / "a.uocr")),
        ("convert", str(GOLDEN / "model"), str(tmp_path)),
        ("pull", "no-name"),
        ("pull", "owner/name", "--quant", "q5"),
    ):
        code, out, err = run(*arguments)
        assert code >= 20 and out == ""
        assert err.startswith("uocr: ") and err.count("\n") == 1, err


def test_a_refused_budget_shows_what_would_be_needed(run) -> None:
    _, _, err = run("read", SCREENSHOT, "--memory-budget", "40 MB")
    lines = err.splitlines()
    assert lines[0].startswith("uocr: ")
    assert lines[1].split() == ["memory,", "each", "at", "its", "most", "estimate"]
    assert "peak" not in err and len(lines) > 3


def test_a_repaired_pdf_is_told_once_even_when_quiet(run, files: dict[str, Path]) -> None:
    """In a sentence for people: nothing of what the PDF library says of the file's inside."""
    name = str(files["cut-at-half.pdf"])
    for quiet in ([], ["-q"]):
        code, _, err = run("read", name, "--pages", "1-2", "--dpi", "40", "--max-new-tokens", "2", *quiet)
        assert code == 3
        repaired = f"{name}: The file is damaged and was repaired, parts of it may be missing."
        assert err.splitlines().count(repaired) == 1 and err.count("repaired") == 1
        assert "xref" not in err and "syntax" not in err


def test_what_was_decided_about_a_picture_is_told_even_when_quiet(run, tmp_path: Path) -> None:
    Image.new("RGBA", (60, 60), (9, 9, 9, 0)).save(tmp_path / "clear.png")
    _, _, err = run("read", str(tmp_path / "clear.png"), "-q", "--max-new-tokens", "2")
    assert f"{tmp_path}/clear.png, page 1: Every pixel is transparent, the colours below were read.\n" in err


def test_an_encrypted_pdf_names_the_flag(run, tmp_path: Path) -> None:
    import pymupdf

    with pymupdf.open() as document:
        document.new_page()
        document.save(tmp_path / "a.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o", user_pw="u")
    code, _, err = run("read", str(tmp_path / "a.pdf"))
    assert code == errors.EncryptedFile.exit_code and "--password" in err


def test_a_reader_that_goes_away_is_no_error(blank: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "uocr.cli", "info", "--tensors"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    process.stdout.close()
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert "Traceback" not in process.stderr.read()


def test_a_terminal_sees_how_far_a_page_is_and_then_its_text(tmp_path: Path) -> None:
    """On a terminal: a bar for vision and prefill that goes when the text comes, and no markers in the text."""
    if shutil.which("script") is None:
        pytest.skip("needs the program script, which gives a command a terminal of its own")
    command = shlex.join([sys.executable, "-m", "uocr.cli", "read", str(SCREENSHOT)])
    shown = subprocess.run(["script", "-qec", command, "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True,
                           text=True, env=os.environ | {"TERM": "xterm", "XDG_STATE_HOME": str(tmp_path)}).stdout
    assert "vision" in shown and "Next meeting" in shown
    assert "<|det|>" not in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_help_has_its_own(run, name: str) -> None:
    assert f" {name} " in run("--help")[1]
    code, shown, _ = run(name, "--help")
    assert code == 0 and f"uocr {name} [OPTIONS]" in shown
