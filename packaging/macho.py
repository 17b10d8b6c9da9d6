"""Reads Mach-O files on any system: what a built library or bundle must say of itself.

    python3 packaging/macho.py FILE ...

A universal file holds several images, one for each processor. Addresses and offsets of an image count from its own
beginning. Layouts are those of Apple's public headers <mach-o/loader.h>, <mach-o/fat.h> and <kern/cs_blobs.h>.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

FAT, FAT_64 = 0xCAFEBABE, 0xCAFEBABF  # big-endian; a Java class begins with the first one too
IMAGE_64, IMAGE_32 = 0xFEEDFACF, 0xFEEDFACE  # little-endian
CPU = {0x0100000C: "arm64", 0x01000007: "x86_64", 0x00000007: "i386", 0x0000000C: "arm"}
FILE_TYPE = {1: "object", 2: "executable", 6: "library", 8: "bundle"}
PLATFORM_MACOS = 1
MOST_FAT_IMAGES = 16  # more, and it is a Java class

LC_SYMTAB, LC_LOAD_DYLIB, LC_ID_DYLIB, LC_LOAD_WEAK_DYLIB = 0x2, 0xC, 0xD, 0x80000018
LC_REEXPORT_DYLIB, LC_RPATH, LC_CODE_SIGNATURE, LC_SEGMENT_64 = 0x8000001F, 0x8000001C, 0x1D, 0x19
LC_VERSION_MIN_MACOSX, LC_BUILD_VERSION = 0x24, 0x32
LC_DYLD_INFO, LC_DYLD_INFO_ONLY, LC_DYLD_EXPORTS_TRIE = 0x22, 0x80000022, 0x80000033
N_EXT, N_TYPE, N_STAB, N_UNDF = 0x01, 0x0E, 0xE0, 0x0

SIGNATURE, CODE_DIRECTORY, CMS = 0xFADE0CC0, 0xFADE0C02, 0xFADE0B01  # big-endian
CS_ADHOC, CS_RUNTIME = 0x2, 0x10000
MOST_PAGE_LOG2 = 20
HASHES = {1: "sha1", 2: "sha256"}


class MachOError(ValueError):
    """The file is not a whole Mach-O file; the text says which part is wrong."""


@dataclass
class Signature:
    """The code signature of one image."""

    identifier: str
    ad_hoc: bool  # nobody signed it: enough for this machine, not for others
    hardened: bool
    has_certificate: bool
    bad_pages: int  # pages whose hash differs from what was signed


@dataclass
class Image:
    """One processor's part of a Mach-O file."""

    arch: str
    kind: str
    minimum_macos: tuple[int, int] | None = None
    install_name: str | None = None
    libraries: list[str] = field(default_factory=list)
    weak_libraries: list[str] = field(default_factory=list)
    rpaths: list[str] = field(default_factory=list)
    exports: set[str] = field(default_factory=set)  # as a C programmer writes them: without the leading underscore
    undefined: set[str] = field(default_factory=set)
    signature: Signature | None = None


def is_macho(path: Path) -> bool:
    """Whether the file begins like one."""
    with path.open("rb") as file:
        head = file.read(8)
    if len(head) < 8:
        return False
    little, (big, count) = struct.unpack("<I", head[:4])[0], struct.unpack(">II", head)
    return little in (IMAGE_64, IMAGE_32) or (big in (FAT, FAT_64) and 0 < count <= MOST_FAT_IMAGES)


def read(path: Path) -> list[Image]:
    """All images of the file. Raises MachOError where it is not one, or is cut short."""
    data = path.read_bytes()
    try:
        return [_image(data[start : start + size]) for start, size in _images(data)]
    except MachOError as error:
        raise MachOError(f"{path}: {error}") from error
    except (struct.error, IndexError, ValueError) as error:
        raise MachOError(f"{path} ({len(data)} bytes) is a damaged Mach-O file: {error}") from error


def _images(data: bytes) -> list[tuple[int, int]]:
    """Places [start, bytes] of the images in the file."""
    magic, count = struct.unpack_from(">II", data) if len(data) >= 8 else (0, 0)
    if magic not in (FAT, FAT_64):
        return [(0, len(data))]
    if not 0 < count <= MOST_FAT_IMAGES:
        raise MachOError(f"{count} images in a universal file; at most {MOST_FAT_IMAGES} are sensible")
    form = ">IIQQII" if magic == FAT_64 else ">IIIII"
    places = [struct.unpack_from(form, data, 8 + i * struct.calcsize(form))[2:4] for i in range(count)]
    for start, size in places:
        if start + size > len(data):
            raise MachOError(f"an image ends at byte {start + size} of {len(data)}")
    return places


def _string(data: bytes, start: int) -> str:
    end = data.find(0, start)
    return data[start : end if end >= 0 else len(data)].decode()


def _version(packed: int) -> tuple[int, int]:
    return packed >> 16, packed >> 8 & 0xFF


def _image(data: bytes) -> Image:
    magic, cpu, _, kind, commands, command_bytes, _, _ = struct.unpack_from("<8I", data)
    if magic == IMAGE_32:
        raise MachOError("a 32-bit image; macOS 13 runs none")
    if magic != IMAGE_64:
        raise MachOError(f"not a Mach-O file (it begins with {magic:#010x})")
    image = Image(CPU.get(cpu, f"cpu {cpu:#x}"), FILE_TYPE.get(kind, f"type {kind}"))
    at, end = 32, 32 + command_bytes
    if end > len(data):
        raise MachOError(f"its load commands end at byte {end} of {len(data)}")
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        if size < 8 or at + size > end:
            raise MachOError(f"a load command of {size} bytes at byte {at}")
        _command(image, data, command, at, data[at : at + size])
        at += size
    return image


def _command(image: Image, data: bytes, command: int, at: int, body: bytes) -> None:
    """Takes one load command into the image."""
    first, second = struct.unpack_from("<II", body, 8) if len(body) >= 16 else (0, 0)
    if command == LC_ID_DYLIB:
        image.install_name = _string(body, first)
    elif command in (LC_LOAD_DYLIB, LC_REEXPORT_DYLIB):
        image.libraries.append(_string(body, first))
    elif command == LC_LOAD_WEAK_DYLIB:
        image.weak_libraries.append(_string(body, first))
    elif command == LC_RPATH:
        image.rpaths.append(_string(body, first))
    elif command == LC_BUILD_VERSION and first == PLATFORM_MACOS:
        image.minimum_macos = _version(second)
    elif command == LC_VERSION_MIN_MACOSX:
        image.minimum_macos = _version(first)
    elif command == LC_SYMTAB:
        image.undefined = _undefined(data, *struct.unpack_from("<4I", body, 8))
    elif command in (LC_DYLD_INFO, LC_DYLD_INFO_ONLY):
        image.exports = _exports(data, *struct.unpack_from("<II", body, 40))
    elif command == LC_DYLD_EXPORTS_TRIE:
        image.exports = _exports(data, first, second)
    elif command == LC_CODE_SIGNATURE:
        image.signature = _signature(data, first, second)


def _undefined(data: bytes, table: int, count: int, strings: int, strings_bytes: int) -> set[str]:
    """Names that the image wants from others."""
    if table + 16 * count > len(data) or strings + strings_bytes > len(data):
        raise MachOError("its symbol table lies beyond its end")
    names = set()
    for i in range(count):
        name, kind = struct.unpack_from("<IB", data, table + 16 * i)
        if not kind & N_STAB and kind & N_EXT and kind & N_TYPE == N_UNDF:
            names.add(_string(data, strings + name).removeprefix("_"))
    return names


def _number(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned LEB128 number and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def _exports(data: bytes, start: int, size: int) -> set[str]:
    """Names that the loader finds: a prefix tree whose nodes are [bytes of terminal data, it, edges]."""
    tree = data[start : start + size]
    if len(tree) < size:
        raise MachOError("its exports lie beyond its end")
    names: set[str] = set()
    waiting, seen = [(0, b"")] if tree else [], 0
    while waiting:
        at, prefix = waiting.pop()
        seen += 1
        if 2 * seen > size:  # a node takes two bytes or more
            raise MachOError("its exports are a tree without end")
        terminal, at = _number(tree, at)
        if terminal:
            names.add(prefix.decode().removeprefix("_"))
        edges, at = tree[at + terminal], at + terminal + 1
        for _ in range(edges):
            stop = tree.index(0, at)
            label = tree[at:stop]
            child, at = _number(tree, stop + 1)
            waiting.append((child, prefix + label))
    return names


def _signature(data: bytes, start: int, size: int) -> Signature:
    magic, _, count = struct.unpack_from(">III", data, start)
    if magic != SIGNATURE or start + size > len(data):
        raise MachOError("its code signature is damaged")
    found: Signature | None = None
    certificate = False
    for i in range(count):
        blob = start + struct.unpack_from(">II", data, start + 12 + 8 * i)[1]
        kind, blob_bytes = struct.unpack_from(">II", data, blob)
        if kind == CODE_DIRECTORY and found is None:
            found = _code_directory(data, blob)
        certificate |= kind == CMS and blob_bytes > 8  # ad hoc ones hold an empty one, or none
    if found is None:
        raise MachOError("its code signature has no code directory")
    found.has_certificate = certificate
    return found


def _code_directory(data: bytes, blob: int) -> Signature:
    flags, hashes, name, _, slots, limit, hash_bytes, hash_type, _, page_log2 = struct.unpack_from(
        ">IIIIIIBBBB", data, blob + 12
    )
    if hash_type not in HASHES:
        raise MachOError(f"its code signature has hashes of an unknown type ({hash_type})")
    if page_log2 > MOST_PAGE_LOG2 or limit > len(data) or slots != -(-limit >> page_log2):
        raise MachOError(f"its code signature has {slots} pages of 2^{page_log2} bytes for {limit} of {len(data)}")
    page, bad = 1 << page_log2, 0
    for i in range(slots):
        digest = hashlib.new(HASHES[hash_type], data[i * page : min((i + 1) * page, limit)]).digest()[:hash_bytes]
        signed = blob + hashes + i * hash_bytes
        bad += digest != data[signed : signed + hash_bytes]
    return Signature(_string(data, blob + name), bool(flags & CS_ADHOC), bool(flags & CS_RUNTIME), False, bad)


def describe(image: Image) -> str:
    """One line for people."""
    macos = ".".join(map(str, image.minimum_macos)) if image.minimum_macos else "?"
    signed = image.signature
    how = "unsigned" if not signed else "ad hoc" if signed.ad_hoc else "signed"
    name = f", {image.install_name}" if image.install_name else ""
    return f"{image.kind} for {image.arch}, macOS {macos} or newer{name}, {len(image.exports)} exports, {how}"


def main() -> int:
    """Says of every file what it is; 1 where one is damaged."""
    status = 0
    for name in sys.argv[1:]:
        try:
            for image in read(Path(name)):
                print(f"{name}: {describe(image)}")
        except (MachOError, OSError) as error:
            print(error, file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
