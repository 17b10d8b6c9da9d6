"""Pages of real documents for the pack: PDFs of Debian documentation packages, cut down to the pages that can be used.

None of them is among the documents that the quality bench reads (bench.quality.documents), and none is a translation or
another edition of one of those.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pymupdf

from training.pages.printed import PrintedPage, read_page

PACKAGES = tuple(
    """harden-doc debian-history zsh-doc r-doc-pdf valgrind bash-doc octave-doc docbook-xsl-doc-pdf freefem-doc
    libpdfbox-java-doc texlive-lang-german texlive-lang-italian texlive-lang-spanish texlive-lang-portuguese
    texlive-latex-recommended-doc lilypond-doc-pdf-pt lilypond-doc-pdf-de c++-annotations-pdf live-manual-pdf
    why3-doc-pdf siscone-doc-pdf gri-pdf-doc debian-reference-en debian-reference-it debian-reference-de
    debian-reference-es debian-reference-fr debian-reference-pt
    erlang-doc systemtap-doc doxygen-doc avr-libc verilator dynare-doc gprbuild-doc libtemplates-parser-doc nut-doc
    openafs-doc gnuplot-doc gmsh-doc flex-doc autoconf-doc gnutls-doc cvs yaws-doc sdcc-doc graphviz-doc""".split()
)
_MOST_PAGES = 250
"""Of one document."""

_MOST_PAGES_TRIED = 1500
_LEAST_PAGES = 4
_PASSED_OVER = (".ja.", ".ko.", ".ru.", ".lt.", ".zh", ".ro.", ".pl.", ".ca.", "landscape", "letter.pdf", "archive",
                "/fonts", "fullrefman", "cplusplusus", "-oneside", "erlang-doc/lib/", "tapsets", "/circo.1",
                "/fdp.1", "/neato.1", "/sfdp.1", "/twopi.1")
"""Other scripts, specimens of fonts, the same text once more in another format or under another name, and what would
have one source and one layout outweigh the others (parts of paths)."""

_MOST_BYTES_A_PAGE = 15_000
_HELD_BACK = ("debian-handbook", "debmake-doc", "reportlab", "R-FAQ")
"""Documents (by a part of their path) that are never trained: the held-out book, and those to look at while data is
chosen."""


def _usable(path: Path) -> bool:
    name = str(path)
    return path.is_file() and not any(part in name for part in (*_HELD_BACK, *_PASSED_OVER))


def _opened(path: Path) -> pymupdf.Document | None:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    try:
        return pymupdf.open(stream=data, filetype="pdf")
    except pymupdf.FileDataError:
        return None


def _rules_for_characters(page: pymupdf.Page, printed: PrintedPage) -> bool:
    """Whether short rules stand in the page's lines, as TeX draws the underscores that its older text faces lack: the
    text layer does not have them."""
    em = printed.body
    rules = [d["rect"] for d in page.get_drawings() if d["rect"].height < 0.12 * em]
    return any(
        0.15 * em < rule.width < 1.1 * em and line.top < rule.y0 < line.bottom and line.left < rule.x0 < line.right
        for rule in rules
        for line in printed.lines
    )


def _read(page: pymupdf.Page) -> bool:
    """Whether a page can be used: its text layer can be read and holds all that is printed."""
    printed = read_page(page)
    return printed is not None and not _rules_for_characters(page, printed)


def _chosen(document: pymupdf.Document) -> list[int]:
    """Numbers of usable pages, spread over the document."""
    count = len(document)
    tried = range(0, count, -(-count // _MOST_PAGES_TRIED)) if count else range(0)
    usable = [number for number in tried if _read(document[number])]
    kept = min(len(usable), _MOST_PAGES)
    return [usable[number * len(usable) // kept] for number in range(kept)]


def build(root: Path, out: Path) -> dict[str, int]:
    """Write `out/documents/*.pdf`, usable pages only, and `documents.json`; answers pages by file name."""
    folder = out / "documents"
    folder.mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {}
    for path in sorted(p for p in (root / "usr" / "share").rglob("*.pdf*") if p.suffix in (".pdf", ".gz")):
        name = path.name.removesuffix(".gz").removesuffix(".pdf") + ".pdf"
        document = _opened(path) if _usable(path) and name not in counts else None
        chosen = _chosen(document) if document is not None else []
        if document is None or len(chosen) < _LEAST_PAGES:
            continue
        document.select(chosen)
        for page in document.pages():
            for link in page.get_links():
                page.delete_link(link)
        document.set_toc([])
        data = document.tobytes(garbage=4, deflate=True, clean=False, use_objstms=1)
        if len(data) <= _MOST_BYTES_A_PAGE * len(chosen):
            (folder / name).write_bytes(data)
            counts[name] = len(chosen)
    (folder / "documents.json").write_text(json.dumps(counts, indent=0), encoding="utf-8")
    return counts
