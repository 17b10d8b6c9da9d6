"""The languages that are trained: letters, texts, gaps of fonts, and held-out pages that stay as they are."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from training import added_texts, fonts
from training.charset import (
    ADDED_LANGUAGES,
    ADDED_LETTERS,
    CHARSET,
    CLASSES,
    FIRST_LANGUAGES,
    LANGUAGES,
    WESTERN,
    settable,
)
from training.pages import Kind, PageMaker
from training.smoke import smoke_pack
from training.targets import Vocabulary
from training.texts import clean
from training.words import Words

BEYOND_ASCII = {
    "en": "",
    "it": "àèéìíîòóùú",
    "de": "äöüß",
    "es": "áéíñóúü",
    "pt": "àáâãçéêíóôõú",
    "fr": "àâæçèéêëîïôœùûüÿ",
    "nl": "áéëïóöü",
    "sv": "åäöé",
    "da": "æøåé",
    "pl": "ąćęłńóśźż",
    "cs": "áčďéěíňóřšťúůýž",
    "hu": "áéíóöőúüű",
}
"""Letters of each alphabet besides a to z, in lower case."""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return smoke_pack(tmp_path / "pack")


def test_every_letter_of_every_language_is_read() -> None:
    assert set(BEYOND_ASCII) == set(LANGUAGES)
    for language, letters in BEYOND_ASCII.items():
        capitals = letters.upper().replace("SS", "").replace("Ÿ", "")  # neither stands in ordinary print
        assert not set(letters + capitals) - set(CHARSET), language
    for language in FIRST_LANGUAGES:
        assert not set(BEYOND_ASCII[language]) & set(ADDED_LETTERS)
    assert set("„”“‘’«»–—…") <= set(CHARSET)


def test_added_letters_come_after_the_others_and_classes_fit_into_a_byte() -> None:
    assert CHARSET == WESTERN + ADDED_LETTERS
    assert len(set(CHARSET)) == len(CHARSET) == 212
    assert CLASSES == 213, "255 marks views that only fill a batch"
    assert hashlib.sha256(WESTERN.encode()).hexdigest()[:16] == "4e954086a370adc8", "held-out pages draw from it"


def test_every_character_has_ids() -> None:
    vocabulary = Vocabulary(Path(__file__).parents[2] / "training" / "tokenizer.json")
    for char in CHARSET:
        assert vocabulary.decode(vocabulary.encode(char)) == char


def test_a_word_with_a_letter_that_the_font_lacks_is_left_out() -> None:
    usable = set(CHARSET) - set("łŁ„")
    assert settable("łódź", usable) == ""
    assert settable("„wódka”", usable) == "wódka”", "a mark alone is dropped"
    assert settable("wódka", usable) == "wódka"
    assert settable("ŸŁ", set(CHARSET)) == "Ł", "what no page may show is dropped"


def test_no_page_shows_a_letter_that_its_font_lacks(pack: Path) -> None:
    text = "Zażółć gęślą jaźń, kůň a fűrész: plain words too.\n" * 9
    for language in LANGUAGES:
        (pack / "text" / f"train.{language}.txt").write_text(text, encoding="utf-8")
    maker = PageMaker(pack, "train", 4)
    pages = [maker.sample(Kind(2, genre=genre)) for genre in ("prose", "prose", "document", "table")]
    shown = "".join(block.text for page in pages for block in page.blocks)
    assert "plain" in shown
    assert shown.isascii(), "the font of this pack has ASCII alone"
    assert not {"Za", "ja,", "frsz:"} & set(shown.split()), "no parts of words"


def test_a_pack_made_for_fewer_characters_lacks_the_others_in_every_font(pack: Path) -> None:
    path = pack / "fonts" / "fonts.json"
    listing = json.loads(path.read_text(encoding="utf-8"))
    del listing["characters"]
    listing["test"] = [{"file": "a.ttf", "family": "a", "missing": "„"}]
    path.write_text(json.dumps(listing), encoding="utf-8")
    (face,) = fonts.load(pack, "test")
    assert set(face.missing) == {"„", *ADDED_LETTERS}


def test_added_languages_are_set_in_held_out_fonts_that_have_their_letters(pack: Path) -> None:
    path = pack / "fonts" / "fonts.json"
    listing = json.loads(path.read_text(encoding="utf-8"))
    listing["test"] = [{"file": f"{name}.ttf", "family": name, "missing": missing}
                       for name, missing in (("all", "€"), ("some", "ř"), ("none", ADDED_LETTERS))]
    path.write_text(json.dumps(listing), encoding="utf-8")
    assert [face.family for face in fonts.load(pack, "added")] == ["all"]
    assert [face.family for face in fonts.load(pack, "test")] == ["all", "some", "none"]


def test_a_quarter_of_training_is_in_the_added_languages(pack: Path) -> None:
    counts = Counter(Words(pack, "train", random.Random(1)).languages)
    assert sum(counts[language] for language in ADDED_LANGUAGES) * 4 == counts.total()
    assert [counts[language] for language in ("nl", "sv", "da", "pl", "cs", "hu")] == [3, 3, 3, 6, 6, 3]
    assert [counts[language] for language in FIRST_LANGUAGES] == [18, 18, 9, 9, 9, 9]
    assert set(Words(pack, "added", random.Random(1)).languages) == set(ADDED_LANGUAGES)


def test_held_out_pages_of_the_first_languages_hold_their_characters_alone(pack: Path) -> None:
    assert {split: Words(pack, split, random.Random(1)).characters == WESTERN
            for split in ("train", "test", "prose", "added")} == {
        "train": False, "test": True, "prose": True, "added": False}
    digest = hashlib.sha256()
    for split in ("test", "prose"):
        words = Words(pack, split, random.Random(8))
        for _ in range(60):
            digest.update(" ".join(words.run(30)).encode())
    assert digest.hexdigest()[:16] == "e33b2a5cddfe241e", "the same words for the same seed, leg after leg"


def _folder_of_texts(root: Path) -> None:
    """Texts of six languages in the places where Debian packages have them: 60 paragraphs each."""
    share = root / "usr" / "share"
    for language in ADDED_LANGUAGES:
        words = [f"{language}{part}{letters}" for part in "abcdefgh" for letters in BEYOND_ASCII[language]]
        rng = random.Random(language)
        manual = share / "man" / language / "man1"
        manual.mkdir(parents=True)
        body = "\n\n".join(" ".join(rng.choices(words, k=25)) for _ in range(60))
        common = (
            "The same in all the languages there are, not translated at all\n\n"
            "Idem in omnibus linguis, quod nemo vertit in suam linguam\n"
        )
        (manual / "a.1.gz").write_bytes(gzip.compress(f".TH A 1\n{body}\n\n{common}".encode()))
        stem = share / "hunspell" / added_texts._DICTIONARIES[language]
        stem.parent.mkdir(exist_ok=True)
        encoding = "ISO8859-2" if language == "pl" else "UTF-8"
        stem.with_suffix(".aff").write_text(f"SET {encoding}\n", encoding="utf-8")
        listed = "".join(f"{word}/AB\tpo:noun\n" for word in words)
        stem.with_suffix(".dic").write_bytes(f"{len(words)}\n{listed}".encode(encoding))


def test_every_added_language_has_text_and_something_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(added_texts, "_WORDS_EACH", 20)
    pack = smoke_pack(tmp_path / "pack")
    _folder_of_texts(tmp_path / "root")
    sizes = added_texts.build(tmp_path / "root", pack)
    assert set(sizes) == {f"{split}.{language}" for split in ("train", "added") for language in ADDED_LANGUAGES}
    for language in ADDED_LANGUAGES:
        train, held = ((pack / "text" / f"{split}.{language}.txt").read_text(encoding="utf-8").splitlines()
                       for split in ("train", "added"))
        assert len(train) > 50 and held and not set(train) & set(held)
        assert set(BEYOND_ASCII[language]) <= set("".join(train))
        assert not any("Idem" in part or "translated" in part for part in (*train, *held)), "no language's own"
    train, held = ((pack / "text" / f"words.{name}.txt").read_text(encoding="utf-8").split()
                   for name in ("train.added", "added"))
    assert len(train) == 6 * 20 and held and not set(train) & set(held)
    assert not any("/" in word for word in train) and "ł" in "".join(train)


def test_a_language_without_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no text for 'nl' under .*; download the packages first"):
        added_texts.build(tmp_path / "nothing", smoke_pack(tmp_path / "pack"))


def test_untranslated_paragraphs_are_known_by_their_words() -> None:
    assert added_texts.is_english("Check the cable and try again with another one.")
    assert not added_texts.is_english("Controleer de kabel en probeer het opnieuw.")


def test_the_first_languages_keep_their_characters_in_texts() -> None:
    assert clean("Dvořák und Łódź") == "Dvoák und ód"
    assert clean("Dvořák a Łódź", frozenset(CHARSET + " ")) == "Dvořák a Łódź"


def test_what_a_font_draws_as_something_else_is_a_gap(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pack / "fonts" / "builtin.ttf"
    assert set(fonts.gaps(path)) >= set(ADDED_LETTERS), "drawn as what it lacks"
    assert not set(fonts.gaps(path)) & set("aA09~")
    monkeypatch.setattr(fonts, "_drawn", lambda font, char: ((1, 1), b"\xff" + fonts.base_of(char).encode()))
    assert set("éřŁø") <= set(fonts.gaps(path)), "drawn as the letter without its accent or stroke"
    assert "ß" not in fonts.gaps(path) and "æ" not in fonts.gaps(path)
