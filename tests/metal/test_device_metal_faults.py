"""Faults put into the Metal device's source: its test over the mock notices each of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import metal_device
import pytest
from host_device import kernels
from test_device_metal import ALONE, ENVIRONMENT, HERE, SANITIZERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not kernels.compiler(), reason=kernels.HOW_TO_GET_IT),
]
FAULTS = {
    "pipelines are kept at the end": (
        "        for (size_t i = 0; i < GPU_MOST_PIPELINES; i++) m->pipeline[i] = nil;\n",
        "",
    ),
    "views are kept at the end": ("        for (size_t i = 0; i < m->views; i++) m->view_buffer[i] = nil;\n", ""),
    "the queue is kept at the end": ("        m->queue = nil;\n", ""),
    "the archive is kept at the end": ("        m->archive = nil;\n", ""),
    "the activity outlives the device": ("        gpu_awake_close(m->awake);\n", ""),
    "waiting is not work": (
        "    gpu_awake_wait(m->awake, 1);\n    [buffer waitUntilCompleted];\n    gpu_awake_wait(m->awake, -1);\n",
        "    [buffer waitUntilCompleted];\n",
    ),
    "copies run without an activity": (
        "    gpu_awake_touch(m->awake);\n    [commands commit];",
        "    [commands commit];",
    ),
    "dispatches run without an activity": (
        "    gpu_awake_touch(m->awake);\n    return UOCR_OK;",
        "    return UOCR_OK;",
    ),
    "an encoder is dropped open": ("    end_encoder(m);\n    m->open = nil;\n}", "    m->open = nil;\n}"),
    "a product is encoded into an open encoder": ("        end_encoder(m);\n        gpu_mps", "        gpu_mps"),
    "finished command buffers are kept": (
        "        m->flying[m->finished++ % IN_FLIGHT] = nil;",
        "        m->finished++;",
    ),
    "nothing limits what is underway": (
        "if (m->open && m->submissions - m->finished == IN_FLIGHT) status = wait_through(m, m->finished + 1);",
        "",
    ),
    "the host waits at every commit": ("    [m->open commit];", "    [m->open commit]; [m->open waitUntilCompleted];"),
    "one submission is waited for with all": (
        "wait_through(metal_of(device), number)",
        "wait_through(metal_of(device), UINT64_MAX)",
    ),
    "work goes on after a failure": ("    if (status != UOCR_OK) drop_all(m);\n", ""),
    "a failure is not told": (
        "return status == UOCR_OK ? wait_through(metal_of(device), UINT64_MAX) : status;",
        "return wait_through(metal_of(device), UINT64_MAX), UOCR_OK;",
    ),
    "a lost device is not remembered": ("    m->lost |= gpu_is_lost(error.code);\n", ""),
    "a lost device is asked all the same": ("    if (m->lost) return failed", "    if (0) return failed"),
    "shared memory is not zeroed": ("        memset(memory->buffer.contents, 0, length);\n", ""),
    "private memory is not zeroed": (
        "    [encoder fillBuffer:memory->buffer range:NSMakeRange(0, length) value:0];\n",
        "",
    ),
    "a copy begins inside a word": ("begin = at / 4 * 4", "begin = at"),
    "a copy ends inside a word": ("whole = (at + count + 3) / 4 * 4 - begin", "whole = count"),
    "a write loses the rest of its words": (
        "status = blit(m, memory->buffer, begin, staging, 0, whole);",
        "status = target ? blit(m, memory->buffer, begin, staging, 0, whole) : UOCR_OK;",
    ),
    "buffers may be of any length": ("        if (length <= m->device.maxBufferLength)\n", ""),
    "weights lie at the beginning of their view": (
        "*offset = view ? (size_t)(at - view->offset) : 0;",
        "*offset = 0;",
    ),
    "views are tracked": (" | MTLResourceHazardTrackingModeUntracked", ""),
    "fast mathematics": ("options.fastMathEnabled = NO;", "options.fastMathEnabled = YES;"),
    "any version of the language": ("    options.languageVersion = MTLLanguageVersion3_0;\n", ""),
    "a damaged archive is asked for again": ("        wanted.url = nil;\n", ""),
    "half an archive is left": ("        unlink(partial);", "        (void)partial;"),
    "the archive is written at every run": ("if (!state) m->archive_grew |=", "m->archive_grew |="),
    "the archive is not asked": ("        if (m->archive_read) state = ", "        if (0) state = "),
    "the compiler is not told of threads": (
        "    wanted.maxTotalThreadsPerThreadgroup = d->threads; /* the compiler keeps to registers for so many */\n",
        "",
    ),
    "overlapping command buffers count twice": (
        "if (end > begin) m->busy += end - begin, m->last_end = end;",
        "m->busy += buffer.GPUEndTime - buffer.GPUStartTime, (void)begin, (void)end;",
    ),
    "dispatches have no pool": (
        "    @autoreleasepool {\n        id<MTLComputePipelineState> state = pipeline_for(m, d);",
        "    {\n        id<MTLComputePipelineState> state = pipeline_for(m, d);",
    ),
    "threadgroup memory has no limit": ("        if (threadgroup > most)", "        if (0)"),
    "the table of pipelines has no end": ("m->pipelines == GPU_MOST_PIPELINES - 1", "0"),
}


@pytest.fixture(scope="module")
def others() -> list[Path]:
    """All but the device itself."""
    mock = [path for path in metal_device.MOCK if path.name != "host.c"]
    files = [metal_device.BESIDE, *mock, HERE / "test_device_metal.c", *ALONE]
    return [metal_device.compiled(path, SANITIZERS) for path in files]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str, others: list[Path], tmp_path: Path) -> None:
    right, wrong = FAULTS[fault]
    source = metal_device.METAL.read_text()
    assert source.count(right) == 1, "the source has changed: so must the fault"
    changed = tmp_path / "device_metal.m"
    changed.write_text(source.replace(right, wrong))
    target, program = tmp_path / "device.o", tmp_path / "test"
    flags = (*SANITIZERS, f"-I{metal_device.METAL.parent}", "-Wno-error")
    metal_device.finished([*metal_device.command_for(changed, flags), "-c", changed, "-o", target], fault)
    metal_device.finished([*metal_device.clang(), *SANITIZERS, *others, target, "-o", program, "-lm", "-ldl"], fault)
    (tmp_path / "folder").mkdir()
    try:
        done = subprocess.run(
            [program, tmp_path / "folder"],
            env={**os.environ, **ENVIRONMENT},
            capture_output=True,
            check=False,
            timeout=60,
        )
    except subprocess.TimeoutExpired:
        return
    assert done.returncode != 0, done.stdout.decode()
