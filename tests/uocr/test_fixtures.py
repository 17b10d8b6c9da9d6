"""The table of faulty files and the files agree."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "fixtures" / "README.md"


def test_the_table_lists_every_file_once(files: dict[str, Path]):
    listed = re.findall(r"^\| `([^`]+)` \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(files)
