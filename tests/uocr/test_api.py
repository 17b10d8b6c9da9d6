"""Reading pages with the built-in model through the Python interface."""

from __future__ import annotations

import base64
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from uocr import Box, Control, FinishReason, Page, ReadSettings, UnlimitedOCR, errors, events
from uocr.reading import prepare
from uocr.score import character_error_rate

from tests.conftest import BUILT_IN, SAMPLES
from tests.uocr.convert.checkpoint_files import with_front_end


def truth(name: str) -> list[str]:
    return (SAMPLES / f"{name}.txt").read_text("utf-8").split("\f")


def test_the_short_form_reads_a_page(ocr: UnlimitedOCR) -> None:
    text = ocr.generate(SAMPLES / "screenshot.png")
    assert character_error_rate(text, truth("screenshot")[0]) <= 0.02


@pytest.mark.parametrize("name", ["scan.jpg", "leaflet.pdf"])
def test_samples_within_the_models_range_are_read(ocr: UnlimitedOCR, name: str) -> None:
    document = ocr.read(SAMPLES / name)
    wanted = truth(Path(name).stem)
    assert len(document.pages) == len(wanted)
    for page, text in zip(document.pages, wanted, strict=True):
        assert page.finish_reason is FinishReason.EOS
        assert character_error_rate(page.text, text) <= 0.02
        assert page.blocks[0].label == "title"


def test_picture_bytes_base64_and_path_give_the_same_text(ocr: UnlimitedOCR) -> None:
    path = SAMPLES / "screenshot.png"
    data = path.read_bytes()
    texts = {
        ocr.generate(s)
        for s in (
            path,
            str(path),
            data,
            Image.open(path),
            base64.b64encode(data).decode(),
            "data:image/png;base64," + base64.b64encode(data).decode(),
        )
    }
    assert len(texts) == 1


def test_the_picture_reaches_the_decoder(ocr: UnlimitedOCR) -> None:
    """K3: the same prompt with another picture must give another text."""
    white = Image.new("RGB", (800, 600), "white")
    assert ocr.read(white).pages[0].raw_text != ocr.read(SAMPLES / "screenshot.png").pages[0].raw_text


def test_memory_peaks_are_the_estimate(ocr: UnlimitedOCR) -> None:
    page = ocr.read(SAMPLES / "screenshot.png").pages[0]
    for name, promised in page.memory_estimate.items():
        peak = page.memory_peak[name]
        assert peak <= promised, name
        assert promised - peak <= max(0.02 * promised, 65536), name


def test_every_token_carries_its_probability_and_blocks_their_confidence(ocr: UnlimitedOCR) -> None:
    page = ocr.read(SAMPLES / "screenshot.png").pages[0]
    assert all(t.logprob <= 1e-6 for t in page.tokens)
    assert all(0 < b.confidence <= 1 for b in page.blocks)
    assert all(0 < w.confidence <= 1 for b in page.blocks for w in b.words)
    assert page.timings.generated_tokens == len(page.tokens) + 1  # and the end-of-sequence token


def test_a_token_limit_is_told_as_cut_short(ocr: UnlimitedOCR) -> None:
    page = ocr.read(SAMPLES / "screenshot.png", max_new_tokens=20).pages[0]
    assert page.finish_reason is FinishReason.LENGTH
    assert not page.complete
    assert len(page.tokens) == 20
    with pytest.warns(UserWarning, match="length"):
        ocr.generate(SAMPLES / "screenshot.png", max_new_tokens=20)


def test_over_budget_is_refused_before_it_starts_with_numbers() -> None:
    with UnlimitedOCR(memory_budget="40 MB") as small, pytest.raises(errors.OverBudget) as refused:
        small.read(SAMPLES / "screenshot.png")
    assert refused.value.needed > refused.value.budget == 40_000_000
    assert refused.value.estimate
    assert str(refused.value).startswith("This page needs ")
    assert str(refused.value).endswith(" and the budget is 40.0 MB. Raise the budget.")
    with pytest.raises(errors.OverBudget) as model_alone:
        UnlimitedOCR(memory_budget="1 MB")
    needed = model_alone.value.needed
    assert str(model_alone.value) == (
        f"The built-in model alone takes {needed / 1e6:.1f} MB and the memory budget is 1.0 MB. Raise the budget."
    )
    assert model_alone.value.estimate == {"model views": needed} and model_alone.value.budget == 1_000_000


@pytest.mark.parametrize("budget", ["30", 30, "512 kB", "999999"])
def test_a_budget_whose_unit_was_forgotten_is_refused_with_a_hint(budget: str | int) -> None:
    with pytest.raises(errors.InvalidRequest, match='give it with a unit, such as "512 MB"'):
        UnlimitedOCR(memory_budget=budget)


def test_cancel_from_another_thread_keeps_finished_pages_and_the_engine(ocr: UnlimitedOCR) -> None:
    before = ocr.memory().current
    control = Control()
    seen = []
    for event in ocr.stream(SAMPLES / "leaflet.pdf", control=control):
        if isinstance(event, events.TextDelta) and event.page.index == 1:
            thread = threading.Thread(target=control.cancel)
            thread.start()
            thread.join()
        if isinstance(event, events.PageFinished):
            seen.append(event.page.finish_reason)
    assert seen == [FinishReason.EOS, FinishReason.CANCELLED, FinishReason.NOT_READ]
    assert ocr.memory().current == before
    assert ocr.read(SAMPLES / "screenshot.png").complete


def test_pause_holds_and_resume_goes_on(ocr: UnlimitedOCR) -> None:
    control = Control()
    stream = ocr.stream(SAMPLES / "screenshot.png", control=control)
    next(stream)
    control.pause()
    released = threading.Timer(0.3, control.resume)
    released.start()
    assert isinstance(next(stream), events.ReadEvent)
    assert not control.paused
    stream.close()


def test_a_stream_left_half_read_does_not_lock_its_own_thread(ocr: UnlimitedOCR) -> None:
    stream = ocr.stream(SAMPLES / "screenshot.png")
    for event in stream:
        if isinstance(event, events.TextDelta):
            break
    with pytest.raises(errors.EngineBusy):
        ocr.read(SAMPLES / "screenshot.png")
    stream.close()
    assert ocr.read(SAMPLES / "screenshot.png").complete


def test_two_instances_and_two_threads_read_the_same(ocr: UnlimitedOCR) -> None:
    results: dict[int, str] = {}
    with UnlimitedOCR() as other:

        def work(number: int, engine: UnlimitedOCR) -> None:
            results[number] = engine.generate(SAMPLES / "screenshot.png")

        threads = [threading.Thread(target=work, args=(i, e)) for i, e in enumerate((ocr, ocr, other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(results.values())) == 1 and len(results) == 3


def test_one_unreadable_page_is_told_and_the_others_are_read(ocr: UnlimitedOCR, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a picture")
    with pytest.raises(errors.UnreadableFile):
        ocr.read(path)


def test_a_region_is_read_alone_and_its_boxes_lie_in_it(ocr: UnlimitedOCR) -> None:
    page = ocr.read(SAMPLES / "screenshot.png", region=(0, 290, 962, 400)).pages[0]
    assert "blue val" in page.text and "Weekly report" not in page.text
    assert (page.width, page.height) == (962, 766)
    for block in page.blocks:
        _, top, _, bottom = block.boxes[0].pixels(page.width, page.height)
        assert 288 <= top < bottom <= 402


def test_a_box_in_a_region_becomes_the_same_place_on_the_page() -> None:
    page = Page("drawn", 0, 1000, 2000)
    picture, to_page = prepare(Image.new("RGB", (1000, 2000)), page, ReadSettings(region=(100, 500, 600, 1500)))
    assert picture.size == (500, 1000)
    assert to_page(Box(0, 0, 999, 999)).pixels(1000, 2000) == pytest.approx((100, 500, 600, 1500), abs=2)
    assert to_page(Box(500, 250, 500, 250)).pixels(1000, 2000) == pytest.approx((350, 750, 350, 750), abs=2)


def test_a_turned_page_is_read_after_turning_it_back(ocr: UnlimitedOCR) -> None:
    turned = Image.open(SAMPLES / "screenshot.png").convert("RGB").transpose(Image.Transpose.ROTATE_90)
    page = ocr.read(turned, rotate=90).pages[0]
    assert character_error_rate(page.text, truth("screenshot")[0]) <= 0.02


def test_an_untrained_preset_is_read_with_a_note(ocr: UnlimitedOCR) -> None:
    page = ocr.read(Image.fromarray(np.full((300, 300, 3), 255, np.uint8)), preset="tiny", max_new_tokens=3).pages[0]
    assert any("not trained with preset tiny" in p for p in page.problems)


@pytest.mark.parametrize(("prompt", "noted"), [
    ("Translate this page.", True), ("<image>Free OCR.", True), ("document parsing.", False),
    ("<image>document parsing.", False), ("", False), (None, False),
])
def test_a_prompt_that_the_model_was_not_trained_with_is_noted(ocr: UnlimitedOCR, prompt: str | None,
                                                               noted: bool) -> None:
    page = ocr.read(SAMPLES / "screenshot.png", preset="base", prompt=prompt, max_new_tokens=4).pages[0]
    assert [p for p in page.problems if "trained with the prompt" in p] == [
        "The model was trained with the prompt '<image>document parsing.' alone; leave prompt out."] * noted


def test_a_prompt_without_the_picture_gets_it_first_and_a_blank_one_is_the_models_own(ocr: UnlimitedOCR) -> None:
    def ids(prompt: str | None) -> list[int]:
        return [t.id for t in ocr.read(SAMPLES / "screenshot.png", prompt=prompt, max_new_tokens=4).pages[0].tokens]

    def length(prompt: str | None) -> int:
        return ocr.read(SAMPLES / "screenshot.png", prompt=prompt, max_new_tokens=1).pages[0].timings.prompt_tokens

    assert ids("Hello there.") == ids("<image>Hello there.") == ids(" Hello there. ")
    assert length("Hello there.") == length("<image>Hello there.") > length("<image>")
    assert ids("") == ids(" \n") == ids(None)
    assert length(" \n") == length(None)


def test_contradicting_settings_are_refused(ocr: UnlimitedOCR) -> None:
    for wrong in (
        {"rotate": 45},
        {"dpi": 1},
        {"preset": "enormous"},
        {"compat": "downstream"},
        {"nonsense": 1},
        {"prompt": "<image><image>two marks"},
    ):
        with pytest.raises(errors.InvalidRequest):
            ocr.read(SAMPLES / "screenshot.png", **wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_new_tokens": "5"},
        {"max_new_tokens": 2.5},
        {"max_new_tokens": -1},
        {"max_new_tokens": 10**11},
        {"dpi": None},
        {"rotate": "90"},
        {"pages": 1},
        {"prompt": 5},
        {"password": 5},
        {"region": (1, 2)},
        {"guard_allow": 5},
        {"guard_allow": (10**11,)},
        {"ngram_size": "x"},
        {"ngram_window": -1},
        {"loop_history": -1},
        {"control": 5},
    ],
)
def test_settings_of_the_wrong_kind_are_told_at_once(ocr: UnlimitedOCR, wrong: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidRequest, match=next(iter(wrong))):
        ocr.read(SAMPLES / "screenshot.png", **wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"threads": -1},
        {"threads": 10**12},
        {"threads": "2"},
        {"memory_budget": -5},
        {"memory_budget": 2.5},
        {"memory_budget": 2**70},
        {"memory_budget": "1e400 GB"},
        {"model": 5},
        {"settings": {}},
        {"limits": 5},
        {"precision": "high"},
    ],
)
def test_engine_options_of_the_wrong_kind_are_told_at_once(wrong: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidRequest):
        UnlimitedOCR(**wrong)


def test_a_misspelt_name_starts_no_download() -> None:
    with pytest.raises(errors.ModelNotFound, match="uocr pull"):
        UnlimitedOCR("models/typo")


@pytest.mark.parametrize(
    ("allowed", "asked", "used"),
    [(True, "fast", "integer"), (False, "fast", "fast"), (True, "exact", "exact"), (False, "integer", "integer")],
)
def test_vision_multiplies_in_8_bits_where_the_models_gate_allowed_it(
    tmp_path: Path, allowed: bool, asked: str, used: str
) -> None:
    model = with_front_end(BUILT_IN, tmp_path / "other.uocr", integer_activations=allowed)
    with UnlimitedOCR(model, precision=asked, threads=1) as ocr:
        assert ocr.recorded()["precision"] == used
