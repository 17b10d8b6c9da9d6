"""Words for generated pages: runs of natural text, dictionary words, and made-up tokens (dates, prices,
addresses, codes).

Made-up tokens are there because numbers and codes must be copied, not guessed from language.
"""

from __future__ import annotations

import random
import string
from pathlib import Path

from training.charset import ADDED_LANGUAGES, CHARSET, WESTERN
from training.repeats import Repeats
from training.sources import Sources
from training.technical import Technical
from training.typography import Typography

_WEIGHTED = ("en", "en", "it", "it", "de", "es", "pt", "fr")
_ADDED = (*ADDED_LANGUAGES, "pl", "cs")
"""Polish and Czech count twice: most letters that the first languages lack are theirs."""

_LANGUAGES = {
    "train": _WEIGHTED * 9 + _ADDED * 3,  # three quarters and one quarter
    "test": _WEIGHTED,
    "prose": _WEIGHTED,
    "added": ADDED_LANGUAGES,
}
"""Languages of running text by split, as often as they are to be drawn."""

_WORD_LISTS = {"train": ("words.train", "words.train.added")}
"""Word lists of a split, where it is not the one with its name."""

_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + string.digits


class Words:
    """Endless source of word lists for one split of a pack: "train", "test" and "prose" (training.texts), or "added"
    (training.added_texts)."""

    def __init__(self, pack: Path, split: str, rng: random.Random) -> None:
        folder = pack / "text"
        self.rng = rng
        texts = {language: folder / f"{split}.{language}.txt" for language in set(_LANGUAGES[split])}
        self.running = {
            language: path.read_text(encoding="utf-8").split() for language, path in texts.items() if path.exists()
        }
        self.languages = tuple(language for language in _LANGUAGES[split] if language in self.running)
        if not self.languages:
            raise SystemExit(f"{folder} has no {split} text; make the pack again with python -m training.collect")
        lists = [folder / f"{name}.txt" for name in _WORD_LISTS.get(split, (f"words.{split}",))]
        self.dictionary = [word for path in lists if path.exists() for word in path.read_text(encoding="utf-8").split()]
        self.trained = split == "train"
        self.technical = Technical(rng, self.dictionary, self.trained)
        self.repeats = Repeats(rng)
        self.typography = Typography(rng)
        self.sources = Sources(pack / "code", rng) if self.trained else None
        self.characters = WESTERN if split in ("test", "prose") else CHARSET

    def _letters(self, alphabet: str, low: int, high: int) -> str:
        return "".join(self.rng.choice(alphabet) for _ in range(self.rng.randint(low, high)))

    def made_up(self) -> str:
        """One token that no language model can guess."""
        rng, kind = self.rng, self.rng.random()
        word = rng.choice(self.dictionary).lower()
        if kind < 0.15:
            mark = rng.choice("/.-")
            return f"{rng.randint(1, 31):02d}{mark}{rng.randint(1, 12):02d}{mark}{rng.randint(1950, 2049)}"
        if kind < 0.25:
            return f"{rng.randint(0, 23):02d}:{rng.randint(0, 59):02d}"
        if kind < 0.40:
            amount = f"{rng.randint(0, 9999)}{rng.choice('.,')}{rng.randint(0, 99):02d}"
            return rng.choice(("€ ", "$", "£", "EUR ", "")) + amount + rng.choice(("", "", " €", "%"))
        if kind < 0.52:
            return (
                self._letters(_LOWER + "._", 3, 10)
                + "@"
                + word
                + rng.choice((".com", ".it", ".org", ".de", ".net", ".fr"))
            )
        if kind < 0.60:
            start = rng.choice(("https://", "www.", "http://"))
            return start + word + rng.choice((".com/", ".it/", ".org/")) + self._letters(_LOWER + "-_/", 2, 12)
        if kind < 0.72:
            return self._letters(_UPPER, 3, 9)
        if kind < 0.86:
            return str(rng.randint(0, 10 ** rng.randint(1, 8)))
        if kind < 0.92:
            return f"+{rng.randint(1, 99)} {rng.randint(100, 999)} {rng.randint(10000, 9999999)}"
        return self._letters(self.characters, 2, 7)

    def begin_page(self) -> None:
        """A page begins on which passages may stand twice; not so on held-out pages, which are as they always were."""
        if self.trained:
            self.repeats.begin()

    def run(self, count: int) -> list[str]:
        """About `count` words: mostly running text, sometimes a list of unrelated or made-up ones,
        sometimes capitals. Training pages hold technical matter besides; held-out pages are as they always were."""
        technical = self.trained and self.rng.random() < 0.25
        return self.manual(count) if technical else self.repeats.passage(self._typeset(count))

    def manual(self, count: int) -> list[str]:
        """About `count` words of a technical book: running text with technical tokens and quotes between."""
        rng = self.rng
        words = self._typeset(count)
        return self.repeats.passage(self.technical.mixed(words, rng.choice((0.0, 0.08, 0.2, 0.5)))[: max(count, 1)])

    def _typeset(self, count: int) -> list[str]:
        """Words in the page's typography."""
        return self.typography.passage(self._prose(count))

    def _prose(self, count: int) -> list[str]:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.68:
            source = self.running[rng.choice(self.languages)]
            start = rng.randrange(max(1, len(source) - count))
            words = source[start : start + count]
        elif kind < 0.84:
            words = [rng.choice(self.dictionary) for _ in range(count)]
        elif kind < 0.92:
            words = [self.made_up() for _ in range(count)]
        else:
            words = [self.made_up() if rng.random() < 0.3 else rng.choice(self.dictionary) for _ in range(count)]
        if rng.random() < 0.15:
            words = [self.made_up() if rng.random() < 0.12 else word for word in words]
        style = rng.random()
        if style < 0.08:
            return [word.upper() for word in words]
        if style < 0.12:
            return [word.capitalize() for word in words]
        if style < 0.14:
            return [word.swapcase() if rng.random() < 0.3 else word for word in words]
        return words
