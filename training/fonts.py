"""Fonts for the generator: chosen by name and coverage, cut down to the character set, split into train
and test."""

from __future__ import annotations

import json
import re
import unicodedata
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from PIL import ImageFont

from training.charset import ADDED_LETTERS, CHARSET, CORE, WESTERN

HELD_OUT_FAMILIES = frozenset({"ebgaramond", "cabin", "gentium", "robotoslab", "paratype"})
"""Families that no training page ever shows."""

HELD_OUT_FACES = ("EBGaramond12-Regular", "Cabin-Regular", "Gentium-R", "RobotoSlab-Regular", "PTS55F")
"""The faces of those families that the held-out pages use."""

_COLLECTIONS = frozenset(
    """urw-base35 tex-gyre freefont dejavu liberation liberation2 linux-libertine croscore crosextra adf lm
    lmodern""".split()
)
"""Folders that hold several families: there the family is the first part of the file name."""

_UNSUITABLE = re.compile(
    r"Thin|Hairline|ExtraLight|Black|Heavy|Math|Size|Integrals|NonUnicode|Variants|Script|LinBiolinum_K|Standard|D050"
    r"|LinLibertine_M|Junicode.*(Expanded|Condensed|Beta-Medium|Beta-Light|Semibold)"
    r"|cmun(bmo|bso|bto|obi|obx|oti|ui|vi|tb|xx|bl|bi|bsr|so|si)|RomandeADFStyle|GentiumAlt|InterDisplay"
    r"|Inter-(Light|Semi|Extra|Medium)|Lato-(Medium|Semibold|LightItalic|SemiboldItalic|MediumItalic)"
    r"|Retina|Noto.*(Condensed|Semi|Extra|Medium|Light)|[Ss]pleen|ForkAwesome"
)
"""Weights and cuts that do not occur on ordinary pages, and symbol fonts."""

_NOTO = re.compile(r"/Noto(Sans|Serif)(Mono|Display)?-(Regular|Bold|Italic|BoldItalic)\.ttf$")


@dataclass(frozen=True)
class Face:
    """One usable font file: its name inside the pack, its family, the characters of CHARSET it lacks or shows as
    another."""

    file: str
    family: str
    missing: str


def family_of(path: Path) -> str:
    """Name of the family a font file belongs to, from its name and folder."""
    name, folder = path.name, path.parent.name
    if "RobotoSlab" in name:
        return "robotoslab"
    if "noto" in str(path).lower():
        return name.split("-")[0]
    if folder in _COLLECTIONS:
        return re.split(r"[-_]", name)[0]
    return "Roboto" if "unhinted" in str(path) else folder


_BASES = {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O"}
_PROBE_PX = 40


def base_of(char: str) -> str:
    """The letter without its accent or stroke; the character itself where it has none."""
    return _BASES.get(char) or unicodedata.normalize("NFD", char)[0]


def _drawn(font: ImageFont.FreeTypeFont, char: str) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(char)
    return mask.size, bytes(mask)


def gaps(path: Path) -> str:
    """The characters of CHARSET that a font draws as it draws what it lacks, not at all, or as the letter without its
    accent: some fonts map letters to glyphs that are not theirs."""
    font = ImageFont.truetype(str(path), _PROBE_PX, layout_engine=ImageFont.Layout.BASIC)
    lacking = _drawn(font, "\uffff")
    drawn = {char: _drawn(font, char) for char in CHARSET}
    return "".join(
        char for char, look in drawn.items()
        if look == lacking or not any(look[1]) or (base_of(char) != char and look == drawn[base_of(char)])
    )


def _subset(job: tuple[Path, Path]) -> Face | None:
    """Write the font cut down to CHARSET; None when it lacks a core character or cannot be read."""
    from fontTools import subset
    from fontTools.ttLib import TTFont, TTLibError

    source, target = job
    options = subset.Options()
    options.layout_features = ["kern"]
    options.hinting = False
    options.name_IDs = [1, 2]
    options.notdef_outline = True
    options.glyph_names = False
    try:
        mapped = TTFont(source, lazy=True).getBestCmap() or {}
        if any(ord(char) not in mapped for char in CORE):
            return None
        font = subset.load_font(str(source), options)
        subsetter = subset.Subsetter(options)
        subsetter.populate(text=CHARSET + " ")
        subsetter.subset(font)
        subset.save_font(font, str(target), options)
        unshown = gaps(target)
    except (TTLibError, OSError, KeyError, ValueError, AssertionError, AttributeError) as error:
        print(f"font left out: {source.name}: {error}")
        return None
    return Face(target.name, family_of(source), "".join(c for c in CHARSET if ord(c) not in mapped or c in unshown))


def _candidates(root: Path) -> list[Path]:
    """Font files under a root that are worth trying, one for each file name."""
    found = sorted(p for kind in ("otf", "ttf") for p in root.rglob(f"*.{kind}") if not _UNSUITABLE.search(p.name))
    found = [p for p in found if "noto" not in str(p).lower() or _NOTO.search(str(p))]
    by_name: dict[str, Path] = {}
    for path in found:
        by_name.setdefault(path.name.replace(" ", "").lower(), path)
    return list(by_name.values())


def build(root: Path, out: Path, processes: int = 1) -> dict[str, list[Face]]:
    """Subset every usable font under `root` into `out/fonts` and write `out/fonts/fonts.json` (split -> faces, and the
    characters that were kept)."""
    folder = out / "fonts"
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [(path, folder / path.name.replace(" ", "")) for path in _candidates(root)]
    with ProcessPoolExecutor(processes) as pool:
        faces = [face for face in pool.map(_subset, jobs, chunksize=8) if face]
    split: dict[str, list[Face]] = {"train": [], "test": []}
    for face in faces:
        if face.family.lower() not in HELD_OUT_FAMILIES:
            split["train"].append(face)
        elif face.file.startswith(HELD_OUT_FACES):
            split["test"].append(face)
        else:
            (folder / face.file).unlink()
    listing = {"characters": CHARSET, **{name: [asdict(face) for face in members] for name, members in split.items()}}
    (folder / "fonts.json").write_text(json.dumps(listing, ensure_ascii=False, indent=0), encoding="utf-8")
    return split


def load(pack: Path, split: str) -> list[Face]:
    """Faces of a split from a pack written by `build`; all held-out texts are set in the held-out faces, that of the
    added languages in those that have every letter, if there are any. Characters that a pack was not made for are gaps
    of all its faces."""
    listing = json.loads((pack / "fonts" / "fonts.json").read_text(encoding="utf-8"))
    unknown = "".join(char for char in CHARSET if char not in listing.get("characters", WESTERN))
    faces = [Face(entry["file"], entry["family"], entry["missing"] + unknown)
             for entry in listing["train" if split == "train" else "test"]]
    if split == "added":
        return [face for face in faces if not set(face.missing) & set(ADDED_LETTERS)] or faces
    return faces
