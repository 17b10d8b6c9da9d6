"""The C interface as a program of another version, or a careless one, would call it."""

from __future__ import annotations

import pytest
from uocr import native

from tests.conftest import BUILT_IN


def test_a_struct_cut_inside_a_pointer_is_read_without_it() -> None:
    native.library()
    path = native.ffi.new("char[]", str(BUILT_IN).encode())
    out, error = native.ffi.new("uocr_engine **"), native._new("uocr_error")
    options = native._new("uocr_engine_options", model_path=path)
    place = native.ffi.offsetof("uocr_engine_options", "model_path")
    for size in range(place + 1, place + 8):
        options.size = size
        assert native.lib.uocr_engine_open(options, out, error) == 1  # invalid argument: no path
    options.size = native.ffi.sizeof("uocr_engine_options")
    assert native.lib.uocr_engine_open(options, out, error) == 0
    native.lib.uocr_engine_close(out[0])


@pytest.mark.parametrize("pointer", ["prompt_ids", "guard_allow"])
def test_a_plan_cut_inside_a_pointer_is_refused_or_read_without_it(pointer: str) -> None:
    with native.Engine(BUILT_IN) as engine:
        built = native._plan(native.Plan([0, *[2035] * 273, 7], guard_allow=(5,)))
        out, error = native._new("uocr_memory_estimate"), native._new("uocr_error")
        place = native.ffi.offsetof("uocr_plan", pointer)
        for size in range(place + 1, place + 8):
            built.struct.size = size
            assert native.lib.uocr_estimate(engine.handle, built.struct, out, error) != 0
