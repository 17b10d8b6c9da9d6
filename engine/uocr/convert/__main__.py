"""``python -m uocr.convert SRC DST --profile q8``: convert a checkpoint folder from a shell."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from uocr.convert.pipeline import Report, convert_checkpoint
from uocr.errors import UocrError
from uocr.modelfile import PROFILES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m uocr.convert",
                                     description="Checkpoint folder to .uocr file.")
    parser.add_argument("src", type=Path, help="folder with config.json and *.safetensors")
    parser.add_argument("dst", type=Path, help="model file to write")
    parser.add_argument("--profile", choices=PROFILES, default="q8")
    parser.add_argument("--overwrite", action="store_true", help="replace DST if it exists")
    options = parser.parse_args()
    try:
        report = convert_checkpoint(options.src, options.dst, options.profile, overwrite=options.overwrite)
    except UocrError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print_report(report)
    return 0


def print_report(report: Report) -> None:
    """The report in plain lines."""
    types = ", ".join(f"{count} {dtype}" for dtype, count in sorted(report.dtypes.items()))
    print(f"{report.file_bytes:,} bytes, model {report.model_id[:16]}, {report.source_tensors} source "
          f"tensors ({types})")
    for note in report.kept_f32:
        print(f"kept in f32: {note.tensor} ({note.overflow} values beyond f16, greatest {note.greatest:g})")
    if report.lossy:
        fewer = sum(note.subnormal for note in report.lossy)
        zero = sum(note.flushed for note in report.lossy)
        print(f"small values: in {len(report.lossy)} tensors f16 holds {fewer} with fewer bits and rounds "
              f"{zero} to 0")
    for remark in report.remarks:
        print(f"config.json: {remark}")


if __name__ == "__main__":
    sys.exit(main())
