"""Brings the translation files up to date: new texts in, obsolete ones out, .qm made anew.

    python packaging/translations.py

Translate what is then marked "unfinished" in app/leggio/translations/*.ts (Qt Linguist or any editor), run it
again.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import PySide6

ROOT = Path(__file__).parents[1]
TOOLS = Path(PySide6.__file__).parent


def main() -> int:
    sources = [str(f.relative_to(ROOT)) for f in sorted((ROOT / "app" / "leggio").rglob("*.py"))]
    unfinished = 0
    for file in sorted((ROOT / "app" / "leggio" / "translations").glob("*.ts")):
        update = [
            str(TOOLS / "lupdate"),
            *sources,
            "-ts",
            str(file),
            "-locations",
            "none",
            "-no-obsolete",
            "-silent",
        ]
        subprocess.run(update, cwd=ROOT, check=True)
        made = [str(TOOLS / "lrelease"), str(file), "-qm", str(file.with_suffix(".qm")), "-silent"]
        subprocess.run(made, check=True)
        count = file.read_text("utf-8").count('type="unfinished"')
        print(f"{file.name}: {count} texts to translate")
        unfinished += count
    return 1 if unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
