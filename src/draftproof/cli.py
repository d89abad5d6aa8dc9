"""The command line: see ``draftproof --help``; each command is a file of ``draftproof.commands``."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from draftproof import __version__
from draftproof.commands import COMMANDS
from draftproof.commands.common import EPILOG, USAGE_ERROR, Command, complain


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="draftproof", description="Is this speculative-decoding verifier lossless, and does it accept what it should?", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=f"draftproof {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Command)
    for name in COMMANDS:
        import_module(f"draftproof.commands.{name}").add(commands)
    options = parser.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter still gets the report
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except OSError as error:
        with suppress(OSError, ValueError):  # what is still to be printed goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader closed the pipe; nothing more to say
            return USAGE_ERROR
        return complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
