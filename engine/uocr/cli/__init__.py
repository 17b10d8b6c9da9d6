"""The command line `uocr`: one command a module, every error one line and one exit code."""

from __future__ import annotations

import contextlib
import os
import sys


def main() -> int:
    """Entry point of the `uocr` program. Whatever is slow to import is imported under its protection."""
    try:
        _hold_descriptors()
        # The threads of numpy's matrix library spin as they start, for longer than a page takes to print; nothing here
        # multiplies matrices in numpy.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        code = _run()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _end("Stopped.", 130)
    except BrokenPipeError:
        # The reader went away; nothing is wrong.
        return _end("", 0)
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        return _end("", 0)  # how rich's own consoles take it
    except OSError as problem:
        if problem.filename is not None:
            raise
        from uocr.errors import OutputFailed
        from uocr.export.target import reason

        return _end(f"uocr: standard output cannot be written: {reason(problem)}.", OutputFailed.exit_code)


def _run() -> int:
    import typer

    from uocr import errors
    from uocr.cli import view
    from uocr.cli.app import build

    command = build(sys.argv[1:])
    try:
        # Not `command.main`: it would end the program at a broken pipe.
        with command.make_context("uocr", sys.argv[1:]) as context:
            result = command.invoke(context)
        return result if isinstance(result, int) else 0
    except typer.Exit as stop:
        return int(stop.exit_code)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except errors.UocrError as problem:
        view.error(problem)
        return problem.exit_code
    except Exception as problem:
        # Usage errors of the argument parser say so themselves; their class is private to typer.
        if not (hasattr(problem, "show") and hasattr(problem, "exit_code")):
            raise
        problem.show()
        return int(problem.exit_code)


def _hold_descriptors() -> None:
    """Closed standard streams keep their numbers, so that no file opened later is taken for one of them.

    Writing to a closed standard output then fails as writing to a full one does.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")


def _end(words: str, code: int) -> int:
    """Say the last words; what standard output still holds must not fail again when the program ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if words:
        with contextlib.suppress(OSError):
            sys.stderr.write(words + "\n")
    return code
