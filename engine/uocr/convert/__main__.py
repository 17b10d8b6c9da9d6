"""``python -m uocr.convert SRC DST --profile q8``: convert a checkpoint folder from a shell."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from uocr.convert.pipeline import convert_checkpoint
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
    print("\n".join(report.lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
