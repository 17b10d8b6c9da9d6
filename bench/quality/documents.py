"""Pages of real PDFs from Debian documentation packages; their text layer is the truth.

The packages are fetched by name with apt-get and unpacked with dpkg into the cache; nothing is installed and nothing
of them enters the repository. None of them is a source of training text. Pages are single-column prose, code and
lists as TeX and DocBook set them, drawn at 200 dpi.
"""

from __future__ import annotations

import gzip
import random
import subprocess
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import pymupdf
from PIL import Image
from uocr.document import BOX_SCALE, Box

from bench.quality.pages import Drawn, PageSet, TruthBlock, default_cache
from training.charset import WESTERN

PACKAGES = ("debian-faq", "debian-faq-de", "debian-faq-fr", "debian-faq-it", "debian-policy", "developers-reference",
            "developers-reference-de", "developers-reference-fr", "maint-guide", "installation-guide-amd64")
FILES = (
    "usr/share/doc/debian/FAQ/debian-faq.en.pdf.gz", "usr/share/doc/debian/FAQ/debian-faq.de.pdf.gz",
    "usr/share/doc/debian/FAQ/debian-faq.fr.pdf.gz", "usr/share/doc/debian/FAQ/debian-faq.it.pdf.gz",
    "usr/share/doc/debian-policy/policy.pdf.gz", "usr/share/doc/debian-policy/fhs/fhs-3.0.pdf.gz",
    "usr/share/developers-reference/developers-reference.pdf",
    "usr/share/developers-reference/de/developers-reference.pdf",
    "usr/share/developers-reference/fr/developers-reference.pdf", "usr/share/doc/maint-guide/maint-guide.en.pdf",
    *(f"usr/share/doc/installation-guide-amd64/{code}/install.{code}.pdf.gz"
      for code in ("en", "de", "es", "fr", "it", "pt")),
)
DPI = 200
SEED = 78_000_000
_KNOWN = frozenset(WESTERN + " \n")
_FOLDED = str.maketrans({"\u00a0": " ", "\u00ad": "-", "\u2010": "-", "\u2011": "-", "\u2212": "-"})
_LEAST, _MOST = 500, 4500
"""Characters of a page that is used."""


@dataclass(frozen=True)
class Line:
    """A line of the text layer: text and box in points."""

    text: str
    box: tuple[float, float, float, float]


def fetch(cache: Path) -> Path:
    """Download and unpack what is missing; answers the folder that holds `usr`."""
    debs, root = cache / "debs", cache / "documents"
    debs.mkdir(parents=True, exist_ok=True)
    root.mkdir(exist_ok=True)
    for name in PACKAGES:
        if not any(debs.glob(f"{name}_*.deb")):
            subprocess.run(["apt-get", "download", name], cwd=debs, check=True, stdout=subprocess.DEVNULL)
            for deb in debs.glob(f"{name}_*.deb"):
                subprocess.run(["dpkg", "-x", str(deb), str(root)], check=True)
    return root


@lru_cache(maxsize=4)
def _opened(path: Path) -> pymupdf.Document:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return pymupdf.open(stream=data, filetype="pdf")


def lines_of(page: pymupdf.Page) -> list[list[Line]] | None:
    """Blocks of lines from top to bottom; None when the page is no single column of known characters."""
    blocks: list[list[Line]] = []
    for block in sorted(page.get_text("dict")["blocks"], key=lambda b: (round(b["bbox"][1]), b["bbox"][0])):
        if block["type"] != 0:
            return None  # a picture
        rows: dict[int, list[dict]] = {}
        for line in block["lines"]:
            if abs(line["dir"][0] - 1) > 1e-3:
                return None
            # Pieces of one printed line stand at one height: a number before its heading, a page after its leader.
            rows.setdefault(round(line["bbox"][3] / 4), []).append(line)
        lines = []
        for row in rows.values():
            row.sort(key=lambda piece: piece["bbox"][0])
            text = " ".join("".join(span["text"] for span in piece["spans"]) for piece in row)
            text = unicodedata.normalize("NFC", text.translate(_FOLDED))
            if set(text) - _KNOWN or ". . ." in text:
                return None  # unknown letters, or a table of contents
            if text.strip():
                x1, y1 = min(p["bbox"][0] for p in row), min(p["bbox"][1] for p in row)
                lines.append(Line(" ".join(text.split()), (x1, y1, max(p["bbox"][2] for p in row),
                                                            max(p["bbox"][3] for p in row))))
        if lines:
            blocks.append(lines)
    tops = [line.box for lines in blocks for line in lines]
    for a, b in pairwise(tops):
        if b[1] < a[1] - 2:
            return None  # not one column from top to bottom
    return blocks


def _candidate(rng: random.Random) -> tuple[pymupdf.Page, list[list[Line]]]:
    """A page of a random document that can be used."""
    root = fetch(default_cache())
    while True:
        document = _opened(root / rng.choice(FILES))
        page = document[rng.randrange(3, len(document))]
        blocks = lines_of(page)
        if blocks and _LEAST <= sum(len(line.text) for lines in blocks for line in lines) <= _MOST:
            return page, blocks


def _draw(page: pymupdf.Page, clip: pymupdf.Rect, blocks: list[list[Line]], dpi: int = DPI) -> Drawn:
    pixels = page.get_pixmap(dpi=dpi, clip=clip, alpha=False)
    picture = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)

    def units(value: float, start: float, extent: float) -> int:
        return int(min(max(round((value - start) / extent * BOX_SCALE), 0), BOX_SCALE))

    truth = []
    for lines in blocks:
        x1, y1 = min(n.box[0] for n in lines), min(n.box[1] for n in lines)
        x2, y2 = max(n.box[2] for n in lines), max(n.box[3] for n in lines)
        box = Box(units(x1, clip.x0, clip.width), units(y1, clip.y0, clip.height),
                  units(x2, clip.x0, clip.width), units(y2, clip.y0, clip.height))
        truth.append(TruthBlock("text", " ".join(line.text for line in lines), box))
    return picture, truth


def whole_page(_: Path, index: int) -> Drawn:
    """A whole page at 200 dpi: print of about 28 px, 13 px once the page is fitted into a base view."""
    page, blocks = _candidate(random.Random(SEED + index))
    return _draw(page, page.rect, blocks)


def finely_drawn_page(_: Path, index: int) -> Drawn:
    """A whole page at 300 dpi, as PDFs are drawn unless something else is asked for: more crops than are trained."""
    page, blocks = _candidate(random.Random(SEED + 2000 + index))
    return _draw(page, page.rect, blocks, 300)


def part_of_page(_: Path, index: int) -> Drawn:
    """Some lines of a page, as wide as its text and no higher than wide: print of about 20 px in a base view."""
    rng = random.Random(SEED + 1000 + index)
    while True:
        page, blocks = _candidate(rng)
        lines = [(n, line) for n, block in enumerate(blocks) for line in block]
        left = min(line.box[0] for _, line in lines) - 12
        right = max(line.box[2] for _, line in lines) + 12
        first = rng.randrange(len(lines))
        top = lines[first][1].box[1]
        kept = [(n, line) for n, line in lines[first:] if line.box[3] - top <= (right - left) * rng.uniform(0.5, 0.95)]
        above = lines[first - 1][1].box[3] if first else top - 20
        below = lines[first + len(kept)][1].box[1] if first + len(kept) < len(lines) else kept[-1][1].box[3] + 20
        bottom = kept[-1][1].box[3]
        # Cut half-way between lines, never through one.
        clip = pymupdf.Rect(left, max(top - 12, (top + above) / 2), right, min(bottom + 12, (bottom + below) / 2))
        if sum(len(line.text) for _, line in kept) >= 150 and above <= top + 1 and below >= bottom - 1:
            parts: dict[int, list[Line]] = {}
            for number, line in kept:
                parts.setdefault(number, []).append(line)
            return _draw(page, clip & page.rect, list(parts.values()))


def sets() -> Iterable[PageSet]:
    yield PageSet("document parts", part_of_page, about="lines of real PDF pages, about 20 px in a base view")
    yield PageSet("document pages", whole_page, preset="gundam", about="whole real PDF pages at 200 dpi, crops")
    yield PageSet("document pages, 300 dpi", finely_drawn_page, preset="gundam", pages=10,
                  about="whole real PDF pages at 300 dpi, crops")
    yield PageSet("document pages, base", whole_page, about="the same through one base view")
