"""A font without ink, whose characters can be searched and copied: every script in a few hundred bytes.

Built here, so no font file of anyone's is needed: a TrueType file with one glyph, to which every
character code leads, and a table that says which Unicode text each code stands for. Codes are given out as
characters are used.
"""

from __future__ import annotations

import struct
import unicodedata
from functools import lru_cache

import pymupdf

ASCENT, DESCENT = 800, -200
"""Reach of a line above and below its base line, thousandths of the font size; together exactly one size."""

_NAME = "LeggioInvisible"
_CODES = 0xFFFF
_CREATED = 3_786_825_600  # 1 January 2024, in seconds since 1904; fixed, so that files are equal


class InvisibleFont:
    """The font of one PDF document. Call `save` after the last text: it writes what was used."""

    def __init__(self, document: pymupdf.Document) -> None:
        self.document = document
        """May be replaced by the same document, opened again after an incremental save."""
        self._codes: dict[str, int] = {}
        numbers = [document.get_new_xref() for _ in range(6)]
        self.xref, self._cid_font, self._descriptor, self._file, self._map, self._unicode = numbers
        for number in numbers:
            document.update_object(number, "<<>>")

    def encode(self, text: str) -> str:
        """`text` as the hexadecimal string that a content stream shows."""
        return "".join(f"{self._code(character):04X}" for character in text)

    def _code(self, character: str) -> int:
        code = self._codes.get(character)
        if code is None:
            if len(self._codes) >= _CODES:
                return self._codes.setdefault("\ufffd", _CODES)
            code = self._codes[character] = len(self._codes) + 1
        return code

    def save(self) -> None:
        """Write the font's objects; may be called again after more text."""
        document = self.document
        widths = " ".join(f"{code} [{advance(char) * 1000:.0f}]" for char, code in self._codes.items())
        document.update_object(self.xref, (
            f"<</Type/Font/Subtype/Type0/BaseFont/{_NAME}/Encoding/Identity-H"
            f"/DescendantFonts[{self._cid_font} 0 R]/ToUnicode {self._unicode} 0 R>>"))
        document.update_object(self._cid_font, (
            f"<</Type/Font/Subtype/CIDFontType2/BaseFont/{_NAME}"
            "/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
            f"/FontDescriptor {self._descriptor} 0 R/DW 500/W[{widths}]/CIDToGIDMap {self._map} 0 R>>"))
        document.update_object(self._descriptor, (
            f"<</Type/FontDescriptor/FontName/{_NAME}/Flags 4/FontBBox[0 {DESCENT} 1000 {ASCENT}]"
            f"/ItalicAngle 0/Ascent {ASCENT}/Descent {DESCENT}/CapHeight {ASCENT}/StemV 80"
            f"/FontFile2 {self._file} 0 R>>"))
        document.update_stream(self._file, _inkless_truetype())
        document.update_stream(self._map, b"\0\0" * (len(self._codes) + 1))
        document.update_stream(self._unicode, self._to_unicode())

    def _to_unicode(self) -> bytes:
        lines = [f"<{code:04X}> <{character.encode('utf-16-be').hex().upper()}>"
                 for character, code in self._codes.items()]
        blocks = [f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar\n"
                  for block in (lines[i:i + 100] for i in range(0, len(lines), 100))]
        return (
            "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"
            "/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def\n"
            "/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n"
            "1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n"
            + "".join(blocks) + "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n").encode()


@lru_cache(maxsize=4096)
def advance(character: str) -> float:
    """How far a character moves the pen, in font sizes: Helvetica's own for Latin, a guess for other scripts."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.0
    font = _latin()
    return float(font.glyph_advance(ord(character))) if font.has_glyph(ord(character)) else 0.5


@lru_cache(maxsize=1)
def _latin() -> pymupdf.Font:
    return pymupdf.Font("helv")


_GLYPH = (
    struct.pack(">hhhhh", 1, 0, DESCENT, 500, ASCENT)  # one outline and its bounds
    + struct.pack(">HHBB", 1, 0, 1, 1)  # which ends at point 1, no instructions, both points on the curve
    + struct.pack(">hhhh", 0, 500, DESCENT, ASCENT - DESCENT)  # x and y, each as a step from the last
)
"""A line there and back: it has no area, so no ink, but bounds. Readers that take a character's place from
its glyph (pdfium) would find nothing in an empty one and drop turned text."""


def _inkless_truetype() -> bytes:
    """A TrueType file whose only glyph is `_GLYPH`."""
    tables = {
        b"head": struct.pack(">IIIIHHQQhhhhHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0, 1000,
                             _CREATED, _CREATED, 0, DESCENT, 1000, ASCENT, 0, 8, 2, 0, 0),
        b"hhea": struct.pack(">IhhhHhhhhhhhhhhhH", 0x10000, ASCENT, DESCENT, 0, 500, 0, 0, 500,
                             1, 0, 0, 0, 0, 0, 0, 0, 1),
        b"hmtx": struct.pack(">Hh", 500, 0),
        b"maxp": struct.pack(">IHHHHHHHHHHHHHH", 0x10000, 1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
        b"loca": struct.pack(">HH", 0, len(_GLYPH) // 2),  # in units of two bytes
        b"glyf": _GLYPH,
        b"cmap": struct.pack(">HHHHIHHHHHHH", 0, 1, 3, 1, 12, 6, 10, 0, 0xFFFF, 0, 0, 0)[:-2],
        b"post": struct.pack(">IIhhIIIII", 0x30000, 0, 0, 0, 0, 0, 0, 0, 0),
    }
    offset = 12 + 16 * len(tables)
    directory, body, sums = b"", b"", 0
    head_at = 0
    for tag, data in sorted(tables.items()):
        padded = data + b"\0" * (-len(data) % 4)
        if tag == b"head":
            head_at = offset + len(body)
        checksum = _checksum(padded)
        directory += struct.pack(">4sIII", tag, checksum, offset + len(body), len(data))
        body += padded
        sums += checksum
    power = 1 << (len(tables).bit_length() - 1)
    header = struct.pack(">IHHHH", 0x10000, len(tables), power * 16, power.bit_length() - 1,
                         len(tables) * 16 - power * 16)
    font = bytearray(header + directory + body)
    struct.pack_into(">I", font, head_at + 8, (0xB1B0AFBA - _checksum(bytes(font))) & 0xFFFFFFFF)
    return bytes(font)


def _checksum(data: bytes) -> int:
    return sum(struct.unpack(f">{len(data) // 4}I", data)) & 0xFFFFFFFF
