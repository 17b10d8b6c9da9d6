"""Tokens of manuals and listings: paths, options, commands, settings, versions, addresses, runs of repeated marks.

Made up from dictionary words and random characters: their shape is that of technical books, their letters must be
read and cannot be guessed.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable

_LOWER = string.ascii_lowercase
_DIGITS = string.digits
_ENDINGS = "conf gz html txt py c h log xml sh tar.gz deb service json png d so.2 po ini list".split()
_ROOTS = "/usr/share /etc /var/log /usr/lib /home /tmp /proc/sys /dev ~ . .. /opt /boot /usr/local/bin".split()
_VERBS = "install remove update show list start stop status add config search copy build run enable".split()
_QUOTES = (("“", "”"), ("“", "”"), ('"', '"'), ("'", "'"), ("‘", "’"), ("«", "»"), ("„", "“"), ("(", ")"), ("[", "]"))
_MARKS = "-=*_.#~+"


class Technical:
    """Endless source of such tokens. For training, runs of one mark are rarer and shorter than on held-out pages, which
    are as they always were."""

    def __init__(self, rng: random.Random, dictionary: list[str], trained: bool = False) -> None:
        self.rng, self.dictionary = rng, dictionary
        self.marks_length, self.most_marks = (5, 30) if trained else (9, 60)
        self.makers: tuple[tuple[Callable[[], str], float], ...] = (
            (self.path, 5),
            (self.option, 4),
            (self.command, 4),
            (self.package, 3),
            (self.setting, 3),
            (self.call, 3),
            (self.address, 3),
            (self.figures, 5),
            (self.hexadecimal, 2),
            (self.tag, 1.5),
            (self.variable, 2),
            (self.joined, 1.5),
            (self.marks, 0.25 if trained else 0.7),
            (self.letters, 1.5),
        )

    def word(self) -> str:
        """A dictionary word in ASCII lower case."""
        while True:
            word = self.rng.choice(self.dictionary).lower()
            if word.isascii() and word.isalpha():
                return word

    def _some(self, alphabet: str, low: int, high: int) -> str:
        return "".join(self.rng.choice(alphabet) for _ in range(self.rng.randint(low, high)))

    def _name(self) -> str:
        rng = self.rng
        parts = [self.word() for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        name = rng.choice("-_--").join(parts) if rng.random() < 0.8 else "".join(p.capitalize() for p in parts)
        return name + self._some(_DIGITS, 1, 2) if rng.random() < 0.2 else name

    def path(self) -> str:
        rng = self.rng
        steps = [rng.choice(_ROOTS), *(self._name() for _ in range(rng.randint(1, 2)))]
        return "/".join(steps) + (f".{rng.choice(_ENDINGS)}" if rng.random() < 0.6 else rng.choice(("", "/")))

    def option(self) -> str:
        rng = self.rng
        if rng.random() < 0.4:
            return "-" + self._some(string.ascii_letters, 1, 4)
        return "--" + self._name() + (f"={self._name()}" if rng.random() < 0.3 else "")

    def command(self) -> str:
        rng = self.rng
        mark = rng.choice(("$ ", "# ", "", "", "> ", "sudo "))
        return f"{mark}{self.word()} {rng.choice(_VERBS)} {self._name()}"

    def package(self) -> str:
        rng = self.rng
        version = ".".join(str(rng.randint(0, 30)) for _ in range(rng.randint(2, 4)))
        tail = rng.choice(
            (f"-{rng.randint(1, 9)}_amd64.deb", f"-{rng.randint(1, 9)}", "", ".tar.gz", "~rc1", "+dfsg-1")
        )
        return f"{self._name()}{rng.choice('_- ')}{version}{tail}"

    def setting(self) -> str:
        rng = self.rng
        key = self._name().upper() if rng.random() < 0.5 else self._name()
        value = rng.choice((self._name(), str(rng.randint(0, 65535)), f'"{self.word()} {self.word()}"', "yes", "on"))
        return key + rng.choice(("=", " = ", ": ")) + value

    def call(self) -> str:
        rng = self.rng
        given = ", ".join(
            rng.choice((self.word(), str(rng.randint(0, 255)), f"&{self.word()}", f"*{self.word()}"))
            for _ in range(rng.randint(0, 3))
        )
        return f"{self._name()}({given})" + rng.choice(("", ";", " {", f"[{rng.randint(0, 9)}]", " == NULL", "->x"))

    def address(self) -> str:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.35:
            number = ".".join(str(rng.randint(0, 255)) for _ in range(4))
            return number + rng.choice(("", f"/{rng.randint(8, 30)}", f":{rng.randint(20, 65535)}"))
        first = rng.choice(("www", "ftp", "bugs", "wiki", self.word()))
        host = f"{first}.{self.word()}.{rng.choice(('org', 'net', 'eu'))}"
        if kind < 0.5:
            return f"{self.word()}@{host}"
        tail = rng.choice(
            ("", "/", f"/{self._name()}/", f"/{self._name()}.html", f"/?{self.word()}={self._some(_DIGITS, 2, 6)}")
        )
        return f"{rng.choice(('http', 'https', 'ftp'))}://{host}{tail}"

    def figures(self) -> str:
        """Numbers with separators: amounts, times, versions, telephone and page numbers."""
        rng = self.rng
        groups = [self._some(_DIGITS, 1, 4) for _ in range(rng.randint(1, 4))]
        return rng.choice(("", "", "", "v", "+", "-", "§", "p. ")) + rng.choice(".,:/-– ").join(groups)

    def hexadecimal(self) -> str:
        return self.rng.choice(("0x", "", "")) + self._some(_DIGITS + "abcdef", 4, 24)

    def tag(self) -> str:
        word = self.word()
        return self.rng.choice(
            (f"<{word}>", f"</{word}>", f'<{word} id="{self.word()}">', f"\\{word}{{{self.word()}}}")
        )

    def variable(self) -> str:
        word = self.word().upper()
        return self.rng.choice(
            (f"${word}", f"${{{word}}}", f"%{word}%", f"@{word}@", f"[{word}]", f"<{word}>", f"{{{word}}}")
        )

    def joined(self) -> str:
        """Words held together by marks instead of spaces."""
        rng = self.rng
        return rng.choice(("-", "_", "/", "—", ".", "::", "|", "--", ",", "…")).join(
            self.word() for _ in range(rng.randint(2, 4))
        )

    def letters(self) -> str:
        """Letters and digits that look alike, and others, in no order."""
        alphabet = self.rng.choice(
            ("0O1lI5S2Z8B", string.ascii_letters + _DIGITS, _DIGITS, string.ascii_uppercase + _DIGITS)
        )
        return self._some(alphabet, 2, 9)

    def marks(self) -> str:
        """One mark again and again: as often as it stands there, no more and no less."""
        rng = self.rng
        return rng.choice(_MARKS) * min(int(3 + rng.expovariate(1 / self.marks_length)), self.most_marks)

    def token(self) -> str:
        makers, weights = zip(*self.makers, strict=True)
        return self.rng.choices(makers, weights)[0]()

    def quoted(self, words: list[str], share: float) -> list[str]:
        """Some words put between quotes or brackets."""
        out = []
        for word in words:
            if self.rng.random() < share:
                first, last = self.rng.choice(_QUOTES)
                word = first + word + last
            out.append(word)
        return out

    def mixed(self, words: list[str], share: float) -> list[str]:
        """Running words with tokens between them."""
        out: list[str] = []
        for word in words:
            if self.rng.random() < share:
                out += self.token().split()
            out.append(word)
        return self.quoted(out, 0.04)
