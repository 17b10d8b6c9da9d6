"""The engine against PyTorch: both sides read a page a second time by the same rule, each by its own first reading."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image
from uocr import Box, FinishReason, UnlimitedOCR, document, rereading
from uocr.document import Block, Token

from bench import held_out
from bench.quality.pages import Page, TruthBlock

TRUTH = "Twelve ducks swim."
BOX = Box(10, 20, 300, 400)


def reading(text: str, logprob: float, box: Box = BOX, readings: int = 1) -> document.Page:
    block = Block("text", (box,), text, text)
    return document.Page("", 0, 1000, 500, blocks=[block], tokens=[Token(7, logprob)] * 3, readings=readings,
                         finish_reason=FinishReason.EOS)


SURE, LOST = reading(TRUTH, -0.01), reading("Twelve Twelve", -0.9)
PAGE = Page("played", 0, Path("page.png"), (TruthBlock("text", TRUTH, None),), "base")


class Played:
    """Either side: the first reading `first`, and the one kept of two, `kept`."""

    def __init__(self, first: document.Page, kept: document.Page) -> None:
        self.first, self.kept, self.asked = first, replace(kept, readings=2), 0

    def read(self, _: Path, *, read_again: bool, **settings: object) -> SimpleNamespace:
        assert settings.keys() == {"preset", "max_new_tokens"}, "the guard as every day"
        self.asked += read_again
        return SimpleNamespace(pages=[self.kept if read_again else self.first])

    def again(self, page: Page, first: document.Page) -> document.Page:
        assert (page, first) == (PAGE, self.first)
        self.asked += 1
        return self.kept


def both(engine: Played, torch_side: Played, below: float) -> held_out.Both:
    return held_out.read_both(engine, torch_side, PAGE, torch_side.first, below)  # type: ignore[arg-type]


def test_a_page_on_which_one_side_gets_lost_is_mended_by_its_second_reading() -> None:
    engine, torch_side = Played(LOST, SURE), Played(SURE, LOST)
    first, kept = both(engine, torch_side, 0.8)
    assert (engine.asked, torch_side.asked) == (1, 0)
    assert (first.engine, first.torch, kept.engine, kept.torch) == ("Twelve Twelve", TRUTH, TRUTH, TRUTH)
    assert (kept.engine_twice, kept.torch_twice, kept.same_text) == (True, False, True)
    report = held_out.report_of([(first, kept)], 0.8)
    assert (report["difference"], report["read_twice"]) == ([0.0, 0.0, 0.0], [1, 0])
    assert report["first"]["difference"][0] > 50
    other = held_out.report_of([both(Played(SURE, LOST), Played(LOST, SURE), 0.8)], 0.8)
    assert (other["read_twice"], other["difference"][0], other["first"]["difference"][0] < -50) == ([0, 1], 0.0, True)


def test_without_a_bound_first_readings_are_all_there_is() -> None:
    engine = Played(LOST, SURE)
    report = held_out.report_of([both(engine, Played(SURE, SURE), 0.0)], 0.0)
    assert engine.asked == 0 and report["difference"][0] > 50 and "first" not in report


def test_pairs_are_kept_only_for_the_same_bound(tmp_path: Path) -> None:
    kept, facts = tmp_path / "kept.jsonl", {"checkpoint": "a", "read_again_below": 0.8}
    assert held_out.resumed(kept, facts) == []
    pairs = both(Played(LOST, SURE), Played(SURE, SURE), 0.8)
    held_out.keep(kept, pairs)
    assert held_out.resumed(kept, facts) == [pairs]
    assert held_out.resumed(kept, facts | {"read_again_below": 0.7}) == []


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch", reason="PyTorch's side needs: pip install leggio[parity]")
    from training import export
    from training.config import tiny_config
    from training.model import Reader

    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("tiny") / "checkpoint"
    export.save(Reader(tiny_config()), tiny_config(), folder)
    shutil.copy(Path(export.__file__).with_name("tokenizer.json"), folder)
    return folder


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("page") / "page.png"
    picture = Image.new("RGB", (1000, 500), "white")
    picture.paste((20, 20, 20), (120, 150, 300, 350))
    picture.save(path)
    return replace(PAGE, picture=path)


@pytest.mark.parametrize("rules", [
    pytest.param({"size": 35, "window": 128, "cycle": 16}, id="as the built-in model"),
    pytest.param({"size": 9, "window": 40}, id="no rule for short periods"),
    pytest.param({"size": 3, "window": 90, "cycle": 2}, id="few ids")])
def test_pytorch_writes_what_the_engine_writes_guard_and_all(
        checkpoint: Path, page: Page, tmp_path: Path, rules: dict[str, int]) -> None:
    """An untrained network goes in circles: the guard acts, and what decides about a second reading is the same."""
    from uocr.convert import convert_checkpoint

    model = tmp_path / "tiny.uocr"
    convert_checkpoint(checkpoint, model, "f32", front_end={"ngram": rules})
    with UnlimitedOCR(model, precision="exact") as ocr:
        mine = ocr.read(page.picture, preset="base", max_new_tokens=held_out.MOST, read_again=False).pages[0]
    theirs, beside = held_out.TorchReader(checkpoint, 0, rules).read([page, page])
    assert [t.id for t in mine.tokens] == [t.id for t in theirs.tokens]
    assert [t.guard_acted for t in mine.tokens] == [t.guard_acted for t in theirs.tokens]
    assert [t.logprob for t in theirs.tokens] == pytest.approx([t.logprob for t in mine.tokens], abs=1e-3)
    assert (mine.finish_reason, theirs.finish_reason) == (FinishReason.LOOP, FinishReason.LOOP)
    assert beside.tokens == theirs.tokens and any(t.guard_acted for t in theirs.tokens)


def test_pages_that_ended_leave_the_batch_and_the_guard_keeps_the_others_apart() -> None:
    torch = pytest.importorskip("torch")
    guard = held_out.Guard(3, 0, {"size": 2, "window": 9})

    def step(*wanted: int) -> list[int]:
        """What is chosen where each page still decoded wants an id most, and the next one after it."""
        logits = torch.zeros(len(wanted), 9)
        for place, token in enumerate(wanted):
            logits[place, token], logits[place, token + 1] = 2.0, 1.0
        return guard(None, (), logits).argmax(-1).tolist()

    assert step(1, 0, 5) == [1, 0, 5]
    assert step(2, 3, 5) == [2, 3, 5], "the page that ended is still there, and nothing can repeat yet"
    assert step(1, 5) == [1, 6], "the second place is the third page now"
    assert step(2, 5) == [3, 5], "1 was followed by 2 before"
    assert guard.acted == [[False, False, False, True], [False], [False, False, True, False]]


def test_pytorchs_second_reading_is_of_the_page_with_margins(
        checkpoint: Path, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    side = held_out.TorchReader(checkpoint, 0, {})
    seen: list[tuple[int, int]] = []
    second = reading(TRUTH, -0.5, Box(115, 250, 307, 750))

    guarded: list[bool] = []

    def played(pictures: list[Image.Image], sizes: list[tuple[int, int]], **options: bool) -> list[document.Page]:
        seen.extend(picture.size for picture in pictures)
        guarded.append(options["guarded"])
        return [second]

    monkeypatch.setattr(side, "_read", played)
    first = reading("Twelve Twelve", -0.9)
    kept = side.again(page, first)
    assert seen == [rereading.surrounded(Image.new("RGB", (1000, 500))).size] == [(1040, 520)]
    assert (kept.readings, kept.kept_reading, held_out.text_of(kept.blocks)) == (2, 2, TRUTH)
    assert kept.blocks[0].boxes == (Box(100, 240, 299, 760),), "its boxes are those of the page itself"
    assert (first.readings, held_out.text_of(first.blocks)) == (1, "Twelve Twelve"), "the first reading stays"
    assert side.again(page, reading("surer", -0.1)).kept_reading == 1
    side.again(page, replace(first, tokens=[Token(7, -0.9, guard_acted=True)]))
    assert guarded == [True, True, False], "where the guard acted, it rests"
    assert not held_out.banned([5] * 100, 0, 128, 0)
