"""Signs as typesetters set them, on training pages only."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from training.pages import Kind, PageMaker
from training.smoke import smoke_pack
from training.typography import Typography
from training.words import Words

_TYPED = """l'immagine "virtuali" dell'altra, 'quoted' it's "one two", (yes): "so." rock'n'roll... -- end-of - 5'
x['a']="b" ....
''""".split()


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("training") / "pack")


def _typeset(**forms: tuple[str, str]) -> Typography:
    typography = Typography(random.Random(1))
    typography.forms = {"'": forms["single"], '"': forms["double"]}
    typography.dots = typography.dashes = True
    return typography


def test_signs_take_the_form_of_the_page_and_code_keeps_its_own() -> None:
    shown = _typeset(single=("‘", "’"), double=("„", "“")).passage(_TYPED)
    wanted = """l’immagine „virtuali“ dell’altra, ‘quoted’ it’s „one two“, (yes): „so.“ rock’n’roll… — end-of – 5’
x['a']="b" ….
''"""
    assert shown == wanted.split()


def test_what_is_typed_stays_until_a_page_is_typeset() -> None:
    typography = Typography(random.Random(2))
    assert typography.passage(_TYPED) == _TYPED
    seen = set()
    for _ in range(400):
        typography.begin()
        shown = typography.passage(_TYPED)
        assert len(shown) == len(_TYPED)
        seen.add(" ".join(shown))
    assert " ".join(_TYPED) in seen and len(seen) > 20
    assert {mark for text in seen for mark in text} >= set("‘’“”„«»…—–")


@pytest.mark.parametrize("split", ["test", "prose"])
def test_held_out_pages_are_as_typed(pack: Path, split: str) -> None:
    maker = PageMaker(pack, split, 5)
    for level in range(4):
        maker.sample(Kind(level))
    assert not maker.words.typography.forms and not maker.words.typography.dots


def test_training_pages_differ_in_their_signs(pack: Path) -> None:
    maker, forms = PageMaker(pack, "train", 5), set()
    for _ in range(40):
        maker._drawn(Kind(1))
        forms.add(tuple(sorted(maker.words.typography.forms.items())))
    assert () in forms and len(forms) > 4
    words = Words(pack, "train", random.Random(4))
    words.typography.forms = {"'": ("‘", "’")}
    words.running = dict.fromkeys(words.running, ["dell'arte"] * 50)
    words.dictionary = ["dell'arte"]
    assert not any("l'a" in word for _ in range(50) for word in words.manual(9) if word.isalpha())
    assert any(word.startswith("dell’arte") for _ in range(50) for word in words.run(9))
