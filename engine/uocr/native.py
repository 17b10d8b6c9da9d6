"""The engine as Python objects: a thin, complete layer over `uocr.h` (and `uocr_inspect.h` for checks).

Nothing here knows pictures, tokenizers or files other than the model file. cffi in ABI mode releases the interpreter
lock during every native call; there are no callbacks. Structs are filled by name so that this file reads like the
header.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import errors

_LIBRARY_NAMES = ("libuocr.so", "libuocr.dylib")


def _load() -> tuple[Any, Any]:
    try:
        # generated at build time, installed beside the library
        _declarations: Any = importlib.import_module("uocr._declarations")
    except ImportError as error:
        raise errors.EngineMissing(
            "The native library libuocr is not built; run `make demo` or `pip install .` in the source folder."
        ) from error
    ffi = _declarations.ffi
    folder = Path(_declarations.__file__).parent
    for name in _LIBRARY_NAMES:
        if (folder / name).is_file():
            library = ffi.dlopen(str(folder / name))
            break
    else:
        raise errors.EngineMissing(f"No {' or '.join(_LIBRARY_NAMES)} in {folder}; reinstall the package.")
    wanted = _declarations.MACROS["UOCR_ABI_VERSION"]
    found = library.uocr_abi_version()
    if found != wanted:
        raise errors.EngineMissing(
            f"{folder / name} has interface version {found}, this package needs {wanted}; reinstall the package."
        )
    return ffi, library


ffi: Any = None
lib: Any = None
_load_lock = threading.Lock()


def library() -> Any:
    """The loaded library (cffi). Loaded once, at first use, so that importing uocr needs no native code."""
    global ffi, lib
    with _load_lock:
        if lib is None:
            ffi, lib = _load()
    return lib


def version() -> str:
    library()
    return ffi.string(lib.uocr_version()).decode()


def memory_categories() -> tuple[str, ...]:
    """Names of the memory categories, in the order of every table."""
    library()
    count = len(ffi.new("uocr_memory_report *").current)
    return tuple(ffi.string(lib.uocr_memory_category_name(i)).decode() for i in range(count))


PHASES = ("vision", "prefill", "decode", "done")
FINISHES = ("none", "eos", "length", "loop", "cancelled", "error")
NEED_VIEW, PROGRESS, TOKEN, DONE = range(4)
PROFILE_COUNTS = 2
"""Engine(profile=...): operators are counted and not timed; True times them."""

_ERROR_CLASSES: dict[int, type[errors.UocrError]] = {
    1: errors.InvalidRequest,
    2: errors.ModelFileError,
    3: errors.OverBudget,
    4: errors.EngineError,
    5: errors.EngineBusy,
    6: errors.EngineError,
    7: errors.NonFiniteError,
    8: errors.EngineError,
    9: errors.Cancelled,
}


def _new(kind: str, **fields: Any) -> Any:
    """A C struct with its `size` field set."""
    struct = ffi.new(f"{kind} *")
    struct.size = ffi.sizeof(kind)
    for name, value in fields.items():
        try:
            setattr(struct, name, value)
        except (OverflowError, TypeError):
            raise errors.InvalidRequest(f"{name} is {value!r}; give a whole number that is not negative.") from None
    return struct


def _ids(name: str, ids: Sequence[int]) -> Any:
    """An int32 array; InvalidRequest for what is no token id."""
    try:
        return ffi.new("int32_t[]", list(ids))
    except (OverflowError, TypeError):
        raise errors.InvalidRequest(f"{name} must be a list of token ids, whole numbers below 2,147,483,648.") from None


def _check(status: int, error: Any, estimate: MemoryEstimate | None = None) -> None:
    if status == 0:
        return
    message = ffi.string(error.message).decode("utf-8", "replace") or f"The engine failed with status {status}."
    cls = _ERROR_CLASSES.get(status, errors.EngineError)
    if cls is errors.OverBudget:
        categories, most = (estimate.category, estimate.most_pages_that_fit) if estimate else (None, 0)
        raise errors.OverBudget(message, categories, int(error.number), int(error.limit), most)
    raise cls(message)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What an open engine says of its model and of itself. Sizes in bytes."""

    profile: str
    vocab_size: int
    usable_vocab: int
    bos_id: int
    eos_id: int
    pad_id: int
    image_id: int
    hidden_size: int
    layers: int
    heads: int
    head_dim: int
    experts: int
    experts_per_token: int
    max_positions: int
    ring_window: int
    threads: int
    backend: str
    simd: str
    file_bytes: int
    parameters: int
    budget: int
    model_id: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Counts of one request; field by field `uocr_plan`."""

    prompt_ids: Sequence[int]
    pages: int = 1
    global_size: int = 1024
    crop_cols: int = 0
    crop_rows: int = 0
    max_new_tokens: int = 0
    ring_window: int = 0
    ignore_eos: bool = False
    allow_padding_ids: bool = False
    ngram_size: int = 35
    ngram_window: int = 128
    guard_allow: Sequence[int] = ()
    loop_guard_hits: int = 8
    loop_history: int = 256
    loop_period_max: int = 94
    ngram_cycle: int = 0


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Peak bytes by category, promised before a run."""

    fits: bool
    category: dict[str, int]
    vision_peak: int
    decoder_peak: int
    total: int
    budget: int
    visual_rows: int
    max_new_tokens: int
    views: int
    most_pages_that_fit: int


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Bytes held now and at the peak since the last run began."""

    current: dict[str, int]
    peak: dict[str, int]
    current_total: int
    peak_total: int
    budget: int


class Event(NamedTuple):
    """One step's outcome; see `uocr_event`."""

    kind: int
    phase: str
    finish: str
    done: int
    total: int
    view: int
    token: int
    guard_acted: bool
    logprob: float
    vision_s: float
    prefill_s: float
    decode_s: float


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One operator in one phase: calls, seconds, bytes of weights and cache read, floating-point operations."""

    name: str
    calls: int
    seconds: float
    bytes: int
    flops: float


@dataclass(slots=True)
class _PlanStruct:
    struct: Any
    keep: list[Any] = field(default_factory=list)  # arrays the struct points to


class Engine:
    """An open model. One run at a time; every method may be called from any thread, but only one at a time."""

    def __init__(
        self,
        path: Path | str,
        *,
        precision: str = "fast",
        threads: int = 0,
        memory_budget: int = 0,
        backend: str = "auto",
        simd: str = "auto",
        profile: int = 0,
    ) -> None:
        library()
        choices = {
            "backend": ("auto", "cpu", "metal"),
            "precision": ("fast", "exact", "integer"),
            "simd": ("auto", "portable", "baseline"),
        }
        picked = {"backend": backend, "precision": precision, "simd": simd}
        for name, value in picked.items():
            if value not in choices[name]:
                raise errors.InvalidRequest(f"{name} is {value!r}; choose one of {', '.join(choices[name])}.")
        name = ffi.new("char[]", str(path).encode())
        options = _new(
            "uocr_engine_options",
            threads=threads,
            memory_budget=memory_budget,
            model_path=name,
            profile=int(profile),
            **{k: choices[k].index(v) for k, v in picked.items()},
        )
        out, error = ffi.new("uocr_engine **"), _new("uocr_error")
        _check(lib.uocr_engine_open(options, out, error), error)
        self._engine: Any = out[0]
        self.path = Path(path)

    def close(self) -> None:
        if self._engine is not None:
            lib.uocr_engine_close(self._engine)
            self._engine = None

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def handle(self) -> Any:
        if self._engine is None:
            raise errors.EngineError(f"The engine of {self.path.name} is closed; open it again.")
        return self._engine

    def info(self) -> ModelInfo:
        out, error = _new("uocr_model_info"), _new("uocr_error")
        _check(lib.uocr_engine_info(self.handle, out, error), error)
        numbers = {
            f: int(getattr(out, f))
            for f in ModelInfo.__dataclass_fields__
            if f not in ("profile", "backend", "simd", "model_id")
        }
        return ModelInfo(
            profile=("f32", "f16", "q8", "q4")[out.profile],
            backend=ffi.string(out.backend).decode(),
            simd=ffi.string(out.simd).decode(),
            model_id=bytes(out.model_id).hex(),
            **numbers,
        )

    def text(self, which: int) -> bytes:
        """Section 2 (front end), 4 (tokenizer) or 5 (provenance) of the model file."""
        count = ffi.new("size_t *")
        data = lib.uocr_engine_text(self.handle, which, count)
        return bytes(ffi.buffer(data, count[0])) if data != ffi.NULL else b""

    def verify(self) -> None:
        """Checks every payload hash (reads the whole file)."""
        error = _new("uocr_error")
        _check(lib.uocr_engine_verify(self.handle, error), error)

    def estimate(self, plan: Plan) -> MemoryEstimate:
        built, out, error = _plan(plan), _new("uocr_memory_estimate"), _new("uocr_error")
        _check(lib.uocr_estimate(self.handle, built.struct, out, error), error)
        return MemoryEstimate(
            fits=bool(out.fits),
            category=_categories(out.category),
            **{f: int(getattr(out, f)) for f in MemoryEstimate.__dataclass_fields__ if f not in ("fits", "category")},
        )

    def memory(self) -> MemoryReport:
        out = _new("uocr_memory_report")
        lib.uocr_engine_memory(self.handle, out)
        return MemoryReport(
            _categories(out.current),
            _categories(out.peak),
            int(out.current_total),
            int(out.peak_total),
            int(out.budget),
        )

    def profile(self) -> list[ProfileRow]:
        """Rows since open or the last reset, most time first."""
        out = _new("uocr_profile_report")
        lib.uocr_engine_profile(self.handle, out)
        rows = [
            ProfileRow(ffi.string(r.name).decode(), int(r.calls), r.seconds, int(r.bytes), r.flops)
            for r in out.row[0 : out.count]
        ]
        return sorted(rows, key=lambda r: -r.seconds)

    def profile_reset(self) -> None:
        lib.uocr_engine_profile_reset(self.handle)

    def layout(self, plan: Plan) -> np.ndarray:
        """int32 [visual_rows, 3]: where every visual row comes from (see uocr_inspect_layout)."""
        built, error, count = _plan(plan), _new("uocr_error"), ffi.new("size_t *")
        _check(lib.uocr_inspect_layout(self.handle, built.struct, ffi.NULL, 0, count, error), error)
        out = np.empty((count[0] // 3, 3), np.int32)
        _check(
            lib.uocr_inspect_layout(
                self.handle, built.struct, ffi.cast("int32_t *", out.ctypes.data), out.size, count, error
            ),
            error,
        )
        return out

    def begin(self, plan: Plan) -> Run:
        return Run(self, plan)


def pixel_table() -> np.ndarray:
    """float32 [256]: the normalised value of every byte, as the engine uses it."""
    library()
    out = np.empty(256, np.float32)
    lib.uocr_inspect_pixel_table(ffi.cast("float *", out.ctypes.data))
    return out


class Run:
    """One request in progress: step it until DONE, then end it. A context manager ends it."""

    def __init__(self, engine: Engine, plan: Plan) -> None:
        built, out, error = _plan(plan), ffi.new("uocr_run **"), _new("uocr_error")
        status = lib.uocr_run_begin(engine.handle, built.struct, out, error)
        _check(status, error, engine.estimate(plan) if status == 3 else None)
        self._run: Any = out[0]
        self._error = error
        self._event = _new("uocr_event")
        self._lock = threading.Lock()  # a cancel from another thread must not meet an ended run

    def step(self) -> Event:
        e = self._event
        _check(lib.uocr_run_step(self._run, e, self._error), self._error)
        return Event(
            e.kind,
            PHASES[e.phase],
            FINISHES[e.finish],
            e.done,
            e.total,
            e.view,
            e.token,
            bool(e.guard_acted),
            e.logprob,
            e.vision_s,
            e.prefill_s,
            e.decode_s,
        )

    def events(self) -> Iterator[Event]:
        """Steps to the end; the caller feeds views in between. The last event is DONE."""
        while True:
            event = self.step()
            yield event
            if event.kind == DONE:
                return

    def feed(self, view: int, pixels: np.ndarray) -> None:
        """uint8 [size, size, 3] RGB for view number `view`; copied before this returns."""
        pixels = np.ascontiguousarray(pixels, np.uint8)
        height, width, _ = pixels.shape
        _check(
            lib.uocr_run_feed_view(
                self._run, view, ffi.from_buffer("uint8_t[]", pixels), width, height, 0, self._error
            ),
            self._error,
        )

    def cancel(self) -> None:
        """From any thread: the step in flight returns within one tile of work (about 20 ms)."""
        with self._lock:
            if self._run is not None:
                lib.uocr_run_cancel(self._run)

    def end(self) -> None:
        with self._lock:
            if self._run is not None:
                lib.uocr_run_end(self._run)
                self._run = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    # -- inspection (uocr_inspect.h) --

    def capture(self, *stages: str) -> None:
        for stage in stages:
            _check(lib.uocr_inspect_capture(self._run, stage.encode(), self._error), self._error)

    def fetch(self, stage: str, index: int = 0) -> np.ndarray:
        """float32 array of a captured stage, in its own shape."""
        count, rank, shape = ffi.new("size_t *"), ffi.new("uint32_t *"), ffi.new("uint32_t[4]")
        name = stage.encode()
        _check(
            lib.uocr_inspect_fetch(self._run, name, index, ffi.NULL, 0, count, rank, shape, self._error), self._error
        )
        out = np.empty(count[0], np.float32)
        _check(
            lib.uocr_inspect_fetch(
                self._run, name, index, ffi.cast("float *", out.ctypes.data), out.size, count, rank, shape, self._error
            ),
            self._error,
        )
        return out.reshape(tuple(shape[0 : rank[0]]))

    def all_logits(self) -> None:
        _check(lib.uocr_inspect_all_logits(self._run, self._error), self._error)

    def set_rows(self, rows: np.ndarray) -> None:
        """float32 [visual_rows, hidden] instead of encoding views."""
        rows = np.ascontiguousarray(rows, np.float32)
        _check(
            lib.uocr_inspect_set_rows(self._run, ffi.cast("float *", rows.ctypes.data), rows.size, self._error),
            self._error,
        )

    def force_token(self, token: int) -> None:
        _check(lib.uocr_inspect_force_token(self._run, token, self._error), self._error)

    def bans(self) -> list[int]:
        """Ids banned by the repeat guard in the newest step, ascending."""
        out, count = ffi.new("int32_t[]", 1024), ffi.new("size_t *")
        _check(lib.uocr_inspect_bans(self._run, out, 1024, count, self._error), self._error)
        return list(out[0 : count[0]])


def _categories(values: Any) -> dict[str, int]:
    return {name: int(values[i]) for i, name in enumerate(memory_categories())}


def _plan(plan: Plan) -> _PlanStruct:
    ids = _ids("prompt_ids", plan.prompt_ids)
    allow = _ids("guard_allow", plan.guard_allow) if plan.guard_allow else ffi.NULL
    struct = _new(
        "uocr_plan",
        prompt_ids=ids,
        prompt_count=len(plan.prompt_ids),
        guard_allow=allow,
        guard_allow_count=len(plan.guard_allow),
        **{f: int(getattr(plan, f)) for f in Plan.__dataclass_fields__ if f not in ("prompt_ids", "guard_allow")},
    )
    return _PlanStruct(struct, [ids, allow])
