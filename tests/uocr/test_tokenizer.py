"""The tokenizer: bytes in, bytes out, nothing of the byte alphabet in the text."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uocr.errors import InvalidRequest, ModelFileError
from uocr.modelfile import ModelFile
from uocr.tokenizer import Tokenizer, byte_alphabet

MODEL = Path(__file__).parents[2] / "resources" / "models" / "built-in.uocr"
MARKERS = {2035: "<image>", 2036: "<|grounding|>", 2037: "<|ref|>", 2038: "<|/ref|>", 2039: "<|det|>",
           2040: "<|/det|>", 2041: "<PAGE>", 2042: "<|User|>", 2043: "<|Assistant|>", 2044: "<td>",
           2045: "</td>", 2046: "<tr>", 2047: "</tr>"}

with ModelFile.open(MODEL) as _model:
    TOKENIZER_JSON = _model.tokenizer_json
TOKENIZER = Tokenizer(TOKENIZER_JSON, digits="single")


def streamed(ids: list[int]) -> list[str]:
    decoder = TOKENIZER.stream()
    return [*(decoder.push(i) for i in ids), decoder.flush()]


def test_every_added_token_goes_round():
    assert len(TOKENIZER.added) == 16
    for token_id, content in TOKENIZER.added.items():
        assert TOKENIZER.encode(content) == [token_id]
        assert TOKENIZER.decode([token_id]) == content
        assert TOKENIZER.id_of(content) == token_id
        assert streamed([token_id]) == [content, ""]
    assert {i: TOKENIZER.added[i] for i in MARKERS} == MARKERS
    assert [TOKENIZER.added[i] for i in (0, 1, 2)] == [
        "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"]


def test_markers_stay_in_the_text():
    text = "<|det|>title [1, 2, 3, 4]<|/det|>Hi\n<|ref|>x<|/ref|><table><tr><td>a</td></tr></table><PAGE>"
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_the_byte_alphabet_is_complete_and_known():
    alphabet = byte_alphabet()
    assert sorted(alphabet.values()) == list(range(256))
    assert [alphabet[letter] for letter in "ĠĊAéŃ"] == [0x20, 0x0A, 0x41, 0xE9, 0xAD]


def test_no_id_leaks_the_byte_alphabet():
    for token_id in range(TOKENIZER.size):
        if token_id in TOKENIZER.added:
            continue
        stored = TOKENIZER._encoder.id_to_token(token_id)
        assert TOKENIZER.token_bytes(token_id) == bytes(byte_alphabet()[letter] for letter in stored)
    assert TOKENIZER.decode([TOKENIZER.id_of("Ġde"), TOKENIZER.id_of("Ċ"), TOKENIZER.id_of("Ã©")]) == " de\né"


@pytest.mark.parametrize("text", [
    "Il cane è già “qui”, naïve café", "  two  blanks \n\n\tand a tab ", "1234567890 + 12.5 % = 3",
    "Überall\r\n",
    "日本語 и кириллица", "👍🏽 family 👨‍👩‍👧", "Ġ Ċ ĠĠ", "", "a\u0301 combining", "\u202ertl\u202c שלום",
])
def test_text_goes_round(text: str):
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    assert "".join(streamed(ids)) == text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_goes_round(text: str):
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    pieces = streamed(ids)
    assert "".join(pieces) == text
    if "\ufffd" not in text:
        assert not any("\ufffd" in piece for piece in pieces)


def test_a_character_split_across_tokens_comes_whole():
    ids = TOKENIZER.encode("👍")
    assert [len(TOKENIZER.token_bytes(i)) for i in ids] == [1, 1, 1, 1]
    assert streamed(ids) == ["", "", "", "👍", ""]


def test_a_character_cut_off_at_the_end_is_one_replacement():
    ids = TOKENIZER.encode("a👍")
    assert streamed(ids[:-1])[-1] == "\ufffd"
    assert "".join(streamed(ids[:-1])) == TOKENIZER.decode(ids[:-1]) == "a\ufffd"


def test_a_decoder_starts_afresh_after_flush():
    decoder = TOKENIZER.stream()
    decoder.push(TOKENIZER.encode("é")[0])
    decoder.flush()
    assert decoder.push(TOKENIZER.encode("b")[0]) == "b"


def test_broken_bytes_do_not_swallow_the_marker_behind_them():
    first_of_thumb = TOKENIZER.encode("👍")[0]
    assert "".join(streamed([first_of_thumb, 2040])) == "\ufffd<|/det|>"


def test_box_numbers_and_separator_decode():
    numbers = [TOKENIZER.id_of(str(n)) for n in range(10, 1000)]
    assert None not in numbers and len(set(numbers)) == 990
    for n, token_id in zip(range(10, 1000), numbers, strict=True):
        assert TOKENIZER.decode([token_id]) == str(n)
    assert TOKENIZER.decode([TOKENIZER.id_of(",Ġ")]) == ", "
    box = [2039, 279, 86, 296, 814, 1183, 1044, 1134, 1044, 1884, 1044, 1356, 63, 2040]
    assert TOKENIZER.decode(box) == "<|det|>title [148, 99, 849, 321]<|/det|>"


def test_digits_of_text_are_scored_one_by_one():
    ids = TOKENIZER.scoring_ids("In 1066 and 42")
    assert [TOKENIZER.decode([i]) for i in ids if TOKENIZER.decode([i]).isdigit()] == list("106642")
    assert TOKENIZER.decode(ids) == "In 1066 and 42"


def test_boxes_are_scored_with_the_ids_of_training():
    # ids of the f32 model's own output on a reference page, title block
    trained = [2039, 279, 86, 296, 814, 1183, 1044, 1134, 1044, 1884, 1044, 1356, 63, 2040]
    assert TOKENIZER.scoring_ids("<|det|>title [148, 99, 849, 321]<|/det|>") == trained
    text = "<|det|>title [148, 99, 849, 321]<|/det|>Page 12 of 345\n<|det|>text [1, 20, 300, 999]<|/det|>x"
    ids = TOKENIZER.scoring_ids(text)
    assert ids[:14] == trained
    assert TOKENIZER.decode(ids) == text
    assert ids != TOKENIZER.encode(text)


def test_a_vocabulary_that_merges_digits_is_scored_by_single_digits():
    description = json.loads(TOKENIZER_JSON)
    description["model"]["merges"].insert(0, ["1", "2"])
    merging = json.dumps(description).encode()
    assert len(Tokenizer(merging).encode("12")) == 1
    assert len(Tokenizer(merging).scoring_ids("12")) == 1
    one, two = TOKENIZER.encode("1") + TOKENIZER.encode("2")
    assert Tokenizer(merging, digits="single").scoring_ids("12") == [one, two]


def test_ids_outside_the_vocabulary_are_refused():
    assert TOKENIZER.size == 2048
    for bad in (2048, 129279, -1):
        with pytest.raises(InvalidRequest, match=f"Token id {bad} is not in the vocabulary of 2048"):
            TOKENIZER.decode([bad])


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff\xfe", b"[1, 2]", TOKENIZER_JSON[:2000]])
def test_a_damaged_tokenizer_is_a_damaged_model(data: bytes):
    with pytest.raises(ModelFileError, match="tokenizer cannot be used"):
        Tokenizer(data)


def test_only_byte_level_tokenizers_are_accepted():
    description = json.loads(TOKENIZER_JSON)
    description["decoder"] = {"type": "Fuse"}
    with pytest.raises(ModelFileError, match="decodes by Fuse"):
        Tokenizer(json.dumps(description).encode())


def test_letters_outside_the_alphabet_are_taken_as_written():
    description = json.loads(TOKENIZER_JSON)
    description["model"]["vocab"]["語"] = 2048
    odd = Tokenizer(json.dumps(description).encode())
    assert unicodedata.name(odd.decode([2048])) == "CJK UNIFIED IDEOGRAPH-8A9E"
