"""The gate's arithmetic, and its scoring on a page of the golden set."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from uocr import native
from uocr.convert.dialects import read_config
from uocr.convert.random_full import PUBLISHED_CONFIG
from uocr.convert.tensors import stored_tensors
from uocr.document import Box
from uocr.modelfile import ModelFile
from uocr.tokenizer import Tokenizer
from uocr.views import plan_views

from bench.gate.choices import MODULES, Choice, Sight, module_of
from bench.gate.evaluate import Journal
from bench.gate.figures import Figures, Free, figures
from bench.gate.pick import BOUNDS, Bounds, Rung, climb, keeps, ladder
from bench.gate.scoring import (
    Bench,
    Forced,
    FreeReading,
    FreeResult,
    PageCase,
    PageResult,
    Readings,
    boxes_in,
    compare_forced,
    compare_free,
    compare_readings,
    kinds_of,
)
from bench.quality.generated import blocks_of
from bench.quality.pages import Page, TruthBlock
from tests.conftest import BUILT_IN, GOLDEN

CASE = json.loads((GOLDEN / "built-in" / "golden.json").read_text("utf-8"))["cases"][0]
TEXT = CASE["text"].removesuffix("<｜end▁of▁sentence｜>")


def test_every_large_matrix_belongs_to_one_module() -> None:
    specs = stored_tensors(read_config(PUBLISHED_CONFIG).config)
    rest = {spec.name for spec in specs if module_of(spec.name) is None and math.prod(spec.shape) > 2_000_000}
    assert rest == {"sam_model.pos_embed", "sam_model.net_3.weight"}  # 16 bit by the type policy
    assert {module_of(spec.name) for spec in specs} == {*MODULES, None}
    assert module_of("layers.0.mlp.gate_proj.weight") == "dense"
    assert module_of("layers.3.mlp.experts.gate_proj.weight") == "experts"
    assert module_of("layers.3.mlp.gate.weight") is None  # the router


def test_the_ladder_gives_bits_back_where_a_byte_buys_most() -> None:
    losses = {("experts", "q4"): 2.0, ("experts", "q8"): 0.1, ("head", "q4"): 1.0, ("SAM", "q4"): -0.5}
    rungs = ladder("q4", losses, {"experts": 1000, "head": 10, "SAM": 100})
    assert [dict(rung.types) for rung in rungs] == [
        {"experts": "q4", "head": "q4", "SAM": "q4"}, {"experts": "q4", "head": "q8", "SAM": "q4"},
        {"experts": "q8", "head": "q8", "SAM": "q4"}, {"experts": "q8", "head": "q8", "SAM": "q8"}]
    assert [round(rung.expected, 3) for rung in rungs] == [3.0, 2.0, 0.1, 0.1]


NO_ERRORS = Free(0.0, (0.0, 0.0, 0.0), 0.0, 0.0, 0, 0, (0, 0.0))
BLANK = Figures("", 0, 1, 1, 0.0, (0.0, 0.0, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, NO_ERRORS, NO_ERRORS, 0)


def test_the_climb_starts_where_the_sum_allows_and_stops_where_the_whole_does() -> None:
    rungs = [Rung({"a": str(n)}, expected) for n, expected in enumerate((5.0, 2.5, 2.0, 1.0))]
    measured: list[str] = []

    def measure(rung: Rung) -> Figures:
        measured.append(rung.types["a"])
        real = {"1": (3.5, 0.1), "2": (2.9, 0.6), "3": (1.0, 0.2)}[rung.types["a"]]
        return replace(BLANK, nll_change=(real[0], 0, 0), read=replace(NO_ERRORS, error_change=(0, 0, real[1])))

    rung, found, kept = climb(rungs, Bounds(3.0, 0.5), measure)
    assert (measured, rung.types["a"], kept) == (["1", "2", "3"], "3", True)
    assert found.nll_change[0] == 1.0
    assert climb(rungs, Bounds(0.5, 0.5), measure)[2] is False


def test_the_climb_goes_down_when_the_sum_was_too_careful() -> None:
    rungs = [Rung({"a": str(n)}, expected) for n, expected in enumerate((5.0, 4.0, 2.0))]
    real = {"0": 3.5, "1": 2.5, "2": 1.5}
    rung, found, kept = climb(rungs, Bounds(3.0, 0.5), lambda r: replace(BLANK, nll_change=(real[r.types["a"]], 0, 0)))
    assert (rung.types["a"], found.nll_change[0], kept) == ("1", 2.5, True)


def result(page: int, **values: float | str | FreeResult) -> PageResult:
    return replace(PageResult(page, places=10, free_length=100), **values)  # type: ignore[arg-type]


def test_figures_are_changes_against_the_reference_over_the_same_pages() -> None:
    reference = {0: result(0, nll=1.0, free_errors=2), 1: result(1, nll=3.0, free_errors=0)}
    other = {0: result(0, nll=1.1, free_errors=3, kl=0.2, agree=9, free_same=True, finish="eos"),
             1: result(1, nll=3.3, free_errors=1, kl=0.2, agree=10, finish="loop")}
    found = figures("q4", 123, other, reference)
    assert (found.nll, found.kl, found.agreement) == (0.22, 0.02, 95.0)
    assert found.nll_change[0] == 10.0 and found.nll_change[1] < 10.0 < found.nll_change[2]
    assert found.read.error_rate == 2.0 and found.read.error_change == (1.0, 1.0, 1.0)
    assert (found.read.same_text, found.read.not_ended) == (50.0, 1)
    assert (found.read.pages_changed, found.read.largest_page) == (2, (0, 0.5))
    assert (found.first, found.read_twice) == (found.read, 0), "nothing was read twice"


def test_bounds_are_held_to_what_the_product_keeps_and_first_readings_stand_beside_it() -> None:
    reference = {n: result(n, nll=1.0, finish="eos", kept=FreeResult(0, True, 0, 0, "eos", 1, 0.8)) for n in range(2)}
    lost = {**reference, 1: replace(reference[1], free_errors=90, finish="loop",
                                    kept=FreeResult(0, True, 0, 0, "eos", 2, 0.8))}
    mended = figures("q8", 1, lost, reference)
    assert (mended.read.error_change, mended.read.not_ended, mended.read_twice) == ((0.0, 0.0, 0.0), 0, 1)
    assert (mended.first.error_change[0], mended.first.not_ended, mended.first.largest_page) == (45.0, 1, (1, 45.0))
    assert keeps(mended, BOUNDS["q8"]) and not keeps(replace(mended, read=mended.first), BOUNDS["q8"])
    assert mended.stored()["error_rate"] == 0.0 and mended.stored()["first"]["error_rate"] == 45.0
    other = figures("q8", 1, reference, lost)
    assert (other.first.error_change[0], other.read.error_change[0], other.read_twice) == (-45.0, 0.0, 0)


def test_a_distorted_distribution_costs_even_when_it_helps_the_true_tokens() -> None:
    assert replace(BLANK, nll_change=(-4.0, 0, 0), kl=0.003).loss(0.1) == pytest.approx(3.0)
    assert replace(BLANK, nll_change=(5.0, 0, 0), kl=0.003).loss(0.1) == 5.0


def test_distributions_are_compared_place_by_place() -> None:
    page = Page("s", 0, Path("x.png"), (TruthBlock("text", "ab", None),), "base")
    case = PageCase(page, native.Plan([0]), plan_views(9, 9, "base"), [], [0, 1], np.array([False, True]),
                    np.array([True, False]))
    even, leaning = np.log([[0.5, 0.5], [0.5, 0.5]]), np.log([[0.5, 0.5], [0.25, 0.75]])
    found = PageResult(0)
    compare_forced(case, Forced([0, 1], even), Forced([0, 1], leaning), found)
    assert found.nll == pytest.approx(-math.log(0.5) - math.log(0.75))
    assert found.kl == pytest.approx(0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75))
    assert (found.places, found.agree, found.digit_places, found.box_places) == (2, 1, 1, 1)
    assert (found.digit_agree, found.box_agree) == (0, 1)  # equal logits: the lowest id
    assert found.digit_nll == pytest.approx(-math.log(0.75))


def test_free_readings_are_compared_by_text_and_boxes() -> None:
    page = Page("s", 0, Path("x.png"), (TruthBlock("text", "abcd", None),), "base")
    case = PageCase(page, native.Plan([0]), plan_views(9, 9, "base"), [], [], np.zeros(0, bool), np.zeros(0, bool))
    own, read = (FreeReading(text, finish, np.zeros((0, 0))) for text, finish in (
        ("<|det|>text [1, 2, 30, 40]<|/det|>abcd\n<|det|>text [1, 50, 30, 90]<|/det|>\n", "eos"),
        ("<|det|>text [3, 2, 30, 42]<|/det|>abxd\n<|det|>text [4, 50, 30, 90]<|/det|>\n", "loop")))
    assert compare_free(case, own, read) == FreeResult(1, False, 2, 1, "loop")
    found = PageResult(0)
    compare_readings(case, Readings(own, own), Readings(read, own, 2), found, 0.8)
    assert (found.free_errors, found.free_length, found.free_same, found.finish) == (1, 4, False, "loop")
    assert (found.box_pairs, found.box_equal) == (2, 1)
    assert found.kept == FreeResult(0, True, 2, 2, "eos", 2, 0.8)
    compare_readings(case, Readings(own, own), Readings(read, read), found, 0.0)
    assert found.kept is None and found.read == found.first == FreeResult(1, False, 2, 1, "loop")


def test_results_are_kept_only_for_the_same_measurement(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "r.jsonl", {"checkpoint": "a"})
    journal.add([("q8", result(3, nll=1.5))])
    twice = result(3, nll=1.5, kept=FreeResult(1, True, 0, 0, "eos", 2, 0.8))
    journal.add([("q8", twice), ("q4", result(3, nll=2.0))])  # in place of what was known
    kept = {"q8": {3: twice}, "q4": {3: result(3, nll=2.0)}}
    assert Journal(tmp_path / "r.jsonl", {"checkpoint": "a"}).results == kept
    assert Journal(tmp_path / "r.jsonl", {"checkpoint": "b"}).results == {}


def test_what_was_kept_before_pages_were_read_twice_is_known_but_lacks_it(tmp_path: Path) -> None:
    path, facts = tmp_path / "r.jsonl", {"checkpoint": "a"}
    old = {name: value for name, value in asdict(result(3, nll=1.5)).items() if name != "kept"}
    path.write_text(json.dumps(facts) + "\n" + json.dumps({"choice": "q8", "result": old}) + "\n", "utf-8")
    journal = Journal(path, facts)
    assert journal.known("q8", 3) == result(3, nll=1.5) and journal.known("q8", 4) is None
    assert journal.lacks("q8", 3, 0.8) and not journal.lacks("q8", 3, 0.0) and journal.lacks("q8", 4, 0.0)
    journal.add([("q8", result(3, nll=1.5, kept=FreeResult(1, True, 0, 0, "eos", 1, 0.8)))])
    assert not journal.lacks("q8", 3, 0.8) and not journal.lacks("q8", 3, 0.0)
    assert journal.lacks("q8", 3, 0.7), "another bound may have had it read twice"


def test_a_line_that_a_killed_run_left_unfinished_is_measured_again(tmp_path: Path) -> None:
    path, facts = tmp_path / "r.jsonl", {"checkpoint": "a"}
    Journal(path, facts).add([("q8", result(0, nll=1.0)), ("q8", result(1, nll=2.0))])
    path.write_bytes(path.read_bytes()[:-9])
    journal = Journal(path, facts)
    assert journal.results == {"q8": {0: result(0, nll=1.0)}} and journal.lacks("q8", 1, 0.0)
    journal.add([("q8", result(1, nll=2.0))])
    assert Journal(path, facts).results == {"q8": {0: result(0, nll=1.0), 1: result(1, nll=2.0)}}


def test_the_forced_text_of_a_golden_page_scores_as_the_engine_reports_it() -> None:
    """Along its own reading, forced NLL is the sum of the log-probabilities that the free run reports."""
    with ModelFile.open(BUILT_IN) as file:
        front_end, tokenizer = file.front_end, Tokenizer(file.tokenizer_json, digits="single")
    page = Page("golden", 0, GOLDEN / "built-in" / CASE["image"], tuple(blocks_of(TEXT)), "base")
    with native.Engine(BUILT_IN, precision="exact") as engine:
        bench = Bench(engine, front_end, tokenizer)
        case = bench.case(page, page.markup())
        assert case.ids == CASE["ids"]
        read = bench.free(case)
        assert bench.free(case, read.rows).text == read.text  # rows stand for the page
        case = bench.case(page, read.text)
        forced = bench.forced(case, read.rows)
        with engine.begin(case.plan) as run:
            run.set_rows(read.rows)
            reported = [e.logprob for e in run.events() if e.kind == native.TOKEN]
    found = PageResult(0)
    compare_forced(case, forced, forced, found)
    compare_readings(case, Readings(read, read), Readings(read, read), found, 0.0)
    assert found.nll == pytest.approx(-sum(reported), abs=1e-4)
    assert (found.kl, found.agree, found.places) == (0.0, len(case.ids), len(case.ids))
    assert forced.logits.argmax(axis=1).tolist() == case.ids
    assert found.finish == "eos"
    blocks = len(page.blocks)
    assert blocks >= 3
    assert (found.free_errors, found.box_pairs, found.box_equal) == (0, blocks, blocks)
    assert found.box_places == 4 * blocks and found.digit_places == 0


def test_choices_of_one_sight_see_a_page_alike_bit_by_bit() -> None:
    with ModelFile.open(BUILT_IN) as file:
        front_end, tokenizer = file.front_end, Tokenizer(file.tokenizer_json, digits="single")
    page = Page("golden", 0, GOLDEN / "built-in" / CASE["image"], tuple(blocks_of(TEXT)), "base")
    rows, sights = {}, {}
    for precision in ("exact", "fast", "integer"):
        sights[precision] = Choice("q8", "q8", precision=precision).sight(BUILT_IN)
        with native.Engine(BUILT_IN, precision=precision) as engine:
            bench = Bench(engine, front_end, tokenizer)
            rows[precision] = bench.free(bench.case(page, page.markup())).rows
    assert sights["exact"] == sights["fast"] == ("q8", "exact") and sights["integer"] == ("q8", "integer")
    assert np.array_equal(rows["exact"], rows["fast"]) and not np.array_equal(rows["exact"], rows["integer"])


def test_a_sight_is_of_what_changes_vision_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def sight(choice: Choice, clip: str) -> Sight:
        """Of a choice whose file holds CLIP matrices in the type `clip`."""
        tensors = {"vision_model.transformer.layers.0.mlp.fc1.weight": clip, "layers.1.self_attn.q_proj.weight": "q4"}
        file = SimpleNamespace(tensors={name: SimpleNamespace(dtype=dtype) for name, dtype in tensors.items()})
        monkeypatch.setattr(ModelFile, "open", lambda path: nullcontext(file))
        return choice.sight(Path("any"))

    reference = sight(Choice("f32", "f32"), "f32")
    assert sight(Choice("head q4", "f32", {"head": "q4"}), "f32") == reference
    assert sight(Choice("f32 (FAST)", "f32", precision="fast"), "f32") == reference
    assert sight(Choice("SAM q8", "f32", {"SAM": "q8"}), "f32") != reference
    assert sight(Choice("q4 (FAST)", "q4", precision="fast"), "q4") != sight(Choice("q4", "q4"), "q4")


def test_digits_of_text_and_coordinates_are_told_apart() -> None:
    with ModelFile.open(BUILT_IN) as file:
        tokenizer = Tokenizer(file.tokenizer_json, digits="single")
    ids = tokenizer.scoring_ids("<|det|>text [10, 20, 300, 999]<|/det|>a 42\n")
    digits, boxes = kinds_of(ids, tokenizer)
    assert [tokenizer.decode([i]) for i, yes in zip(ids, boxes, strict=True) if yes] == ["10", "20", "300", "999"]
    assert [tokenizer.decode([i]) for i, yes in zip(ids, digits, strict=True) if yes] == ["4", "2"]
    assert boxes_in("<|det|>text [10, 20, 300, 999]<|/det|>a 42\n") == [Box(10, 20, 300, 999)]
