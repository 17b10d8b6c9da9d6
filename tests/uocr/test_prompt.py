"""Prompt ids: nothing drifts, and every mark has its picture."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from uocr.errors import InvalidRequest, ModelFileError
from uocr.modelfile import ModelFile
from uocr.prompt import build_prompt_ids, default_prompt, split_prompt
from uocr.tokenizer import Tokenizer

ROOT = Path(__file__).parents[2]
GOLDEN_PROMPTS = json.loads((ROOT / "tests" / "golden" / "postprocess.json").read_text())["prompts"]
TEXT_IDS = [70, 403, 903, 386, 85, 343, 16]
"""The built-in model's ids of "document parsing."."""


@dataclass(frozen=True)
class Config:
    bos_id: int = 0
    image_id: int = 2035


@pytest.fixture(scope="module")
def built_in() -> tuple[dict[str, Any], Tokenizer]:
    with ModelFile.open(ROOT / "resources" / "models" / "built-in.uocr") as model:
        return model.front_end, Tokenizer(model.tokenizer_json)


class Recorder(Tokenizer):
    """Notes what it is asked to encode; every text is one id, 7."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.texts.append(text)
        return [7]


@pytest.mark.parametrize("case", GOLDEN_PROMPTS, ids=lambda c: repr(c["prompt"]))
def test_prompts_are_stripped_and_split_as_the_published_code_does(case: dict[str, Any]):
    assert split_prompt(case["prompt"]) == case["text_splits"]
    recorder = Recorder()
    marks = len(case["text_splits"]) - 1
    build_prompt_ids({}, Config(), recorder, case["prompt"], [5] * marks)
    assert recorder.texts == case["text_splits"]


def test_the_built_in_model_starts_from_its_trained_ids(built_in: tuple[dict[str, Any], Tokenizer]):
    front_end, tokenizer = built_in
    ids = build_prompt_ids(front_end, Config(), tokenizer, default_prompt(front_end), [273])
    assert ids == [0, *[2035] * 273, *TEXT_IDS]


def test_stored_and_tokenised_ids_agree(built_in: tuple[dict[str, Any], Tokenizer]):
    front_end, tokenizer = built_in
    without = {k: v for k, v in front_end.items() if k != "prompt_ids"}
    assert front_end["prompt_ids"] == TEXT_IDS
    for text in ("<image>document parsing.", "  <image>document parsing.\n"):
        assert build_prompt_ids(without, Config(), tokenizer, text, [3]) == [0, 2035, 2035, 2035, *TEXT_IDS]


def test_stored_ids_serve_the_default_prompt_only():
    front_end = {"prompts": {"single": "<image>read."}, "prompt_ids": [91, 92]}
    assert build_prompt_ids(front_end, Config(), Recorder(), " <image>read. ", [2]) == [0, 2035, 2035, 91, 92]
    assert build_prompt_ids(front_end, Config(), Recorder(), "<image> read.", [2]) == [0, 7, 2035, 2035, 7]


def test_one_blank_after_the_picture_changes_the_ids(built_in: tuple[dict[str, Any], Tokenizer]):
    front_end, tokenizer = built_in
    plain = build_prompt_ids(front_end, Config(), tokenizer, "<image>document parsing.", [1])
    for drifted in ("<image>\ndocument parsing.", "<image> document parsing.", "<image>Document parsing."):
        assert build_prompt_ids(front_end, Config(), tokenizer, drifted, [1]) != plain


def test_text_between_pictures_stays_in_its_place(built_in: tuple[dict[str, Any], Tokenizer]):
    front_end, tokenizer = built_in
    ids = build_prompt_ids(front_end, Config(), tokenizer, "a<image>b<image>c", [2, 1])
    a, b, c = (tokenizer.encode(letter) for letter in "abc")
    assert ids == [0, *a, 2035, 2035, *b, 2035, *c]


@pytest.mark.parametrize(("text", "rows", "words"), [
    ("document parsing.", [273], "0 <image> marks for 1 picture;"),
    ("<image><image>document parsing.", [273], "2 <image> marks for 1 picture;"),
    ("<image>document parsing.", [273, 273], "1 <image> mark for 2 pictures;"),
])
def test_marks_and_pictures_must_agree(text: str, rows: list[int], words: str):
    with pytest.raises(InvalidRequest, match=words):
        build_prompt_ids({}, Config(), Recorder(), text, rows)


@pytest.mark.parametrize("rows", [0, -1])
def test_a_picture_without_visual_tokens_is_refused(rows: int):
    with pytest.raises(InvalidRequest, match=f"Picture 2 has {rows} visual tokens"):
        build_prompt_ids({}, Config(), Recorder(), "<image>a<image>b", [4, rows])


def test_placeholders_and_visual_rows_must_agree():
    front_end = {"prompts": {"single": "<image>read."}, "prompt_ids": [91, 2035]}
    with pytest.raises(InvalidRequest, match="4 picture places for 3 visual tokens"):
        build_prompt_ids(front_end, Config(), Recorder(), "<image>read.", [3])


def test_a_model_for_single_pages_has_no_prompt_for_several(built_in: tuple[dict[str, Any], Tokenizer]):
    front_end, _ = built_in
    with pytest.raises(InvalidRequest, match="read them one by one"):
        default_prompt(front_end | {"multi_page": False}, multi_page=True)
    several = {"multi_page": True, "prompts": {"single": "<image>a", "multi": "<image>Multi page parsing."}}
    assert default_prompt(several, multi_page=True) == "<image>Multi page parsing."


def test_a_model_without_prompts_is_a_damaged_model():
    with pytest.raises(ModelFileError, match='no prompt "single"'):
        default_prompt({})
