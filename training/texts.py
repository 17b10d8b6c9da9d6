"""Texts for the generator in the first six languages: paragraphs from Debian documentation, cleaned to their
characters, split by source.

Training text comes from fortunes, manual pages, the Debian reference and word lists. Two texts are held out. "test"
comes from another book altogether (the Debian handbook), so that no sentence of it was ever trained on. "prose" is text
of the kind that is trained: paragraphs of the same fortunes and manual pages, and words of the same lists, that lie
beyond what training keeps of them.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterable, Iterator, Set
from html import unescape
from pathlib import Path

from training.charset import FIRST_LANGUAGES, WESTERN
from training.unseen import unseen

_LIMITS = {
    "en": 1_800_000,
    "it": 1_300_000,
    "de": 1_300_000,
    "es": 1_200_000,
    "pt": 1_000_000,
    "fr": 1_200_000,
}
"""Characters of training text kept for each language."""

_MANUAL_LIMIT = 700_000
_TEST_LIMIT = 80_000
_LEAST_PROSE = 40_000
"""Characters of held-out prose below which a language has none: French, all of which is trained, has nothing left."""

_WORD_LISTS = ("american-english", "french", "italian", "ngerman", "portuguese", "spanish")
_WORDS_EACH = 14_000
_TEST_WORDS = 4000
_HANDBOOK = {"en": "en-US", "it": "it-IT", "de": "de-DE", "es": "es-ES", "pt": "pt-BR", "fr": "fr-FR"}
_MANUALS = {"en": "", "it": "it", "de": "de", "es": "es", "pt": "pt_BR", "fr": "fr"}

_PLAIN = str.maketrans(
    {
        "\u00a0": " ",
        "\u2010": "-",
        "\u2011": "-",
        "\u2212": "-",
        "\u201a": "'",
        "\u2039": "'",
        "\u203a": "'",
        "´": "'",
        "ˈ": "'",
        "\t": " ",
    }
)
_ALLOWED = frozenset(WESTERN + " ")
_ROFF_NAMES = {
    r"\-": "-",
    r"\(aq": "'",
    r"\(dq": '"',
    r"\(bu": "•",
    r"\(em": "—",
    r"\(en": "–",
    r"\e": "\\",
    r"\ ": " ",
    r"\(co": "©",
}


def clean(text: str, allowed: Set[str] = _ALLOWED) -> str:
    """One line of text in the characters `allowed`: odd spaces and dashes folded, other characters dropped, long
    runs cut."""
    text = re.sub(r"\s+", " ", text.translate(_PLAIN))
    text = "".join(char for char in text if char in allowed)
    text = re.sub(r"(.)\1{4,}", r"\1\1\1", text)
    return re.sub(r"\s+", " ", text).strip()


def plain_manual(roff: str) -> str:
    """Running text of a manual page: requests and escapes of the roff language removed."""
    text = re.sub(r"^\.(B|I|BR|IR|RB|RI|BI|IB) (.*)$", r"\2", roff, flags=re.M)
    text = re.sub(r"^[.'].*$", "\n", text, flags=re.M)
    text = re.sub(r"\\f.|\\&|\\/|\\,|\\%|\\:", "", text)
    for escape, char in _ROFF_NAMES.items():
        text = text.replace(escape, char)
    return re.sub(r"\\\(..|\\\*.|\\\[.*?\]|\\s[-+]?\d|\\", "", text)


def read_text(path: Path) -> str:
    data = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def paragraphs(text: str, shortest: int, allowed: Set[str] = _ALLOWED) -> Iterator[str]:
    """Cleaned paragraphs that look like prose (no drawn tables or rules)."""
    for part in re.split(r"\n%\n|\n\s*\n", text):
        part = clean(part, allowed)
        if len(part) >= shortest and part.count("|") < 3 and "---" not in part:
            yield part


def _fortunes(share: Path, language: str) -> Iterator[Path]:
    folder = share / "games" / "fortunes"
    if language in ("it", "de", "es"):
        files: Iterable[Path] = (folder / language).rglob("*")
    elif language == "pt":
        files = folder.glob("brasil")
    elif language == "en":
        files = (p for p in folder.glob("*") if p.name != "brasil")
    else:
        files = ()
    return (p for p in sorted(files) if p.is_file() and not p.is_symlink() and p.suffix not in (".dat", ".u8"))


def _training(share: Path, language: str, rng: random.Random) -> list[str]:
    found: list[str] = []
    for path in _fortunes(share, language):
        found += paragraphs(read_text(path), 20)
    for path in sorted((share / "debian-reference").glob(f"debian-reference.{language}.txt.gz")):
        found += paragraphs(read_text(path), 20)
    manuals = sorted(p for p in (share / "man" / _MANUALS[language]).glob("man*/*.gz") if not p.is_symlink())
    rng.shuffle(manuals)
    taken = 0
    for path in manuals:
        for part in paragraphs(plain_manual(read_text(path)), 40):
            found.append(part)
            taken += len(part)
        if taken > _MANUAL_LIMIT:
            break
    return found


def _held_out(share: Path, language: str) -> list[str]:
    found: list[str] = []
    for path in sorted((share / "doc" / "debian-handbook" / "html" / _HANDBOOK[language]).glob("*.html")):
        for body in re.findall(r'<div class="para">(.*?)</div>|<p[^>]*>(.*?)</p>', read_text(path), flags=re.S):
            part = clean(unescape(re.sub(r"<[^>]+>", "", "".join(body))))
            if len(part) >= 60:
                found.append(part)
    return found


def _printed_too(share: Path, language: str) -> set[str]:
    """Paragraphs of what training also sees as pages of PDFs (training.documents): no prose is held out of these."""
    found: set[str] = set()
    for path in (share / "debian-reference").glob(f"debian-reference.{language}.txt.gz"):
        found |= set(paragraphs(read_text(path), 20))
    for path in (share / "man" / _MANUALS[language]).glob("man*/*bash*.gz"):
        found |= set(paragraphs(plain_manual(read_text(path)), 40))
    return found


def first_of(parts: Iterable[str], limit: int) -> list[str]:
    """Parts from the front until they hold more than `limit` characters."""
    kept, size = [], 0
    for part in parts:
        if size > limit:
            break
        kept.append(part)
        size += len(part)
    return kept


def write_lines(path: Path, parts: Iterable[str]) -> None:
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def characters(parts: Iterable[str]) -> int:
    return sum(map(len, parts))


def build(root: Path, out: Path, seed: int = 1) -> dict[str, int]:
    """Write `out/text/{train,test,prose}.LANGUAGE.txt` and `words.{train,test,prose}.txt`; answers characters by name
    of text. A language without enough unseen paragraphs has no prose file."""
    share, folder = root / "usr" / "share", out / "text"
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[str, list[str]] = {}
    rest: dict[str, list[str]] = {}
    test_words: set[str] = set()
    for language in FIRST_LANGUAGES:
        rng = random.Random(f"{seed}-{language}")
        train = list(dict.fromkeys(_training(share, language, rng)))
        test = list(dict.fromkeys(_held_out(share, language)))
        if not train or not test:
            raise SystemExit(
                f"no {'training' if not train else 'held-out'} text for '{language}' under {root}; "
                "download the packages first"
            )
        rng.shuffle(train)
        rng.shuffle(test)
        test_words |= {w.strip(".,;:!?()\"'«»") for part in test[: len(test) // 2] for w in part.split()}
        texts[f"train.{language}"] = first_of(train, _LIMITS[language])
        texts[f"test.{language}"] = first_of(test, _TEST_LIMIT)
        printed = _printed_too(share, language)
        rest[language] = [part for part in train[len(texts[f"train.{language}"]) :] if part not in printed]
    trained = [part for language in FIRST_LANGUAGES for part in texts[f"train.{language}"]]
    for language, parts in rest.items():
        prose = first_of(unseen(parts, trained), _TEST_LIMIT)
        if characters(prose) >= _LEAST_PROSE:
            texts[f"prose.{language}"] = prose
    for name, parts in (texts | _word_lists(share, test_words, seed)).items():
        write_lines(folder / f"{name}.txt", parts)
    return {name: characters(parts) for name, parts in texts.items()}


def _word_lists(share: Path, test_words: Iterable[str], seed: int) -> dict[str, list[str]]:
    """`words.train` from dictionaries, `words.prose` from the rest of the same dictionaries, `words.test` from the
    held-out book."""
    rng = random.Random(seed)
    train: list[str] = []
    rest: set[str] = set()
    for name in _WORD_LISTS:
        listed = sorted({w for w in map(clean, read_text(share / "dict" / name).split()) if 2 < len(w) < 16})
        rng.shuffle(listed)
        train += listed[:_WORDS_EACH]
        rest |= set(listed[_WORDS_EACH:])
    rng.shuffle(train)
    test = sorted(w for w in test_words if 2 < len(w) < 16)
    rng.shuffle(test)
    prose = sorted(rest - set(train))
    rng.shuffle(prose)
    return {"words.train": train, "words.test": test[:_TEST_WORDS], "words.prose": prose[:_TEST_WORDS]}
