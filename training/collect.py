"""Collects fonts and texts from Debian packages into one pack: `python -m training.collect --cache DIR --out
DIR`.

Packages are fetched by name with apt-get and unpacked with dpkg into the cache folder; nothing is installed,
and neither folder belongs in the repository. The pack holds `fonts/`, `text/`, `code/`, `documents/` and the
tokenizer; its hash goes into legs.json.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
from pathlib import Path

from training import added_texts, fonts, sources, texts

FONT_PACKAGES = tuple(
    """fonts-ebgaramond fonts-cabin fonts-sil-gentium fonts-roboto-slab fonts-paratype fonts-roboto-unhinted
    fonts-dejavu-core fonts-dejavu-extra fonts-liberation fonts-noto-core fonts-noto-mono
    fonts-urw-base35 fonts-texgyre fonts-lmodern fonts-linuxlibertine fonts-freefont-ttf fonts-croscore
    fonts-crosextra-carlito fonts-crosextra-caladea fonts-lato fonts-open-sans fonts-inter
    fonts-cantarell fonts-firacode fonts-hack fonts-inconsolata fonts-jetbrains-mono fonts-junicode
    fonts-cmu fonts-dosis fonts-quattrocento fonts-comfortaa fonts-play fonts-vollkorn fonts-mononoki
    fonts-anonymous-pro fonts-fantasque-sans fonts-opendyslexic fonts-sil-charis fonts-sil-andika
    fonts-jura fonts-go fonts-league-spartan fonts-goudybookletter fonts-prociono fonts-courier-prime
    fonts-adf-gillius fonts-adf-accanthis fonts-adf-berenis fonts-adf-baskervald fonts-adf-universalis
    fonts-adf-tribun fonts-adf-verana fonts-adf-libris fonts-adf-switzera fonts-stix
    fonts-century-catalogue fonts-manrope fonts-karla fonts-oxygen fonts-oldstandard
    fonts-averia-serif-gwf fonts-averia-sans-gwf fonts-clear-sans fonts-sora fonts-essays1743
    fonts-monofur fonts-yanone-kaffeesatz fonts-ocr-b""".split()
)
TEXT_PACKAGES = tuple(
    """fortunes fortunes-min fortunes-it fortunes-de fortunes-es fortunes-br debian-reference-en
    debian-reference-it debian-reference-de debian-reference-es debian-reference-fr debian-reference-pt
    wamerican wfrench witalian wngerman wportuguese wspanish manpages manpages-dev manpages-de
    manpages-es manpages-fr manpages-it manpages-pt-br debian-handbook""".split()
)


def download(cache: Path, packages: tuple[str, ...] = FONT_PACKAGES + TEXT_PACKAGES) -> Path:
    """Fetch the packages that are not in the cache yet and unpack them; answers the folder they are
    unpacked under."""
    debs, root = cache / "debs", cache / "root"
    debs.mkdir(parents=True, exist_ok=True)
    root.mkdir(exist_ok=True)
    for name in packages:
        if any(debs.glob(f"{name}_*.deb")):
            continue
        subprocess.run(["apt-get", "download", name], cwd=debs, check=True, stdout=subprocess.DEVNULL)
        for deb in debs.glob(f"{name}_*.deb"):
            subprocess.run(["dpkg", "-x", str(deb), str(root)], check=True)
    return root


def pack_hash(pack: Path) -> str:
    """SHA-256 over names and bytes of every file of a pack, in order of names."""
    digest = hashlib.sha256()
    for path in sorted(p for p in pack.rglob("*") if p.is_file()):
        digest.update(path.relative_to(pack).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="folder for downloaded packages (outside git)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the pack (outside git)")
    parser.add_argument("--processes", type=int, default=1)
    args = parser.parse_args()
    from training import documents  # needs PyMuPDF, which a machine that only trains may lack

    root = download(args.cache)
    faces = fonts.build(root / "usr" / "share", args.out, args.processes)
    sizes = texts.build(root, args.out)
    # Unpacked apart: fortunes and manual pages of the others are no part of the first texts.
    sizes |= added_texts.build(download(args.cache / "added", added_texts.PACKAGES), args.out)
    code = sources.build(download(args.cache / "code", sources.PACKAGES), args.out)
    counts = documents.build(download(args.cache / "documents", documents.PACKAGES), args.out)
    shutil.copyfile(Path(__file__).with_name("tokenizer.json"), args.out / "tokenizer.json")
    for split, members in faces.items():
        print(f"{split}: {len(members)} faces of {len({face.family for face in members})} families")
    print("characters of text:", sizes)
    print("characters of program text:", code)
    print(f"documents: {sum(counts.values())} pages of {len(counts)}")
    print("sha256", pack_hash(args.out))


if __name__ == "__main__":
    main()
