"""Files that a pack lists: one that is missing or broken ends the work with a sentence that names it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_MEND = "copy the whole pack again, or make it with python -m training.collect"


def require(folder: Path, names: Iterable[str], listing: str) -> None:
    """SystemExit when a file that `listing` in the folder names is not there."""
    for name in names:
        if not (folder / name).is_file():
            raise SystemExit(f"{folder / name} is missing although {folder / listing} names it; {_MEND}")


def broken(path: Path, what: object) -> SystemExit:
    """What to raise for a file that is not as it should be."""
    return SystemExit(f"{path} cannot be used ({what}); {_MEND}")
