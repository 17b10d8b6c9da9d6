"""Program text as books and terminals show it: passages of files, patches, commands with what they print, logs.

Logs and what commands print have many lines that begin alike and differ in a word or a path, so that the place on the
page must be kept by the marks that differ.
"""

from __future__ import annotations

from collections.abc import Callable

from training.listings import Listings
from training.sources import Sources

_REAL = 0.7
"""Share of what editors show that is lines of files."""

_SHARES = {"file": 0.62, "patch": 0.08, "session": 0.12, "log": 0.12, "made_up": 0.06}

_HEADS = tuple(
    """copying ‹P› -> ‹P›
adding '‹P›'
'‹P›' -> '‹P›'
rm -f ‹P›
install -m 644 ‹P› $(DESTDIR)/‹P›
install -D ‹P› ‹P›
  CC      ‹P›
  LD [M]  ‹P›
cc -O2 -Wall -c -o ‹n›.o ‹P›
checking for ‹n›... yes
checking for ‹n›.h... no
make[‹i›]: Entering directory '/‹P›'
make[‹i›]: *** [‹P›:‹i›: ‹n›] Error ‹i›
Setting up ‹n› (‹i›.‹i›-‹i›) ...
Unpacking ‹n› (‹i›.‹i›.‹i›) over (‹i›.‹i›.‹i›) ...
Get:‹i› ‹u› ‹n› ‹i›.‹i› [‹i› kB]
PASS: ‹n›
FAIL: ‹n›
test_‹n› (‹n›.‹n›) ... ok
ok ‹i› - ‹c›
[‹i›%] Building C object ‹P›.o
‹P›:‹i›:‹i›: warning: ‹c› [-W‹w›]
‹P›:‹i›: undefined reference to `‹n›'
    M ‹P›
 create mode 100644 ‹P›
 ‹P› | ‹i› +-
?? ‹P›
-rw-r--r-- root/root ‹i› 2019-04-‹i› ./‹P›
‹i›:‹i›:‹i› ‹n›[‹i›]: ‹c›
<‹i›>‹n›: ‹n›=‹n› ‹n›=‹i›
0x‹x› in ‹n› (‹n›=‹i›, ‹n›=0x‹x›) at ‹P›:‹i›
#‹i›  0x‹x› in ‹n› ()
‹n› = ‹t›
‹n›="‹n›", ‹n›="‹i›.‹i›"
[‹i›] ‹i›.‹i›
$ ‹k›
+ ‹k›
(‹P›)""".split("\n")
)
"""Lines of logs; what stands in angle quotes is of training.listings, and ‹P› the path of a file."""

_TAGS = ("", "", "N: ", "E: ", "[‹n›] ", "==> ", "  ", "* ", "-- ", "‹n›: ")
_ARROWS = (": ", " -> ", " = ", " ", "... ")
"""What lines of other logs begin with, and what stands between their words and a path."""

_RULES = "=====------*+"

Listing = tuple[str, list[str]]
"""The path of a file, or nothing, and lines, empty ones among them."""


class Sessions:
    """Endless source of listings from a pack's program text; made-up ones where the pack has none."""

    def __init__(self, listings: Listings, sources: Sources | None) -> None:
        self.listings, self.rng = listings, listings.rng
        self.sources = sources or None
        self.makers: dict[str, Callable[[int], Listing]] = {
            "file": self.file,
            "patch": self.patch,
            "session": self.session,
            "log": self.log,
            "made_up": lambda count: ("", listings.made_up(count)),
        }

    def lines(self, count: int) -> Listing:
        """A listing of at most `count` lines."""
        if not self.sources:
            return "", self.listings.made_up(count)
        return self.makers[self.rng.choices([*_SHARES], [*_SHARES.values()])[0]](count)

    def source(self, count: int) -> list[str]:
        """At most `count` lines for an editor: of a file, or made up."""
        real = self.sources and self.rng.random() < _REAL
        return self.file(count)[1] if real else self.listings.made_up(min(count, 25))

    def printed(self, count: int) -> list[str]:
        """At most `count` lines that a command prints, or prints of a file."""
        logged = self.sources and self.rng.random() < 0.35
        return self.log(count)[1] if logged else self.listings.lines(count)

    def _passage(self, count: int) -> Listing:
        return self.sources.passage(count) if self.sources else ("", self.listings.made_up(count))

    def file(self, count: int) -> Listing:
        """Lines of a file; of a short one, of two or three."""
        name, lines = self._passage(count)
        while count - len(lines) > max(6, count // 3):
            lines = [*lines, "", *self._passage(count - len(lines) - 1)[1]]
        return name, lines

    def patch(self, count: int) -> Listing:
        """Lines of a file, some of which are taken out and others put in."""
        rng, (name, lines) = self.rng, self._passage(count)
        place = rng.randint(1, 900)
        hunk = f"@@ -{place},{len(lines)} +{place},{len(lines)} @@ {lines[0].strip()}"
        made = [f"--- a/{name}", f"+++ b/{name}", hunk]
        mark, first = " ", rng.choice((0, 1, 2, 3))
        for line in lines:
            mark = rng.choice(" +-") if rng.random() < 0.35 else mark
            made.append(mark + line if line or mark != " " else "")
        return name, made[first:count]

    def session(self, count: int) -> Listing:
        """Commands behind a prompt, and what they print: lines of a file, with numbers before them, or a log."""
        rng, technical = self.rng, self.listings.technical
        word = technical.word
        prompt = rng.choice(("$ ", "$ ", "# ", "% ", f"{word()}@{word()}:~$ ", f"[{word()}@{word()} {word()}]$ ", "> "))
        lines = list[str]()
        while len(lines) < count - 1:
            some = rng.randint(1, 8)
            name, part = self._passage(some)
            part = [line for line in part if line]
            first, short = rng.randint(1, 700), name.rsplit("/", 1)[-1]
            kind = rng.random()
            if kind < 0.25:
                found = (f"{first + 7 * n}:{line}" for n, line in enumerate(part))
                shown = [f"{prompt}grep -n {word()} {short}", *found]
            elif kind < 0.35:
                shown = [f"{prompt}cat -n {short}", *(f"{first + n:6}  {line}" for n, line in enumerate(part))]
            elif kind < 0.5:
                shown = [f"{prompt}{rng.choice(('cat', 'head', 'less', 'sed -n 1,9p'))} {name}", *part]
            elif kind < 0.7:
                shown = [f"{prompt}{technical.command()}", *self.log(some)[1]]
            elif kind < 0.85:
                shown = [prompt + self.listings.expanded("‹k›") for _ in range(rng.randint(1, 4))]
            else:
                shown = [f"{prompt}{technical.command()}", *self.listings.made_up(some)]
            lines += shown
            if rng.random() < 0.2:
                lines.append("")
        return "", lines[:count]

    def _head(self) -> str:
        """A line of a log without its figures and paths."""
        rng = self.rng
        if rng.random() < 0.6:
            return rng.choice(_HEADS)
        words = " ".join(self.listings.technical.word() for _ in range(rng.randint(1, 3)))
        path = rng.choice(("‹P›", "‹P›", "'‹P›'", "‹P› (‹i›)", "‹n›"))
        return self.listings.expanded(rng.choice(_TAGS)) + words + rng.choice(_ARROWS) + path

    def log(self, count: int) -> Listing:
        """Lines with a few beginnings, in turn or in any order, and paths of files near each other."""
        rng = self.rng
        heads = [self._head() for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 6)))]
        if self.sources:
            names = [name for name, _ in rng.choice(self.sources.kinds)]
        else:
            names = [self.listings.technical.path() for _ in range(12)]
        near = rng.randrange(len(names))
        names = [names[(near + n) % len(names)] for n in range(rng.randint(4, 30))]
        cut = rng.choice((0, 0, 1, 2, 3))
        in_turn, lines = rng.random() < 0.5, list[str]()
        for number in range(count):
            if rng.random() < 0.03:
                lines.append(rng.choice(_RULES) * rng.randint(8, 60))
                continue
            head = heads[number % len(heads)] if in_turn else rng.choice(heads)
            while "‹P›" in head:
                parts = rng.choice(names).split("/")
                head = head.replace("‹P›", "/".join(parts[min(cut, len(parts) - 1) :]), 1)
            lines.append(self.listings.expanded(head))
        return "", lines
