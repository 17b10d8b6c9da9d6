"""The Mach-O reader, on libraries that ziglang links for arm64 Macs."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import macho  # noqa: E402

SOURCE = """
extern int strcmp(const char *, const char *);
__attribute__((visibility("default"))) int shown(const char *a) { return strcmp(a, "b"); }
__attribute__((visibility("default"))) int shown_too(void) { return 1; }
int kept_inside(void) { return 2; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    zig = [sys.executable, "-m", "ziglang"]
    if subprocess.run([*zig, "version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no Mach-O file was made: the PyPI package ziglang is not installed")
    folder = tmp_path_factory.mktemp("macho")
    (folder / "a.c").write_text(SOURCE)
    target = folder / "liba.dylib"
    command = [*zig, "cc", "-target", "aarch64-macos.13.0", "-O1", "-fvisibility=hidden", "-shared", "a.c"]
    subprocess.run([*command, "-o", target, "-Wl,-install_name,@rpath/liba.dylib"], cwd=folder, check=True)
    return target


def test_a_library_says_what_it_is(library: Path) -> None:
    (image,) = macho.read(library)
    assert (image.arch, image.kind, image.minimum_macos) == ("arm64", "library", (13, 0))
    assert image.install_name == "@rpath/liba.dylib"
    assert image.libraries == ["/usr/lib/libSystem.B.dylib"] and not image.weak_libraries and not image.rpaths
    assert {"shown", "shown_too"} <= image.exports and "kept_inside" not in image.exports
    assert "strcmp" in image.undefined
    assert macho.is_macho(library) and not macho.is_macho(Path(__file__))


def test_a_signature_covers_every_page(library: Path, tmp_path: Path) -> None:
    signature = macho.read(library)[0].signature
    assert signature is not None
    assert (signature.identifier, signature.ad_hoc, signature.bad_pages) == ("liba.dylib", True, 0)
    assert not signature.hardened and not signature.has_certificate
    changed = bytearray(library.read_bytes())
    changed[5000] ^= 1
    (tmp_path / "changed.dylib").write_bytes(changed)
    signature = macho.read(tmp_path / "changed.dylib")[0].signature
    assert signature is not None and signature.bad_pages == 1


def test_a_universal_file_holds_several_images(library: Path, tmp_path: Path) -> None:
    thin = library.read_bytes()
    start = 1 << 14
    head = struct.pack(">II", macho.FAT, 2)
    for place in (start, start + len(thin)):
        head += struct.pack(">5I", 0x0100000C, 0, place, len(thin), 14)
    path = tmp_path / "universal.dylib"
    path.write_bytes(head.ljust(start, b"\0") + thin + thin)
    assert [image.install_name for image in macho.read(path)] == ["@rpath/liba.dylib"] * 2
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(macho.MachOError, match="an image ends at byte"):
        macho.read(path)


def test_no_altered_file_does_more_than_raise_that_error(library: Path, tmp_path: Path) -> None:
    whole = library.read_bytes()
    end = 32 + struct.unpack_from("<I", whole, 20)[0]
    rest = len(whole) - len(whole.rstrip(b"\0")) + 1024  # signature, names and exports lie at the end
    path, random = tmp_path / "altered.dylib", Random(5)
    refused = 0
    for _ in range(400):
        altered = bytearray(whole)
        for _ in range(random.choice([1, 4])):
            place = random.randrange(end) if random.random() < 0.6 else len(whole) - 1 - random.randrange(rest)
            altered[place] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
        path.write_bytes(altered)
        try:
            macho.read(path)
        except macho.MachOError:
            refused += 1
    assert refused > 40


def test_a_damaged_file_is_one_clear_error(library: Path, tmp_path: Path) -> None:
    whole = library.read_bytes()
    path = tmp_path / "damaged.dylib"
    for size in [0, 3, 8, 31, 40, 200, 1000, len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(macho.MachOError, match=r"damaged\.dylib"):
            macho.read(path)
    path.write_bytes(b"\x7fELF" + whole[4:])
    with pytest.raises(macho.MachOError, match="not a Mach-O file"):
        macho.read(path)
