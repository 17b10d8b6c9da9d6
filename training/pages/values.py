"""What columns of training's tables hold: words, or values of one kind and one form in each column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from training.particulars import Particulars
from training.words import Words

Writer = Callable[[], list[str]]

_YES_NO = (
    *("yes no", "Yes No", "ja nein", "Ja Nein", "sì no", "oui non", "sí no", "sim não", "ano ne", "tak nie"),
    *("Y N", "on off", "true false"),
)
_DATES = ("{d:02d}.{m:02d}.{y}", "{d:02d}/{m:02d}/{y}", "{y}-{m:02d}-{d:02d}", "{d}.{m}.", "{m:02d}/{y}", "{y}")
_MONEY = ("{}", "{}", "{}", "{} €", "€ {}", "${}", "£{}", "EUR {}", "{} kr", "CHF {}")


@dataclass(frozen=True)
class Column:
    """What a column holds below its head. A value is one word to the setter, even with a blank in it."""

    write: Writer
    align: str = "left"
    head: Writer = list
    empty: float = 0.0
    """Share of its cells that is empty besides the table's, where the table has empty cells."""


class Values:
    """Endless source of columns, from the random source of the words."""

    def __init__(self, words: Words) -> None:
        self.words, self.rng, self.say = words, words.rng, Particulars(words)

    def columns(self, count: int, narrow: bool) -> list[Column]:
        """Kinds of the columns of a table; narrow ones hold short values only."""
        rng = self.rng
        short = (self._integers, self._decimals, self._letters, self._marks, self._percent, self._yes_no)
        wide = (self._words, self._mixed, self._tokens, self._phrases, self._money, self._dates, self._times)
        if rng.random() < 0.35:  # one kind of value in all columns, as tables of figures have
            kind = rng.choice(short if narrow else (self._integers, self._decimals, self._money, self._mixed))
            made = [kind()] * count if rng.random() < 0.5 else [kind() for _ in range(count)]
        elif narrow:
            made = [rng.choice(short)() for _ in range(count)]
        else:
            weights = (0.3, 0.16, 0.08, 0.12, 0.1, 0.06, 0.03)
            made = [
                rng.choices(wide, weights)[0]() if rng.random() < 0.75 else rng.choice(short)() for _ in range(count)
            ]
        first = rng.random()
        if first < 0.6:
            made[0] = self._words() if first < 0.48 or narrow else self._phrases()
        elif first < 0.7:
            made[0] = self._numbered()
        head = self._short_head if narrow else self._head
        return [replace(column, head=head) for column in made]

    def _head(self) -> list[str]:
        return self.words.run(3)[: self.rng.randint(1, 2)]

    def _short_head(self) -> list[str]:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.4:
            return [rng.choice(self.words.dictionary)[: rng.randint(1, 4)].capitalize()]
        return [f"{rng.randint(1990, 2035)}" if kind < 0.6 else rng.choice("ABCDEFGHIKLMNPQRSTUVWXYZ")]

    def _aligned(self, *weights: float) -> str:
        return self.rng.choices(("left", "centre", "right"), weights)[0]

    def _words(self) -> Column:
        return Column(lambda: self.words.run(3)[: self.rng.randint(1, 2)], self._aligned(0.75, 0.15, 0.1))

    def _phrases(self) -> Column:
        return Column(lambda: self.words.run(self.rng.randint(2, 9)), self._aligned(0.85, 0.1, 0.05))

    def _tokens(self) -> Column:
        words = self.words
        return Column(
            lambda: (words.made_up() if self.rng.random() < 0.5 else words.technical.token()).split(),
            self._aligned(0.7, 0.15, 0.15),
        )

    def _mixed(self) -> Column:
        rng = self.rng

        def write() -> list[str]:
            kind = rng.randrange(7)
            if kind > 4:
                return ["–-"[kind - 5]]
            if kind == 4:
                return [f"{rng.randint(1, 999)},{rng.randint(0, 999):03d}"]
            form = ("{:.0f}", "{:.2f}", "{:.1f}", "{:.0f} %")[kind]
            return [form.format(rng.uniform(*((0, 99999), (0, 5000), (-9, 99), (0, 100))[kind]))]

        return Column(write, self._aligned(0.4, 0.2, 0.4))

    def _integers(self) -> Column:
        most = 10 ** self.rng.choice((1, 1, 2, 2, 3, 4))
        return Column(lambda: [str(self.rng.randrange(most))], self._aligned(0.2, 0.2, 0.6))

    def _decimals(self) -> Column:
        rng, places = self.rng, self.rng.choice((1, 1, 2, 2, 3))
        least, most, point = rng.choice((0, 0, -9)), 10 ** rng.randint(0, 2), rng.choice(".,")
        return Column(
            lambda: [f"{rng.uniform(least, most):.{places}f}".replace(".", point)], self._aligned(0.15, 0.2, 0.65)
        )

    def _money(self) -> Column:
        rng, form = self.rng, self.rng.choice(_MONEY)
        (mark, point), most = rng.choice(((",", "."), (".", ","), ("", "."), ("", ","))), 10 ** rng.randint(1, 5)

        def write() -> list[str]:
            whole = f"{rng.randrange(most):,}".replace(",", mark)
            return [form.format(f"{whole}{point}{rng.randint(0, 99):02d}")]

        return Column(write, self._aligned(0.1, 0.1, 0.8))

    def _percent(self) -> Column:
        sign, places = self.rng.choice(("%", " %")), self.rng.choice((0, 0, 1))
        return Column(lambda: [f"{self.rng.uniform(0, 100):.{places}f}{sign}"], self._aligned(0.2, 0.3, 0.5))

    def _dates(self) -> Column:
        rng, form = self.rng, self.rng.choice(_DATES)
        return Column(
            lambda: [form.format(d=rng.randint(1, 28), m=rng.randint(1, 12), y=rng.randint(1975, 2034))],
            self._aligned(0.6, 0.2, 0.2),
        )

    def _times(self) -> Column:
        rng, mark = self.rng, self.rng.choice("::.")
        return Column(lambda: [f"{rng.randint(0, 23):02d}{mark}{rng.randint(0, 59):02d}"], self._aligned(0.4, 0.3, 0.3))

    def _yes_no(self) -> Column:
        pair = self.rng.choice(_YES_NO).split()
        return Column(lambda: [self.rng.choice(pair)], self._aligned(0.5, 0.4, 0.1))

    def _marks(self) -> Column:
        """A mark where something holds, and often nothing where it does not."""
        mark = self.rng.choice(("x", "x", "X", "•", "+", "*"))
        return Column(lambda: [mark], self._aligned(0.3, 0.6, 0.1), empty=self.rng.choice((0.2, 0.5)))

    def _letters(self) -> Column:
        letters = self.rng.choice(("AB", "ABC", "ABCDEF", "abc", "MWD", "1234"))
        return Column(lambda: [self.rng.choice(letters)], self._aligned(0.4, 0.5, 0.1))

    def _numbered(self) -> Column:
        number, end = self.rng.choice((0, 0, 0, self.rng.randint(1, 400))), self.rng.choice(("", "", "."))

        def write() -> list[str]:
            nonlocal number
            number += 1
            return [f"{number}{end}"]

        return Column(write, self._aligned(0.6, 0.1, 0.3))
