"""The command line `uocr`: one command a module, every error one line and one exit code."""

from __future__ import annotations

import sys

from uocr import errors
from uocr.cli import view


def main() -> int:
    """Entry point of the `uocr` program."""
    import click
    import typer

    from uocr.cli.app import app

    try:
        result = typer.main.get_command(app).main(standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):
        view.err.print("Stopped.")
        return errors.Cancelled.exit_code
    except errors.UocrError as problem:
        view.err.print(f"uocr: {problem}", markup=False, style="red")
        if isinstance(problem, errors.OverBudget) and problem.estimate:
            view.err.print(view.memory_table(problem.estimate, {}))
        return problem.exit_code
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away; nothing is wrong
        return 0
