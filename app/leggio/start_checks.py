"""What is looked at before there is a window, so that a start that cannot work ends with one line."""

from __future__ import annotations

import os
import re
import socket
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import fields
from typing import Final

from uocr.errors import InvalidRequest, UnreadableFile, UocrError
from uocr.flags import with_flags
from uocr.settings import ReadSettings

from leggio.settings.table import RANGES, WindowSettings, given

_NEED_A_DISPLAY: Final = ("", "xcb", "wayland", "wayland-egl")
"""Qt's platforms on Linux that draw on a display server; "" lets Qt choose one of them."""
_LOCAL_DISPLAY: Final = re.compile(r"(?:unix)?:(\d+)(?:\.\d+)?")


class NoDisplay(UocrError):
    """There is nothing to show a window on."""

    exit_code = 2


def check_options(options: Namespace) -> None:
    """Refuse values of the command line that make no sense. Raises InvalidRequest, UnreadableFile."""
    if "" in options.files:  # a variable that is not set; as a path it would mean the current folder
        raise UnreadableFile('The name of an input is empty; name a file, or "." for the current folder.')
    window = given(options, WindowSettings)
    for name, (least, most) in RANGES.items():
        if not least <= window.get(name, least) <= most:
            raise InvalidRequest(f"{name} is {window[name]}; choose {least} to {most}.")
    if budget := window.get("memory_budget"):
        from uocr.api import parse_budget  # slow to import, and seldom asked for

        parse_budget(budget)
    ReadSettings().with_changes(given(options, ReadSettings))


def in_flags(problem: UocrError) -> str:
    """Words for why there is no start; a setting of the command line has the name of its flag."""
    return with_flags(str(problem), (f.name for table in (WindowSettings, ReadSettings) for f in fields(table)))


def check_display(environment: Mapping[str, str], system: str = sys.platform) -> None:
    """Raises NoDisplay where Qt would end the program because no display answers."""
    platform = re.split("[:;]", environment.get("QT_QPA_PLATFORM", ""))[0]
    if not system.startswith("linux") or platform not in _NEED_A_DISPLAY:
        return
    x11, wayland = environment.get("DISPLAY", ""), environment.get("WAYLAND_DISPLAY", "")
    if environment.get("WAYLAND_SOCKET"):
        return
    if not x11 and not wayland:
        raise NoDisplay("There is no display to show a window on (DISPLAY and WAYLAND_DISPLAY are not set); "
                        "start it on a desktop, or read with `uocr read`.")
    folder = environment.get("XDG_RUNTIME_DIR", "")
    if not (wayland and _answers(os.path.join(folder, wayland))) and not (x11 and _x11_answers(x11)):
        named = " and ".join(name for name in (f"DISPLAY={x11}" if x11 else "",
                                               f"WAYLAND_DISPLAY={wayland}" if wayland else "") if name)
        raise NoDisplay(f"No display answers at {named}; start it on a desktop, or read with `uocr read`.")


def _x11_answers(display: str) -> bool:
    """Whether a local X server listens; of one on another machine only Qt can tell."""
    local = _LOCAL_DISPLAY.fullmatch(display)
    if local is None:
        return True
    path = f"/tmp/.X11-unix/X{local[1]}"
    return _answers("\0" + path) or _answers(path)


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(path)
        except (OSError, ValueError):
            return False
    return True
