"""UnlimitedOCR: read pictures and PDFs with one object.

    from uocr import UnlimitedOCR
    print(UnlimitedOCR().generate("page.png"))

Thread-safe: pages are prepared outside the lock, native work is serialised, `close` waits for the page in progress.
Several instances share the mapped weights.
"""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import errors, events, models, native
from .advice import raise_budget
from .control import Control
from .document import Document, FinishReason, Page
from .modelfile import ModelFile
from .reading import Reader
from .settings import ReadSettings
from .sources import Limits, PageImage, Source, open_source
from .tokenizer import Tokenizer

_SIZE_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_LEAST_BUDGET = 10**6


def parse_bytes(text: str | int) -> int:
    """Bytes from an int or from text such as "4 GB" or "512MiB". InvalidRequest says what was wrong."""
    if isinstance(text, int) and 0 <= text < 2**63:
        return text
    if not isinstance(text, str):
        raise errors.InvalidRequest(f'The size {text!r} is not a number of bytes such as "4 GB" or "512 MiB".')
    number, unit = text.strip(), ""
    while number and not (number[-1].isdigit() or number[-1] == "."):
        number, unit = number[:-1], number[-1] + unit
    try:
        return parse_bytes(int(float(number) * _SIZE_UNITS[unit.strip().upper()]))
    except (ValueError, KeyError, OverflowError):
        raise errors.InvalidRequest(
            f'The size {text!r} is not a number of bytes such as "4 GB" or "512 MiB".'
        ) from None


def parse_budget(text: str | int) -> int:
    """`parse_bytes` for a memory budget: 0 (the default) or at least 1 MB, since less is a unit that was forgotten."""
    budget = parse_bytes(text)
    if 0 < budget < _LEAST_BUDGET:
        raise errors.InvalidRequest(
            f'The memory budget {str(text)!r} is {budget:,} bytes, and no model fits into that; give it with a unit, '
            'such as "512 MB" or "4 GB".'
        )
    return budget


def _model_over_budget(model: str | Path | None, profile: str, refused: errors.OverBudget) -> errors.OverBudget:
    """The refusal of a model that alone is larger than the budget, with advice that can be followed."""
    built_in = model is None or str(model) == models.BUILT_IN
    name = "The built-in model" if built_in else f"The model {Path(model or '').name}"
    needed, budget = refused.needed, refused.budget
    return errors.OverBudget(
        f"{name} alone takes {needed / 1e6:.1f} MB and the memory budget is {budget / 1e6:.1f} MB. "
        + raise_budget(profile, built_in=built_in),
        {"model views": needed},
        needed,
        budget,
    )


class UnlimitedOCR:
    """One model, ready to read.

    model: None or "built-in", a name that was pulled ("baidu/Unlimited-OCR") or the path of a .uocr file.
    quant: f16, q8 or q4 of a named model. memory_budget: bytes or "4 GB" for everything, the model included;
    0 takes 80 % of this machine's memory. precision: "exact" repeats the reference arithmetic; "integer" multiplies in
    8 bits wherever weights have 8 bits or fewer; "fast" does so in the decoder, and in vision too if the model's file
    says that its gate allowed it. threads: 0 takes all this process may use.
    Raises ModelNotFound, ModelFileError, OverBudget, EngineMissing.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        quant: str | None = None,
        backend: str = "auto",
        memory_budget: int | str = 0,
        precision: str = "fast",
        threads: int = 0,
        simd: str = "auto",
        profile: bool = False,
        settings: ReadSettings | None = None,
        limits: Limits | None = None,
    ) -> None:
        for name, value, kind in (("settings", settings, ReadSettings), ("limits", limits, Limits)):
            if value is not None and not isinstance(value, kind):
                raise errors.InvalidRequest(f"{name} is {value!r}; give a {kind.__name__} or leave it out.")
        if model is not None and not isinstance(model, str | Path):
            raise errors.InvalidRequest(f"model is {model!r}; give a name or the path of a .uocr file.")
        path = models.obtain(model, quant)
        with ModelFile.open(path) as file:
            self.front_end: dict[str, Any] = file.front_end
            tokenizer_json = file.tokenizer_json
            file_profile = file.profile
            precision = file.precision(precision)
        models.verify_once(path)
        try:
            self._engine = native.Engine(
                path,
                precision=precision,
                threads=threads,
                backend=backend,
                simd=simd,
                memory_budget=parse_budget(memory_budget),
                profile=profile,
            )
        except errors.OverBudget as refused:
            if path.stat().st_size <= refused.budget:
                raise
            raise _model_over_budget(model, file_profile, refused) from refused
        self._tokenizer = Tokenizer(tokenizer_json, digits=self.front_end.get("digits"))
        self._reader = Reader(self._engine, self.front_end, self._tokenizer)
        self._lock = threading.Lock()
        self._owner: int | None = None
        self.path = path
        self.settings = settings or ReadSettings()
        self.limits = limits or Limits()
        self.precision = precision

    # -- the three ways to read --------------------------------------------------------------------------------

    def generate(self, source: Any, **settings: Any) -> str:
        """The text of all pages. Warns when a page was cut short or could not be read; `read` says more."""
        document = self.read(source, **settings)
        for page in document.pages:
            if not page.complete:
                detail = f": {page.error}" if page.error else ""
                warnings.warn(
                    f"Page {page.index + 1} of {page.source} is not complete "
                    f"(finish reason: {page.finish_reason}){detail}",
                    stacklevel=2,
                )
        return document.text

    def read(
        self,
        source: Any,
        *,
        control: Control | None = None,
        on_event: Callable[[Any], None] | None = None,
        **settings: Any,
    ) -> Document:
        """A Document with blocks, boxes, confidences, finish reasons, readings, timings and memory.

        A page that cannot be read is kept with finish reason "error" and the others are read; when no page at all
        could be, the first page's error is raised.
        """
        document, first_error = None, None
        for event in self.stream(source, control=control, **settings):
            if on_event is not None:
                on_event(event)
            if isinstance(event, events.PageFinished):
                first_error = first_error or event.error
            elif isinstance(event, events.DocumentFinished):
                document = event.document
        assert document is not None
        if first_error is not None and all(p.finish_reason is FinishReason.ERROR for p in document.pages):
            raise first_error
        return document

    def stream(
        self, source: Any, *, control: Control | None = None, skip: Iterable[int] = (), **settings: Any
    ) -> Iterator[events.ReadEvent]:
        """Events while reading; see `uocr.events`. `skip` names pages (numbers in the source) not to be read.

        `source` is a path, URL, bytes, file object, PIL image, base64 text or data URI, or an open `Source`.
        Raises InvalidRequest and the errors of `open_source` before the first event.
        """
        chosen = self.settings.with_changes(settings)
        if control is not None and not isinstance(control, Control):
            raise errors.InvalidRequest(f"control is {control!r}; give a uocr.Control or leave it out.")
        control = control or Control()
        self._reader.check(chosen)
        opened = (
            source
            if isinstance(source, Source)
            else open_source(
                source,
                pages=chosen.pages,
                dpi=chosen.dpi,
                password=chosen.password,
                compat=chosen.compat,
                limits=self.limits,
            )
        )
        try:
            document = Document(
                opened.name,
                model=str(self.front_end.get("name", self.path.stem)),
                model_id=self.info.model_id,
                settings=self.recorded(chosen),
            )
            skipped = set(skip)
            if chosen.one_pass and len(opened) > 1:
                yield from self._stream_together(opened, document, chosen, control)
            else:
                for i in range(len(opened)):
                    if opened.indices[i] not in skipped:
                        yield from self._stream_page(opened, i, document, chosen, control)
            yield events.DocumentFinished(document)
        finally:
            if opened is not source:
                opened.close()

    def _stream_page(
        self, source: Source, i: int, document: Document, settings: ReadSettings, control: Control
    ) -> Iterator[events.ReadEvent]:
        page = Page(source.name, source.indices[i], 0, 0)
        document.pages.append(page)
        if control.cancelled:
            page.finish_reason = FinishReason.NOT_READ
            yield events.PageFinished(page)
            return
        try:
            picture = source.page(i)
            _describe(page, picture)
            with self._native_work():
                yield from self._reader.read_page(page, picture.image, settings, control)
        except errors.UocrError as error:
            page.finish_reason, page.error = FinishReason.ERROR, str(error)
            yield events.PageFinished(page, error)

    def _stream_together(
        self, source: Source, document: Document, settings: ReadSettings, control: Control
    ) -> Iterator[events.ReadEvent]:
        pages = [Page(source.name, source.indices[i], *source.page_size(i)) for i in range(len(source))]
        document.pages = pages

        def picture(i: int) -> Callable[[], Any]:
            def load() -> Any:
                image = source.page(i)
                _describe(pages[i], image)
                return image.image

            return load

        with self._native_work():
            yield from self._reader.read_together(pages, [picture(i) for i in range(len(source))], settings, control)

    # -- around reading ----------------------------------------------------------------------------------------

    @property
    def info(self) -> native.ModelInfo:
        return self._reader.info

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def engine(self) -> native.Engine:
        """The native engine, for measurements; everyday reading needs only the methods above."""
        return self._engine

    def estimate(self, width: int, height: int, **settings: Any) -> native.MemoryEstimate:
        """Peak memory by category for a page of `width` x `height` pixels, before anything is drawn or allocated."""
        chosen = self.settings.with_changes(settings)
        return self._engine.estimate(self._reader.plan_page(width, height, chosen)[1])

    def estimate_together(self, sizes: Sequence[tuple[int, int]], **settings: Any) -> native.MemoryEstimate:
        """As `estimate`, for one pass over several pages of the given (width, height) in pixels."""
        chosen = self.settings.with_changes(settings | {"one_pass": True})
        return self._engine.estimate(self._reader.plan_pages(sizes, chosen)[1])

    def memory(self) -> native.MemoryReport:
        """Bytes held now and at the peak; from any thread, also while reading."""
        return self._engine.memory()

    def profile(self) -> list[native.ProfileRow]:
        return self._engine.profile()

    def recorded(self, settings: ReadSettings | None = None) -> dict[str, object]:
        """The settings as they are stored with results, the engine's among them."""
        return (settings or self.settings).recorded() | {
            "precision": self.precision,
            "backend": self.info.backend,
            "quantisation": self.info.profile,
            "engine_version": native.version(),
        }

    def identity(self, source: Source) -> dict[str, str]:
        """Hashes that a journal binds to: file, settings, model and engine version."""
        settings = repr(sorted(self.recorded().items()))
        return {
            "file": source.sha256,
            "settings": hashlib.sha256(settings.encode()).hexdigest(),
            "model": self.info.model_id,
            "engine": native.version(),
        }

    def close(self) -> None:
        """Waits for the page in progress, then frees the engine. Closing twice is harmless."""
        if self._owner == threading.get_ident():
            raise errors.EngineBusy("This thread is in the middle of a stream; finish or close it before the engine.")
        with self._lock:
            self._engine.close()

    def __enter__(self) -> UnlimitedOCR:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _native_work(self) -> Iterator[None]:
        """One page at a time. A thread that already holds a half-read stream would wait for itself: told instead."""
        if self._owner == threading.get_ident():
            raise errors.EngineBusy(
                "This thread is in the middle of another stream of the same engine; finish it first."
            )
        with self._lock:
            self._owner = threading.get_ident()
            try:
                yield
            finally:
                self._owner = None


def _describe(page: Page, picture: PageImage) -> None:
    page.width, page.height = picture.width, picture.height
    page.has_text_layer = picture.has_text_layer
    page.problems += [note for note in picture.notes if note not in page.problems]
