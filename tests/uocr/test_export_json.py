"""JSON holds every number and reads back as it was."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from export_samples import document, page, rich_page
from uocr.document import Document, FinishReason, Token
from uocr.errors import UnreadableFile
from uocr.export import export, load_json


def test_a_reading_comes_back_as_it_was(tmp_path):
    first = document(rich_page(), page(index=1, finish=FinishReason.ERROR, error="Inf in block 2"))
    second = Document(
        "other.png",
        [page(("text", 'מלל \u202e \\u0041 " \\ \n'))],
        "big",
        "cd34",
        {"dpi": 300, "deep": {"a": [1, None]}},
    )
    export([first, second], tmp_path / "a.json")
    assert load_json(tmp_path / "a.json") == [first, second]


def test_the_schema_is_the_documented_one(tmp_path):
    export(document(rich_page()), tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (content["schema"], content["schema_version"]) == ("leggio-reading", 1)
    (made,) = content["documents"]
    assert {key: made[key] for key in ("source", "model", "model_id", "settings", "complete")} == {
        "source": "scan.pdf",
        "model": "nano",
        "model_id": "ab12",
        "settings": {"preset": "base", "max_tokens": 4096},
        "complete": True,
    }
    (record,) = made["pages"]
    assert record["tokens"] == {"id": [5, 7, 9], "logprob": [-0.125, -2.5, 0.0], "guard_acted": [1]}
    assert record["timings"] == {
        "vision_s": 1.5,
        "prefill_s": 0.25,
        "decode_s": 2.0,
        "prompt_tokens": 300,
        "visual_tokens": 273,
        "generated_tokens": 50,
        "tokens_per_second": 25.0,
    }
    assert record["memory_estimate"] == {"kv_cache": 1024}
    assert record["memory_peak"] == {"kv_cache": 1000}
    assert record["finish_reason"] == "eos"
    block = record["blocks"][1]
    assert block["boxes"] == [[100, 100, 900, 200]]
    assert block["boxes_px"] == [[100, 140, 900, 280]]
    assert (block["confidence"], block["box_confidence"]) == (0.75, 0.875)
    assert block["words"][1] == {"text": "was", "start": 6, "confidence": 0.25}


def test_a_page_cut_short_is_told_in_fields(tmp_path):
    export(document(page(("text", "a")), page(index=1, finish=FinishReason.LOOP)), tmp_path / "a.json")
    (made,) = json.loads((tmp_path / "a.json").read_text())["documents"]
    assert made["complete"] is False
    assert [p["complete"] for p in made["pages"]] == [True, False]
    assert made["pages"][1]["notice"] == "Page 2 is cut short: the model began to repeat itself."


def test_numbers_that_json_lacks_come_back(tmp_path):
    odd = page(("text", "a"), tokens=[Token(1, -math.inf), Token(2, math.nan), Token(3, -0.1)])
    export(document(odd), tmp_path / "a.json")
    json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail)  # no bare NaN in the file
    back = load_json(tmp_path / "a.json")[0].pages[0].tokens
    assert back[0] == Token(1, -math.inf)
    assert math.isnan(back[1].logprob)
    assert back[2] == Token(3, -0.1)


def test_every_character_comes_back_even_lone_surrogates(tmp_path):
    text = "".join(map(chr, range(0xFFFF, -1, -1))) + "👍"  # downwards: no two surrogates make a pair
    export(document(page(("text", text))), tmp_path / "a.json")
    assert load_json(tmp_path / "a.json")[0].pages[0].blocks[0].text == text


def test_a_document_without_pages_and_no_document_at_all(tmp_path):
    export([], tmp_path / "none.json")
    assert load_json(tmp_path / "none.json") == []
    export([page(("text", "a")), page(("text", "b"), index=1)], tmp_path / "bare.json")
    (made,) = load_json(tmp_path / "bare.json")
    assert [p.text for p in made.pages] == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no complete reading"),
        ('{"a": 1}', "no complete reading"),
        ("[1, 2]", "no complete reading"),
        ("\udcff", "no complete reading"),
        ('{"schema": "other", "schema_version": 1}', "no reading of Leggio"),
        ('{"schema": "leggio-reading", "schema_version": 2}', "schema version 2"),
        (
            '{"schema": "leggio-reading", "schema_version": 1, "documents": [{"source": "x"}]}',
            "no complete reading",
        ),
        ("[" * 100_000, "no complete reading"),
    ],
)
def test_what_is_no_reading_is_refused_in_a_sentence(content, message, tmp_path):
    (tmp_path / "a.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnreadableFile, match=message) as caught:
        load_json(tmp_path / "a.json")
    assert str(tmp_path / "a.json") in str(caught.value)


def test_a_truncated_file_is_refused(tmp_path):
    export(document(rich_page()), tmp_path / "a.json")
    whole = (tmp_path / "a.json").read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 3):
        (tmp_path / "a.json").write_bytes(whole[:cut])
        with pytest.raises(UnreadableFile):
            load_json(tmp_path / "a.json")


def test_settings_of_any_type_are_written(tmp_path):
    export(
        replace(document(), settings={"path": tmp_path, "pages": (1, 2)}, pages=[page()]), tmp_path / "a.json"
    )
    assert load_json(tmp_path / "a.json")[0].settings == {"path": str(tmp_path), "pages": [1, 2]}
