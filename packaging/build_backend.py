"""Build backend: scikit-build-core, plus a compiler from PyPI where the machine has none.

PEP 517 hooks are passed through unchanged. When neither $CC nor cc, gcc or clang is found, the PyPI package ziglang
(a clang with its own C library headers) joins the build requirements and becomes $CC.
"""

import os
import shutil
import sys

from scikit_build_core import build as _build
from scikit_build_core.build import *  # noqa: F403  every hook this file does not wrap

ZIG = "ziglang==0.17.1"


def _has_compiler() -> bool:
    return bool(os.environ.get("CC")) or any(shutil.which(name) for name in ("cc", "gcc", "clang"))


def _requires(hook):
    def get_requires(config_settings=None):
        return list(hook(config_settings)) + ([] if _has_compiler() else [ZIG])

    return get_requires


def _builds(hook):
    def build(*args, **kwargs):
        if not _has_compiler():
            # baseline: the wheel must run on other processors than this one
            os.environ["CC"] = f"{sys.executable} -m ziglang cc -mcpu=baseline"
        return hook(*args, **kwargs)

    return build


get_requires_for_build_wheel = _requires(_build.get_requires_for_build_wheel)
get_requires_for_build_editable = _requires(_build.get_requires_for_build_editable)
build_wheel = _builds(_build.build_wheel)
build_editable = _builds(_build.build_editable)
