"""Texts in the languages added to the first six: help pages, fortunes, manual pages and word lists of Debian packages.

Training has about 0.6 MB in each language where there is as much. The held-out split "added" is paragraphs of the same
sources that lie beyond what training keeps, and words of the same lists.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from html import unescape
from itertools import zip_longest
from pathlib import Path

from training.charset import ADDED_LANGUAGES, CHARSET
from training.texts import characters, clean, first_of, paragraphs, plain_manual, read_text, write_lines
from training.unseen import unseen

PACKAGES = tuple(
    """gnome-user-docs fortunes-cs manpages-nl manpages-sv manpages-da manpages-pl manpages-cs manpages-hu
    hunspell-nl hunspell-sv hunspell-da hunspell-pl hunspell-cs hunspell-hu""".split()
)
_TRAIN_LIMIT = 600_000
_TRAIN_SHARE = 0.88
"""Training keeps at most this share of a language's text, so that something is left to hold out."""

_HELD_OUT_LIMIT = 40_000
_SOURCE_LIMIT = 450_000
"""Characters of one source (help, fortunes, manuals) of a language that are considered."""

_WORDS_EACH, _HELD_OUT_WORDS = 4667, 4000
"""Dictionary words of a language for training: a third of what each of the first six has; held out of all together."""

_DICTIONARIES = {"nl": "nl", "sv": "sv_SE", "da": "da_DK", "pl": "pl_PL", "cs": "cs_CZ", "hu": "hu_HU"}
_ALLOWED = frozenset(CHARSET + " ")
_ENGLISH = frozenset(("the", "and", "with", "that", "this", "from", "you"))
"""Words that none of the added languages has, or hardly ever."""


def _paragraphs(text: str, shortest: int) -> Iterator[str]:
    return paragraphs(unicodedata.normalize("NFC", text), shortest, _ALLOWED)


def _help(share: Path, language: str) -> Iterator[str]:
    """Paragraphs and titles of the desktop's help."""
    for path in sorted((share / "help" / language).rglob("*.page")):
        text = re.sub(r"<!--.*?-->|<info>.*?</info>", "", read_text(path), flags=re.S)
        for _, body in re.findall(r"<(p|title)\b[^>]*>(.*?)</\1>", text, flags=re.S):
            yield from _paragraphs(unescape(re.sub(r"<[^>]+>", "", body)), 20)


def _fortunes(share: Path, language: str) -> Iterator[str]:
    for path in sorted((share / "games" / "fortunes" / language).glob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix != ".dat" and not path.name.endswith("-sk"):
            yield from _paragraphs(read_text(path), 20)


def _manuals(share: Path, language: str) -> Iterator[str]:
    for path in sorted(p for p in (share / "man" / language).glob("man*/*.gz") if not p.is_symlink()):
        yield from _paragraphs(plain_manual(read_text(path)), 40)


def is_english(text: str) -> bool:
    """Whether a paragraph was left untranslated: one word in twelve or more is a common English one."""
    words = re.findall(r"\w+", text.lower())
    return sum(word in _ENGLISH for word in words) * 12 >= max(len(words), 1)


def _found(share: Path, language: str, rng: random.Random) -> list[str]:
    """Paragraphs of a language in no order, as many of each source as are considered."""
    found: list[str] = []
    for source in (_help, _fortunes, _manuals):
        parts = [part for part in dict.fromkeys(source(share, language)) if not is_english(part)]
        rng.shuffle(parts)
        found += first_of(parts, _SOURCE_LIMIT)
    found = list(dict.fromkeys(found))
    rng.shuffle(found)
    return found


def _dictionary(share: Path, language: str) -> list[str]:
    """Words of a spelling dictionary without their flags."""
    stem = share / "hunspell" / _DICTIONARIES[language]
    declared = re.search(rb"^SET (\S+)", stem.with_suffix(".aff").read_bytes(), flags=re.M)
    encoding = declared[1].decode() if declared else "iso8859-1"
    lines = stem.with_suffix(".dic").read_bytes().decode(encoding, errors="replace").splitlines()[1:]
    words = (clean(re.split(r"[/\t ]", line)[0], _ALLOWED) for line in lines)
    return sorted({word for word in words if 2 < len(word) < 16})


def build(root: Path, out: Path, seed: int = 1) -> dict[str, int]:
    """Write `out/text/{train,added}.LANGUAGE.txt`, `words.train.added.txt` and `words.added.txt` beside the texts that
    training.texts wrote; answers characters by name of text. A paragraph that stands in two languages is in none."""
    share, folder = root / "usr" / "share", out / "text"
    rng = random.Random(f"{seed}-added")
    found = {language: _found(share, language, rng) for language in ADDED_LANGUAGES}
    trained = [line for path in sorted(folder.glob("train.??.txt")) if path.stem[6:] not in ADDED_LANGUAGES
               for line in path.read_text(encoding="utf-8").splitlines()]
    untranslated = set(_help(share, "C"))
    often = Counter(part for parts in (*found.values(), untranslated, set(trained)) for part in parts)
    texts: dict[str, list[str]] = {}
    rest: dict[str, list[str]] = {}
    for language, parts in found.items():
        own = [part for part in parts if often[part] == 1]
        if not own:
            raise SystemExit(f"no text for '{language}' under {root}; download the packages first")
        kept = first_of(own, min(_TRAIN_LIMIT, int(characters(own) * _TRAIN_SHARE)))
        texts[f"train.{language}"], rest[language] = kept, own[len(kept):]
        trained += kept
    for language, parts in rest.items():
        texts[f"added.{language}"] = first_of(unseen(parts, trained), _HELD_OUT_LIMIT)
    for name, parts in (texts | _word_lists(share, folder, rng)).items():
        write_lines(folder / f"{name}.txt", parts)
    return {name: characters(parts) for name, parts in texts.items()}


def _word_lists(share: Path, folder: Path, rng: random.Random) -> dict[str, list[str]]:
    """`words.train.added` and, of the rest of the same dictionaries, `words.added`: the languages' words in turn."""
    trained = set((folder / "words.train.txt").read_text(encoding="utf-8").split())
    first: list[list[str]] = []
    rest: list[list[str]] = []
    for language in ADDED_LANGUAGES:
        words = _dictionary(share, language)
        rng.shuffle(words)
        first.append(words[:_WORDS_EACH])
        rest.append(words[_WORDS_EACH:])
    train = [word for words in first for word in words]
    rng.shuffle(train)
    trained |= set(train)
    others = [word for turn in zip_longest(*rest) for word in turn if word is not None and word not in trained]
    return {"words.train.added": train, "words.added": list(dict.fromkeys(others))[:_HELD_OUT_WORDS]}
