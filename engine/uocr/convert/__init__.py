"""Checkpoints to ``.uocr`` model files.

``convert_checkpoint`` turns a checkpoint folder into a model file; ``python -m uocr.convert`` does so from a
shell.
"""

from uocr.convert.pipeline import RangeNote, Report, convert_checkpoint

__all__ = ["RangeNote", "Report", "convert_checkpoint"]
