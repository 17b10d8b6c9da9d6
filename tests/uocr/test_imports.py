"""What is loaded to read a picture: a page is read in less time than some libraries take to load."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import SAMPLES

SCRIPT = """
import sys
from uocr.cli import main
sys.argv = ["uocr", "read", {page!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sorted(sys.modules), file=sys.stderr)
"""


def test_reading_a_picture_loads_no_library_of_downloads_pdf_or_documents() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(page=str(SAMPLES / "screenshot.png"))],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "uocr" in loaded and "PIL" in loaded
    assert not loaded & {"huggingface_hub", "httpx2", "pymupdf", "docx", "ziamath", "torch"}
    assert not loaded & {"pydantic", "pycparser", "urllib.request", "uocr.convert", "uocr.cli.manage"}
    assert "PIL.TiffImagePlugin" not in loaded, "a PNG is recognised before the decoders of rarer formats are loaded"
