"""The command line `uocr`: one command a module, every error one line and one exit code."""

from __future__ import annotations

import os
import sys

from uocr import errors
from uocr.cli import view


def main() -> int:
    """Entry point of the `uocr` program."""
    import typer

    from uocr.cli.app import app

    try:
        result = typer.main.get_command(app).main(standalone_mode=False)
        return result if isinstance(result, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, typer.Abort):
        view.err.print("Stopped.")
        return errors.Cancelled.exit_code
    except errors.UocrError as problem:
        view.error(problem)
        return problem.exit_code
    except BrokenPipeError:
        # The reader went away; nothing is wrong. What is still buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as problem:
        # Usage errors of the argument parser say so themselves; their class is private to typer.
        if not (hasattr(problem, "show") and hasattr(problem, "exit_code")):
            raise
        problem.show()
        return int(problem.exit_code)
