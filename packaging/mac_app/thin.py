"""One processor's part of universal files. The part is taken out as it is, with the signature it has."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import macho

from mac_app.commands import StepFailed


def binaries(folder: Path) -> list[Path]:
    """Every Mach-O file, links left out."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink() and macho.is_macho(p))


def thin(path: Path, arch: str) -> int:
    """Leaves only `arch` in the file; the number of bytes that went. StepFailed where it has no such part."""
    data = path.read_bytes()
    magic, count = struct.unpack_from(">II", data)
    if magic not in (macho.FAT, macho.FAT_64):
        return 0
    form = ">IIQQII" if magic == macho.FAT_64 else ">IIIII"
    found = []
    for i in range(count):
        cpu, _, start, size = struct.unpack_from(form, data, 8 + i * struct.calcsize(form))[:4]
        found.append(macho.CPU.get(cpu, f"cpu {cpu:#x}"))
        if found[-1] == arch:
            break
    else:
        raise StepFailed(f"{path} is for {', '.join(found)}, not for {arch}; take another wheel.")
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(data[start : start + size])
    partial.chmod(path.stat().st_mode)
    os.replace(partial, path)
    return len(data) - size


def thin_all(folder: Path, arch: str) -> int:
    return sum(thin(path, arch) for path in binaries(folder))
