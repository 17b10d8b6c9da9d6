"""Page trees that MuPDF gives up on: no /Root in the trailer, a wrong /Count, kids that are no pages.

MuPDF rebuilds a damaged cross-reference table by itself. It does not look for pages that are all there but
that the tree above them does not lead to; this does.
"""

from __future__ import annotations

import re
from typing import Any, Final

import pymupdf

_NOT_ENCRYPTED: Final = 1
"""PDF_ENCRYPT_NONE of PyMuPDF: the file was unlocked already."""
_REFERENCE: Final = re.compile(r"(\d+) \d+ R")


def with_mended_page_tree(document: Any) -> Any | None:
    """A new document whose page tree counts right, or None when the file holds no page at all.

    `document` is an unlocked pymupdf.Document that counts no pages or counts them wrong. It is changed in
    memory and closed.
    """
    try:
        tree = _PageTree(document)
        if not tree.leaves:
            return None
        root = tree.mend()
        catalog = tree.catalog or document.get_new_xref()
        document.update_object(catalog, f"<< /Type /Catalog /Pages {root} 0 R >>")
        document.xref_set_key(-1, "Root", f"{catalog} 0 R")
        mended = pymupdf.open(stream=document.tobytes(encryption=_NOT_ENCRYPTED), filetype="pdf")
        return mended if mended.page_count else None
    except Exception:  # damaged in more places than the page tree
        return None
    finally:
        document.close()


class _PageTree:
    """What of a page tree is left in a file: object numbers of its catalog, inner nodes and pages."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self.catalog = 0
        self._nodes: list[int] = []
        self.leaves: list[int] = []
        self._seen: set[int] = set()
        for number in range(1, document.xref_length()):
            kind = self._kind(number)
            if kind == "/Catalog":
                self.catalog = number
            elif kind == "/Pages":
                self._nodes.append(number)
            elif kind == "/Page":
                self.leaves.append(number)

    def mend(self) -> int:
        """Right the counts; the object number of the root, which is made if there is none."""
        for root in self._nodes:
            if self._document.xref_get_key(root, "Parent")[0] != "xref" and self._count(root):
                return root
        root = int(self._document.get_new_xref())
        kids = " ".join(f"{leaf} 0 R" for leaf in self.leaves)
        self._document.update_object(root, f"<< /Type /Pages /Kids [{kids}] /Count {len(self.leaves)} >>")
        for leaf in self.leaves:
            self._document.xref_set_key(leaf, "Parent", f"{root} 0 R")
        return root

    def _count(self, node: int) -> int:
        """Pages below an inner node, after its /Kids and /Count were made to say so."""
        self._seen.add(node)
        kids, total = [], 0
        for reference in _REFERENCE.findall(self._document.xref_get_key(node, "Kids")[1]):
            kid = int(reference)
            if kid in self._seen or not 0 < kid < self._document.xref_length():
                continue
            kind = self._kind(kid)
            below = self._count(kid) if kind == "/Pages" else int(kind == "/Page")
            if below:
                self._seen.add(kid)
                kids.append(f"{kid} 0 R")
                total += below
        self._document.xref_set_key(node, "Kids", f"[{' '.join(kids)}]")
        self._document.xref_set_key(node, "Count", str(total))
        return total

    def _kind(self, number: int) -> str:
        try:
            return str(self._document.xref_get_key(number, "Type")[1])
        except Exception:  # an object that cannot be parsed is no part of the tree
            return ""
