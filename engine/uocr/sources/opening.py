"""One door for every kind of input: whatever it is given, `open_source` answers with a `Source`."""

from __future__ import annotations

import base64
import binascii
import os
import re
import sys
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import SplitResult, unquote, unquote_to_bytes, urlsplit

from PIL import Image

from uocr.errors import EmptyDocument, InvalidRequest, UnreadableFile
from uocr.sources.pictures import MemoryPicture, PictureSource
from uocr.sources.types import DEFAULT_DPI, Compat, Content, Limits, Source, reason, shown_url

STDIN: Final = "-"
_HEAD_BYTES: Final = 1024
"""A PDF's mark may stand anywhere in its first 1024 bytes."""
_HEIF_BRANDS: Final = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs",
                                 b"mif1", b"msf1"})
_MARKS: Final = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"BM", b"qoif", b"8BPS",
                 b"\xff\x4f\xff\x51", b"P1", b"P2", b"P3", b"P4", b"P5", b"P6")
"""How picture files begin whose first bytes always are the same."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\-\s]{32,}={0,2}\s*")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):")
"""How an address begins. One letter alone is the drive of a Windows path."""
_UNDERSTOOD: Final = ("http", "https", "file", "data")

Openable = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | Image.Image


def open_source(thing: Openable, *, pages: str | None = None, dpi: float = DEFAULT_DPI,
                password: str | None = None, compat: str | None = None, limits: Limits | None = None,
                name: str | None = None) -> Source:
    """The pages of `thing`: a path, an http(s) or file URL, a data URI, base64 text, "-" for standard input,
    bytes, a binary file object or a Pillow picture.

    What a file is follows from its first bytes, never from its name. `pages` chooses, such as "1-3,5,-1".
    `dpi` (pixels per inch) and `password` matter for PDF only. `compat="upstream"` treats pixels as the
    published code does. `name` is used in messages instead of the thing's own.

    Raises UnreadableFile, EncryptedFile, EmptyDocument, TooLarge or InvalidRequest.
    """
    limits = limits or Limits()
    policy = _policy(compat)
    if isinstance(thing, Image.Image):
        return MemoryPicture(thing, name=name, pages=pages, compat=policy, limits=limits)
    content = _content(thing, name, limits)
    head = _head(content)
    if not head:
        raise EmptyDocument(f"{content.name} is empty (0 bytes); nothing was read.")
    if is_pdf(head) or (content.name.lower().endswith(".pdf") and not _known(head)):
        from uocr.sources.pdf import PdfSource  # MuPDF takes longer to load than a picture to decode

        return PdfSource(content, pages=pages, dpi=dpi, password=password, limits=limits)
    return PictureSource(content, heif=is_heif(head), pages=pages, compat=policy, limits=limits)


def scheme_of(text: str) -> str:
    """What `text` is an address by, in small letters: http, https, file, data, or any word before "://".

    Empty for the name of a file: C:\\scan.png, or one with a colon in it.
    """
    found = _SCHEME.match(text)
    scheme = found[1].lower() if found else ""
    return scheme if scheme in _UNDERSTOOD or text.startswith("//", len(scheme) + 1) else ""


def split_address(address: str) -> SplitResult:
    """The parts of an address. Raises InvalidRequest for one that has no parts."""
    try:
        return urlsplit(address)
    except ValueError as error:
        raise InvalidRequest(f"{shown_url(address)} is not an address: {reason(error)}.") from error


def path_of_address(address: str) -> Path:
    """The file that a file: address names. Raises InvalidRequest when the address names another machine."""
    parts = split_address(address)
    if parts.netloc not in ("", "localhost"):
        raise InvalidRequest(f"{address} names a file of the machine {parts.netloc}; only files of this one can be "
                             "opened, as file:///folder/name.")
    return Path(unquote(parts.path))


def is_pdf(head: bytes) -> bool:
    """Whether a file that begins with these bytes (the first 1024) is a PDF."""
    return b"%PDF-" in head[:_HEAD_BYTES]


def is_heif(head: bytes) -> bool:
    """Whether a file that begins with these bytes is HEIC/HEIF (AVIF, in the same container, is not)."""
    if head[4:8] != b"ftyp":
        return False
    size = min(int.from_bytes(head[:4], "big"), len(head))
    brands = {head[8:12], *(head[at:at + 4] for at in range(16, size - 3, 4))}
    return head[8:12] in _HEIF_BRANDS and not brands & {b"avif", b"avis"}


def _policy(compat: str | None) -> Compat:
    if compat is None or compat == "upstream":
        return compat  # type: ignore[return-value]
    raise InvalidRequest(f'The option compat={compat!r} is unknown; leave it out or say "upstream".')


def _content(thing: Any, name: str | None, limits: Limits) -> Content:
    if isinstance(thing, str):
        return _from_text(thing, name, limits)
    if isinstance(thing, os.PathLike):
        return _from_path(Path(os.fspath(thing)), name, limits)
    if isinstance(thing, (bytes, bytearray, memoryview)):
        data = bytes(thing)
        return _in_memory(data, name or f"bytes ({len(data):,} in all)", limits)
    if hasattr(thing, "read"):
        return _from_stream(thing, name, limits)
    kinds = "give a path, URL, bytes, binary file object, base64 text or Pillow picture."
    if thing is None:
        raise InvalidRequest(f"Nothing was given to open; {kinds}")
    kind = type(thing).__name__
    article = "An" if kind[0] in "aeiouAEIOU" else "A"
    raise InvalidRequest(f"{article} {kind} cannot be opened; {kinds}")


def _from_text(text: str, name: str | None, limits: Limits) -> Content:
    if not text:
        raise UnreadableFile("The name of an input is empty; name a file.")
    if text == STDIN:
        if sys.stdin is None:
            raise UnreadableFile("Standard input is closed; nothing can be read from it.")
        return _from_stream(sys.stdin.buffer, name or "standard input", limits)
    kind = scheme_of(text)
    if kind == "data":
        return _from_data_uri(text, name, limits)
    if kind in ("http", "https"):
        from uocr.sources.fetch import download  # the web's libraries load longer than a picture

        split_address(text)
        shown, data = download(text, limits)
        return Content(name or shown, data=data)
    if kind == "file":
        return _from_path(path_of_address(text), name, limits)
    if kind:
        raise InvalidRequest(f"{shown_url(text)} cannot be opened: addresses that begin with {kind}:// are not "
                             "understood, those with http://, https://, file:// and data: are; or name a file.")
    path = Path(text)
    if not _exists(path) and _BASE64.fullmatch(text):
        decoded = _decoded_base64(text)
        if decoded is not None and _known(decoded[:_HEAD_BYTES]):
            return _in_memory(decoded, name or f"base64 text ({len(decoded):,} bytes)", limits)
    return _from_path(path, name, limits)


def _from_path(path: Path, name: str | None, limits: Limits) -> Content:
    shown = name or str(path)
    if len(shown) > 300:
        shown = shown[:60] + "…"
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or reason(error)
        raise UnreadableFile(f"{shown} cannot be opened: {words}.") from error
    if path.is_dir():
        raise InvalidRequest(f"{shown} is a folder; expand_inputs lists what is in it.")
    if not path.is_file():  # a pipe or device: read what comes
        try:
            with path.open("rb") as stream:
                return _from_stream(stream, shown, limits)
        except OSError as error:
            raise UnreadableFile(f"{shown} cannot be opened: {error.strerror or reason(error)}.") from error
    limits.check_bytes(shown, status.st_size)
    return Content(shown, path=path)


def _from_stream(stream: Any, name: str | None, limits: Limits) -> Content:
    shown = name or str(getattr(stream, "name", "") or "file object")
    try:
        data = stream.read(limits.max_bytes + 1)
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{shown} cannot be read: {reason(error)}.") from error
    if not isinstance(data, bytes):
        raise InvalidRequest(f'{shown} gives text, not bytes; open it with mode "rb".')
    return _in_memory(data, shown, limits)


def _from_data_uri(text: str, name: str | None, limits: Limits) -> Content:
    header, comma, body = text.partition(",")
    kind = header[5:].partition(";")[0] or "text/plain"
    shown = name or f"data URI ({kind})"
    if not comma:
        raise UnreadableFile(f"{shown} has no comma, so no data; it must look like data:image/png;base64,...")
    data = (_decoded_base64(unquote(body)) if header.lower().endswith(";base64") else unquote_to_bytes(body))
    if data is None:
        raise UnreadableFile(f"{shown} holds damaged base64 text of {len(body):,} letters; copy it again.")
    return _in_memory(data, shown, limits)


def _in_memory(data: bytes, name: str, limits: Limits) -> Content:
    limits.check_bytes(name, len(data))
    return Content(name, data=data)


def _decoded_base64(text: str) -> bytes | None:
    """The bytes of standard or URL-safe base64 with or without line breaks and padding; None if it is not."""
    letters = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a long base64 text is no file name
        return False


def _head(content: Content) -> bytes:
    try:
        with content.open() as stream:
            return stream.read(_HEAD_BYTES)
    except OSError as error:
        raise UnreadableFile(f"{content.name} cannot be opened: {error.strerror or error}.") from error


def _known(head: bytes) -> bool:
    """Whether these bytes begin a PDF or a picture."""
    return is_pdf(head) or is_heif(head) or any(head.startswith(mark) for mark in _MARKS) or (
        head[:4] == b"RIFF" and head[8:12] == b"WEBP") or head[4:8] in (b"ftyp", b"jP  ")


