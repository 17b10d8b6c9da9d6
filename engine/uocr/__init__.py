"""uocr: read pictures and PDFs on this machine with an Unlimited-OCR model.

from uocr import UnlimitedOCR
print(UnlimitedOCR().generate("page.png"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .control import Control
from .document import Block, Box, Document, FinishReason, Page, Timings, Token, Word
from .errors import UocrError

__all__ = [
    "Block",
    "Box",
    "Control",
    "Document",
    "FinishReason",
    "Page",
    "ReadSettings",
    "Timings",
    "Token",
    "UnlimitedOCR",
    "UocrError",
    "Word",
]
__version__ = "0.1.0"

if TYPE_CHECKING:
    from .api import UnlimitedOCR
    from .settings import ReadSettings

_AT_FIRST_USE = {"UnlimitedOCR": "uocr.api", "ReadSettings": "uocr.settings"}


def __getattr__(name: str) -> Any:
    """What needs numpy or the engine is imported at first use: the rest loads at once, and without native code."""
    if name in _AT_FIRST_USE:
        return getattr(import_module(_AT_FIRST_USE[name]), name)
    raise AttributeError(f"module 'uocr' has no attribute {name!r}")
