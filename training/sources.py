"""Program text for the pack: passages of the source files in Debian packages, each of one file, its lines as they are.

What a listing says cannot be guessed from a dictionary: identifiers, brackets, quotes and indentation are those of
programs. Passages are of training alone, and no book that is held out, or looked at while data is chosen, is among the
packages.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from training.charset import CHARSET
from training.texts import characters, read_text

PACKAGES = tuple(
    """libpython3.11-stdlib perl-modules-5.36 libtcl8.6 lua-penlight rake ruby-minitest cmake-data automake autoconf
    linux-libc-dev zlib1g-dev libstb-dev uthash-dev nlohmann-json3-dev gawk node-commander node-express node-underscore
    libjs-bootstrap libjs-sphinxdoc bash-completion initramfs-tools-core quilt debhelper logrotate exim4-config apache2
    icinga2-ido-mysql docbook-xsl texlive-latex-base r-cran-mass golang-github-spf13-cobra-dev
    golang-github-spf13-pflag-dev librust-anyhow-dev librust-regex-dev elpa-magit php-parsedown php-monolog cloud-init
    alsa-ucm-conf systemd udev postgresql-common""".split()
)

_SHELL = ("usr/share/bash-completion/**/*", "usr/share/quilt/**/*", "usr/share/initramfs-tools/**/*", "**/*.sh",
          "usr/share/debhelper/autoscripts/*", "usr/share/doc/*/examples/**/*.sh")
_TEXMF = "usr/share/texlive/texmf-dist/tex"

KINDS: dict[str, tuple[tuple[str, ...], int]] = {
    "python": (("usr/lib/python3.11/**/*.py", "usr/lib/python3/dist-packages/**/*.py"), 330_000),
    "perl": (("usr/share/perl/**/*.pm", "usr/share/perl/**/*.pl", "usr/share/perl5/**/*.pm"), 150_000),
    "c": (("**/*.c", "**/*.c.gz", "usr/include/stb/*.h", "usr/include/ut*.h"), 260_000),
    "headers": (("usr/include/linux/**/*.h", "usr/include/asm-generic/*.h", "usr/include/sound/*.h"), 120_000),
    "cpp": (("**/*.cpp", "**/*.hpp"), 150_000),
    "shell": (_SHELL, 210_000),
    "script": (("usr/share/nodejs/**/*.js", "usr/share/doc/*/examples/**/*.js", "usr/share/javascript/**/*.js"),
               150_000),
    "style": (("**/*.css", "**/*.less"), 60_000),
    "xml": (("**/*.xsl", "**/*.xml", "**/*.ent", "**/*.dtd"), 130_000),
    "html": (("**/*.ejs", "**/*.html"), 50_000),
    "json": (("**/*.json",), 60_000),
    "settings": (("**/*.conf", "**/*.toml", "**/*.service", "**/*.rules", "**/*.target", "**/*.network",
                  "**/*.yml", "**/*.load", "etc/exim4/conf.d/**/*", "usr/share/alsa/ucm2/**/*.conf",
                  "usr/share/doc/cloud-init/examples/*", "etc/logrotate.d/*"), 170_000),
    "make": (("**/*.am", "**/*.mk", "**/Makefile*"), 90_000),
    "cmake": (("usr/share/cmake-3.25/**/*.cmake",), 90_000),
    "macros": (("**/*.m4",), 80_000),
    "tex": ((f"{_TEXMF}/**/*.sty", f"{_TEXMF}/**/*.cls", f"{_TEXMF}/**/*.tex", f"{_TEXMF}/**/*.def"), 160_000),
    "query": (("**/*.sql",), 60_000),
    "lua": (("usr/share/lua/**/*.lua",), 70_000),
    "ruby": (("**/*.rb",), 80_000),
    "tcl": (("**/*.tcl",), 60_000),
    "go": (("**/*.go",), 80_000),
    "rust": (("**/*.rs",), 80_000),
    "php": (("**/*.php",), 70_000),
    "lisp": (("usr/share/emacs/**/*.el",), 80_000),
    "awk": (("**/*.awk",), 50_000),
    "statistics": (("**/*.R",), 70_000),
}
"""By kind of program text: which files (patterns under the folder of the unpacked packages), and how many characters
are kept."""

_MOST_OF_A_FILE, _LARGEST_FILE = 9_000, 400_000
"""Characters kept of one file, and of a file that is looked at (larger ones are tables of data)."""

_LEAST_LINES, _MOST_LINES = 5, 150
"""Of a passage, empty ones counted."""

_LONGEST = 150
"""Characters of a line. A longer one, or one with other characters than the model knows, ends the passage before it."""

_LEGAL = re.compile("copyright|licen[cs]e|warrant|redistribut|free software|permission|merchantab", re.IGNORECASE)
"""Lines of licences, which stand above a third of all files and would be learned by heart: they end a passage, too."""

_MARKS = 0.085, 0.5
"""Share of marks among a passage's printed characters, least and most: less is a licence or a manual, more is data."""

_TAB = 8
_START = "\f"
"""Begins a passage; what follows on its line is the file's path."""

_ALLOWED = frozenset(CHARSET + " ")
_PLAIN = str.maketrans({"\u00a0": " ", "\u2010": "-", "\u2011": "-", "\u2212": "-"})


def passages(text: str) -> Iterator[list[str]]:
    """Lines that follow one another in a file: parted where a line cannot be set, and at an empty line when they are
    many. Tabs become spaces, and several empty lines one."""
    lines, most = list[str](), _MOST_LINES // 2
    for line in [*text.translate(_PLAIN).split("\n"), "\0"]:
        line = line.rstrip().expandtabs(_TAB)
        usable = len(line) <= _LONGEST and _ALLOWED.issuperset(line) and not _LEGAL.search(line)
        if not usable or len(lines) >= (_MOST_LINES if line else most):
            yield from _kept(lines)
            lines = []
        if usable and (line or (lines and lines[-1])):
            lines.append(line)


def _kept(lines: list[str]) -> Iterator[list[str]]:
    """The lines, when they are a passage of a program."""
    lines = lines[: -1 if lines and not lines[-1] else None]
    printed = "".join(lines).replace(" ", "")
    marks = sum(not char.isalnum() for char in printed)
    if len(lines) >= _LEAST_LINES and _MARKS[0] * len(printed) <= marks <= _MARKS[1] * len(printed):
        yield lines


def _files(root: Path, patterns: Iterable[str]) -> list[Path]:
    """Files that a pattern finds, in order of their names; none twice."""
    found = {path for pattern in patterns for path in root.glob(pattern)}
    usable = (path for path in found if path.is_file() and not path.is_symlink())
    return sorted(path for path in usable if path.stat().st_size <= _LARGEST_FILE and path.suffix != ".md5sums")


def build(root: Path, out: Path, seed: int = 1) -> dict[str, int]:
    """Write `out/code/KIND.txt`; answers characters by kind. A passage stands in one kind only, and once."""
    folder = out / "code"
    folder.mkdir(parents=True, exist_ok=True)
    counts, seen = dict[str, int](), set[str]()
    for kind, (patterns, limit) in KINDS.items():
        files = _files(root, patterns)
        random.Random(f"{seed}-{kind}").shuffle(files)
        written, counts[kind] = list[str](), 0
        for path in files:
            taken, parts = 0, [*passages(read_text(path))]
            random.Random(f"{seed}-{path.name}").shuffle(parts)
            for lines in parts:
                text = "\n".join(lines)
                if text in seen or taken > _MOST_OF_A_FILE or counts[kind] > limit:
                    continue
                seen.add(text)
                written += [f"{_START}{path.relative_to(root)}", *lines]
                taken += characters(lines)
                counts[kind] += characters(lines)
        if not written:
            raise SystemExit(f"no program text of the kind '{kind}' under {root}; download the packages first")
        (folder / f"{kind}.txt").write_text("\n".join(written) + "\n", encoding="utf-8")
    return counts


class Sources:
    """Endless source of passages of a pack's program text, every kind as often as the root of its size."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.rng = rng
        self.kinds = [self._read(path) for path in sorted(folder.glob("*.txt"))]
        self.weights = [sum(len(lines) for _, lines in passages) ** 0.5 for passages in self.kinds]

    def __bool__(self) -> bool:
        """Whether the pack has any."""
        return bool(self.kinds)

    @staticmethod
    def _read(path: Path) -> list[tuple[str, list[str]]]:
        parts = re.split(f"^{_START}", path.read_text(encoding="utf-8"), flags=re.M)[1:]
        return [(name, body.rstrip("\n").split("\n")) for name, _, body in (part.partition("\n") for part in parts)]

    def passage(self, count: int) -> tuple[str, list[str]]:
        """A file's path and at most `count` lines of it that follow one another, empty ones among them; set in as far
        as they are in the file, or sometimes as far as the first of them."""
        rng = self.rng
        name, lines = rng.choice(rng.choices(self.kinds, self.weights)[0])
        if len(lines) > count:
            # At an empty line's end where there is one: a function, a rule, a paragraph of settings.
            starts = [n for n in range(len(lines) - count + 1) if n == 0 or not lines[n - 1]]
            first = rng.choice(starts) if rng.random() < 0.7 else rng.randrange(len(lines) - count + 1)
            lines = lines[first : first + count]
        lines = lines[not lines[0] : len(lines) - (not lines[-1])]
        common = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
        return name, [line[common:] for line in lines] if common and rng.random() < 0.7 else lines
