"""Names that tell of other people's machines are taken out of their libraries.

Wheels keep the install name, now and then a search path, of the machine that built them. Nothing in the bundle is
found through either; a search path that anybody could fill with a library of his own is better gone. The new name
takes the old one's place in the load command, so nothing else in the file moves. Signatures end here: signing follows.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import macho

from mac_app.commands import StepFailed
from mac_app.thin import binaries

SYSTEM = ("/usr/lib/", "/System/")
"""Where libraries lie that every Mac has."""
_HEADER_BYTES = 32


def is_foreign(name: str) -> bool:
    """Whether it is a place outside the bundle that no other Mac has."""
    return name.startswith("/") and not name.startswith(SYSTEM)


def neutral(command: int, name: str) -> str:
    """What a foreign name is replaced by."""
    return f"@rpath/{Path(name).name}" if command == macho.LC_ID_DYLIB else "@loader_path"


def rename(path: Path) -> list[str]:
    """Replaces foreign install names and search paths of a thin file; the names that went."""
    data = bytearray(path.read_bytes())
    magic, _, _, _, commands, _, _, _ = struct.unpack_from("<8I", data)
    if magic != macho.IMAGE_64:
        raise StepFailed(f"{path} is no thin 64-bit Mach-O file; thin it first.")
    gone = []
    at = _HEADER_BYTES
    for _ in range(commands):
        command, size, start = struct.unpack_from("<III", data, at)
        if command in (macho.LC_ID_DYLIB, macho.LC_RPATH):
            name = bytes(data[at + start : at + size]).split(b"\0")[0].decode()
            if is_foreign(name):
                new = neutral(command, name).encode()
                if len(new) >= size - start:
                    raise StepFailed(f"{path}: there is no room to turn {name} into {new.decode()}.")
                data[at + start : at + size] = new.ljust(size - start, b"\0")
                gone.append(name)
        at += size
    if gone:
        partial = path.with_name(path.name + ".partial")
        partial.write_bytes(data)
        partial.chmod(path.stat().st_mode)
        os.replace(partial, path)
    return gone


def rename_all(folder: Path) -> int:
    """The number of names replaced in every binary below the folder."""
    return sum(len(rename(path)) for path in binaries(folder))
