"""The gate reads freely as the product does: a page is read twice where the model looks lost, by every choice alike.

The engine is played: what it writes of a page and of the page with margins is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from uocr import native, rereading
from uocr.document import Box
from uocr.modelfile import ModelFile
from uocr.tokenizer import Tokenizer
from uocr.views import make_views

from bench.gate import evaluate
from bench.gate.choices import REFERENCE
from bench.gate.evaluate import Group, Task
from bench.gate.figures import figures
from bench.gate.pick import BOUNDS, keeps
from bench.gate.scoring import Bench, FreeResult, PageResult, boxes_in
from bench.quality.pages import Page, TruthBlock
from tests.conftest import BUILT_IN

BELOW = 0.8
SIZE = (1000, 500)
BOX = Box(100, 240, 299, 760)
TRUTH = "Twelve ducks swim."
SURE, UNSURE = -0.01, -0.9


def markup(text: str, box: Box = BOX) -> str:
    return f"<|det|>text [{box.x1}, {box.y1}, {box.x2}, {box.y2}]<|/det|>{text}\n"


@dataclass(frozen=True)
class Written:
    """What a reading comes to."""

    text: str
    logprob: float = SURE
    finish: str = "eos"
    guard: bool = False
    """The repeat guard acted at the last token."""


RIGHT = Written(markup(TRUTH))
LOST = Written(markup("Twelve Twelve Twelve Twelve"), UNSURE)
AGAIN = Written(markup(TRUTH, Box(115, 250, 307, 750)))
"""The right text; its box lies on the page with margins."""


class PlayedEngine:
    """Writes `first` of the page as it is, or of given rows, and `second` of what has margins around it."""

    def __init__(self, first: Written, second: Written, tokenizer: Tokenizer, info: Any, picture: Path) -> None:
        self.written, self.tokenizer, self.info_, self.runs = (first, second), tokenizer, info, []
        self.views = [make_views(image, "base").views[0] for image in pictures(picture)]

    def info(self) -> Any:
        return self.info_

    def begin(self, plan: native.Plan) -> PlayedRun:
        return PlayedRun(self, plan)


def pictures(path: Path) -> tuple[Image.Image, Image.Image]:
    with Image.open(path) as picture:
        page = picture.convert("RGB")
    return page, rereading.surrounded(page)


class PlayedRun:
    def __init__(self, engine: PlayedEngine, plan: native.Plan) -> None:
        self.engine, self.plan, self.which = engine, plan, -1

    def __enter__(self) -> PlayedRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.runs.append(self.which)

    def capture(self, name: str) -> None:
        assert name == "rows"

    def set_rows(self, rows: np.ndarray) -> None:
        self.which = int(rows[0, 0])

    def fetch(self, name: str) -> np.ndarray:
        return np.full((1, 1), self.which)

    def feed(self, view: int, pixels: np.ndarray) -> None:
        self.which = [np.array_equal(pixels, known) for known in self.engine.views].index(True)

    def events(self) -> Iterator[native.Event]:
        def event(kind: int, **values: Any) -> native.Event:
            blank = dict.fromkeys(native.Event._fields, 0) | {"phase": "", "finish": "", "kind": kind}
            return native.Event(**(blank | values))

        if self.which < 0:
            yield event(native.NEED_VIEW)
        written = self.engine.written[self.which]
        ids = self.engine.tokenizer.scoring_ids(written.text)
        for n, token in enumerate(ids):
            acted = written.guard and n == len(ids) - 1
            yield event(native.TOKEN, token=token, logprob=written.logprob, guard_acted=acted)
        if written.finish == "eos":
            yield event(native.TOKEN, token=self.engine.info_.eos_id, logprob=SURE)
        yield event(native.DONE, finish=written.finish)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("page") / "page.png"
    picture = Image.new("RGB", SIZE, "white")
    picture.paste((20, 20, 20), (120, 150, 300, 350))
    picture.save(path)
    return Page("played", 0, path, (TruthBlock("text", TRUTH, BOX),), "base")


@pytest.fixture(scope="module")
def model() -> tuple[dict[str, Any], Tokenizer, Any]:
    """The built-in model's front end and tokenizer, and what its engine tells of itself."""
    with ModelFile.open(BUILT_IN) as file:
        front_end, tokenizer = file.front_end, Tokenizer(file.tokenizer_json, digits="single")
    with native.Engine(BUILT_IN) as engine:
        return front_end, tokenizer, engine.info()


Scored = tuple[dict[str, PageResult], dict[str, PlayedEngine]]


def score(page: Page, model: tuple[dict[str, Any], Tokenizer, Any], below: float,
          choices: Mapping[str, Sequence[Written]]) -> Scored:
    """Results of choices that write so (first and second reading), the reference among them, and their engines.

    Forced figures count as known, so that only free reading is done."""
    front_end, tokenizer, info = model
    engines = {name: PlayedEngine(first, second, tokenizer, info, page.picture)
               for name, (first, second) in choices.items()}

    def opened(path: Path, precision: str, threads: int, bound: float, stack: ExitStack) -> Bench:
        return Bench(engines[path.name], front_end, tokenizer, bound)  # type: ignore[arg-type]

    names = [name for name in choices if name != REFERENCE.name]
    task = Task(Path(REFERENCE.name), {name: (Path(name), "fast") for name in names},
                dict.fromkeys(choices, ("alike",)), 1, "truth", below)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "open_bench", opened)
        found = Group(task, ExitStack()).page(0, page, {name: PageResult(0, places=9, nll=1.0) for name in choices})
    return dict(found), engines


def test_a_page_on_which_one_choice_gets_lost_is_mended_by_its_second_reading(
        page: Page, model: tuple[dict[str, Any], Tokenizer, Any]) -> None:
    found, engines = score(page, model, BELOW, {"f32": (RIGHT, LOST), "q8": (LOST, AGAIN)})
    f32, q8 = found["f32"], found["q8"]
    assert (engines["f32"].runs, engines["q8"].runs) == ([0], [0, 1])
    assert f32.kept == FreeResult(0, True, 1, 1, "eos", 1, BELOW)
    assert q8.free_errors > 10 and not q8.free_same
    assert q8.kept == FreeResult(0, True, 1, 1, "eos", 2, BELOW), "its box, too, is the page's again"
    assert (q8.places, q8.nll) == (9, 1.0), "what was known along the forced text stays"
    judged = figures("q8", 1, {0: q8}, {0: f32})
    assert (judged.read.error_change, judged.read_twice) == ((0.0, 0.0, 0.0), 1)
    assert judged.first.error_change[0] > 50 and judged.first.largest_page[0] == 0
    assert keeps(judged, BOUNDS["q8"])


def test_the_reference_is_read_twice_by_the_same_rule(page: Page, model: tuple[dict[str, Any], Tokenizer, Any]) -> None:
    found, engines = score(page, model, BELOW, {"f32": (LOST, AGAIN), "q8": (RIGHT, LOST)})
    assert (engines["f32"].runs, engines["q8"].runs) == ([0, 1], [0])
    assert found["f32"].free_errors > 10 and found["f32"].kept == FreeResult(0, True, 1, 1, "eos", 2, BELOW)
    assert (found["q8"].free_same, found["q8"].read.same) == (False, True), "each against the reference read likewise"


@pytest.mark.parametrize(("first", "second", "runs", "kept"), [
    pytest.param(LOST, Written(AGAIN.text, 2 * UNSURE), [0, 1], 0, id="a second reading less likely is not kept"),
    pytest.param(Written(RIGHT.text, guard=True), LOST, [0, 1], 0, id="the guard alone has a page read again"),
    pytest.param(Written(LOST.text, finish="loop"), Written(AGAIN.text, UNSURE), [0, 1], 1,
                 id="a reading that ended is kept before one that did not"),
    pytest.param(Written(LOST.text), AGAIN, [0], 0, id="a wrong reading that is sure stays"),
    pytest.param(Written(LOST.text, UNSURE, "length"), AGAIN, [0], 0, id="one cut at the limit is not read again")])
def test_which_pages_are_read_twice_and_what_is_kept_is_the_products_rule(
        page: Page, model: tuple[dict[str, Any], Tokenizer, Any], first: Written, second: Written, runs: list[int],
        kept: int) -> None:
    found, engines = score(page, model, BELOW, {"f32": (RIGHT, LOST), "q8": (first, second)})
    assert engines["q8"].runs == runs
    read, wanted = found["q8"].read, (first, second)[kept]
    assert (read.count, read.finish, read.errors == 0) == (len(runs), wanted.finish, TRUTH in wanted.text)


def test_a_model_without_a_bound_reads_every_page_once(
        page: Page, model: tuple[dict[str, Any], Tokenizer, Any]) -> None:
    found, engines = score(page, model, 0.0, {"f32": (RIGHT, LOST), "q8": (LOST, AGAIN)})
    assert engines["q8"].runs == [0] and found["q8"].kept is None
    judged = figures("q8", 1, {0: found["q8"]}, {0: found["f32"]})
    assert judged.read == judged.first and judged.read_twice == 0 and not keeps(judged, BOUNDS["q8"])


def test_pages_are_planned_as_the_product_plans_them(
        page: Page, model: tuple[dict[str, Any], Tokenizer, Any]) -> None:
    front_end, tokenizer, info = model
    bench = Bench(PlayedEngine(LOST, AGAIN, tokenizer, info, page.picture), front_end, tokenizer)  # type: ignore[arg-type]
    case = bench.case(page, page.markup())
    guard = front_end["ngram"]
    assert (case.plan.ngram_size, case.plan.ngram_cycle) == (guard["size"], guard["cycle"])
    assert boxes_in(bench.again(case, bench.free(case).page()).text) == [BOX]
