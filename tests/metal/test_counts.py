"""One token and one view of the full model, counted by a device that runs nothing; its error paths."""

from __future__ import annotations

import re
import subprocess

import pytest
from host_device import ENGINE, GPU, GROUND, HERE, compiler, program

pytestmark = pytest.mark.skipif(not compiler(), reason="no C compiler: install one, or ziglang from PyPI")


MODEL = ["decoder", "sam", "clip", "fuse", "positions", "tensors"]


def test_a_token_takes_at_most_90_dispatches_and_reads_each_active_weight_once() -> None:
    device = [path for path in GPU if path.name != "device_host.c"]
    sources = [HERE / "test_full_model.c", *device, *GROUND, *(ENGINE / f"{name}.c" for name in MODEL)]
    done = subprocess.run(
        [program("test_full_model", sources)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    token = re.search(r"a token: (\d+) dispatches, (\d+) command buffers", done.stdout)
    assert token and int(token[1]) <= 90 and int(token[2]) <= 2
    ahead = re.search(r"a token ahead: (\d+) dispatches, (\d+) command buffers", done.stdout)
    assert ahead and int(ahead[1]) <= 90 and int(ahead[2]) <= 2
    assert re.search(r"a view: \d+ dispatches", done.stdout)
