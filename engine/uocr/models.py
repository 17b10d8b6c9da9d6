"""Models by name: the built-in one, those in the cache, and how they get there.

The cache folder is the system's (``UOCR_CACHE`` names another one):

    models/OWNER--NAME/q4.uocr      a converted model
    models/OWNER--NAME/q4.json      its record: name, revision, model id
    downloads/OWNER--NAME/REVISION/ a checkpoint on its way; removed after the conversion
    verified/                       stamps of files whose payload hashes were found right
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from uocr.errors import Cancelled, DownloadError, ModelNotFound
from uocr.modelfile import PROFILES, ModelFile, Progress

if TYPE_CHECKING:
    from uocr import hub  # imported where it is used: its libraries take longer to load than a page to read

BUILT_IN = "built-in"
PUBLISHED = "baidu/Unlimited-OCR"
PullProgress = Callable[[str, int, int], None]  # "download" or "convert", bytes done, bytes in total
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_PREFERRED = ("q8", "q4", "f16", "f32")  # of several installed profiles, when none is asked for
# bytes of a model file over bytes of the BF16 checkpoint, rounded up; measured on the full shapes (f32: counted)
_RATIO = {"f32": 2.02, "f16": 1.01, "q8": 0.53, "q4": 0.31}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class InstalledModel:
    """A converted model in the cache; ``file_bytes`` its size, ``revision`` the commit it was pulled from."""

    name: str
    profile: str
    path: Path
    file_bytes: int
    model_id: str
    revision: str

    def __str__(self) -> str:
        return f"{self.name} {self.profile}, {self.file_bytes / 1e6:,.0f} MB, {self.path}"


def cache_folder() -> Path:
    """Where models and stamps are kept."""
    named = os.environ.get("UOCR_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("leggio", appauthor=False)


def resolve(model: str | Path | None = None, quant: str | None = None) -> Path:
    """The model file to open: None or ``built-in``, a path, or the name of an installed model. No network.

    ``quant`` chooses among the profiles of a named model; a file has the one it has. Raises ModelNotFound.
    """
    if quant is not None and quant not in PROFILES:
        raise ModelNotFound(f"The quantisation {quant!r} is unknown; choose one of {', '.join(PROFILES)}.")
    if model is None or model == BUILT_IN:
        return _note_profile(_built_in(), quant)
    path = Path(model)
    if path.is_file():
        return _note_profile(path, quant)
    if path.is_dir():
        raise ModelNotFound(f"{path} is a folder; make a model file of its checkpoint with `uocr convert`.")
    if isinstance(model, Path) or path.suffix == ".uocr" or not _NAME.fullmatch(model):
        raise ModelNotFound(f"There is no model file {model}, and it is no name such as baidu/Unlimited-OCR.")
    found = {entry.profile: entry.path for entry in installed() if entry.name.lower() == model.lower()}
    if quant is None and found:
        return next(found[profile] for profile in _PREFERRED if profile in found)
    if quant in found:
        return found[quant]
    have = f" (installed: {', '.join(sorted(found))})" if found else ""
    raise ModelNotFound(f"{model} is not installed{f' as {quant}' if quant else ''}{have}; fetch it with "
                        f"`uocr pull {model}{f' --quant {quant}' if quant else ''}`.")


def obtain(model: str | Path | None, quant: str | None = None, *, progress: PullProgress | None = None,
           endpoint: str | None = None, keep_going: hub.KeepGoing | None = None) -> Path:
    """As ``resolve``, but the published model is pulled first if it is not installed, as q4 if ``quant`` is None.

    Any other name must have been pulled before: a slip of the pen must not start a download of gigabytes.
    """
    try:
        return resolve(model, quant)
    except ModelNotFound:
        if not isinstance(model, str) or model.lower() != PUBLISHED.lower():
            raise
        return pull(model, quant or "q4", progress=progress, endpoint=endpoint, keep_going=keep_going)


def installed() -> list[InstalledModel]:
    """Every model in the cache, by name and profile; records without their file are passed over."""
    found = []
    for record_path in sorted((cache_folder() / "models").glob("*/*.json")):
        path = record_path.with_suffix(".uocr")
        try:
            record = json.loads(record_path.read_bytes())
            entry = InstalledModel(record["name"], record["profile"], path, path.stat().st_size,
                                   record["model_id"], record["revision"])
        except (OSError, ValueError, TypeError, KeyError):
            continue
        found.append(entry)
    return found


def pull(name: str, profile: str, *, progress: PullProgress | None = None, endpoint: str | None = None,
         keep_going: hub.KeepGoing | None = None, overwrite: bool = False) -> Path:
    """Download, convert and install a model; the path of its file. An installed one is returned at once.

    ``endpoint`` is another hub's address. ``keep_going`` is asked many times a second from this thread: it
    may block to pause, and False stops with Cancelled. A stopped or failed pull goes on where it was at the
    next call. Raises DownloadError, ConversionError, OutputFailed.
    """
    from uocr import hub
    from uocr.convert import convert_checkpoint

    if not _NAME.fullmatch(name):
        raise DownloadError(f"{name!r} is no model name; give it as OWNER/NAME.")
    if profile not in PROFILES:
        raise DownloadError(f"The quantisation {profile!r} is unknown; choose one of {', '.join(PROFILES)}.")
    folder = cache_folder() / "models" / _folder_name(name)
    target = folder / f"{profile}.uocr"
    if not overwrite and any(entry.path == target for entry in installed()):
        return target
    keep_going = keep_going or (lambda: True)
    listing = hub.list_checkpoint(name, endpoint, keep_going)
    download = cache_folder() / "downloads" / _folder_name(name) / listing.revision
    _make_folder(download)
    _make_folder(folder)
    with _only_one(download, name):
        _check_space(listing, download, profile)
        _fetch_all(listing, download, progress, keep_going)
        report = convert_checkpoint(download, target, profile, overwrite=True,
                                    origin=f"{name}@{listing.revision}",
                                    progress=_convert_progress(progress, keep_going))
        entry = InstalledModel(name, profile, target, report.file_bytes, report.model_id, listing.revision)
        record = asdict(entry) | {"path": target.name}
        _write_whole(target.with_suffix(".json"), json.dumps(record, indent=1).encode())
        _stamp(target, report.model_id)  # the conversion read every hash back
    shutil.rmtree(download.parent, ignore_errors=True)
    return target


def checkpoint_bytes(name: str, *, endpoint: str | None = None, keep_going: hub.KeepGoing | None = None) -> int:
    """How much a pull of ``name`` would download: asks the hub for the list of files only. Raises DownloadError."""
    from uocr import hub

    if not _NAME.fullmatch(name):
        raise DownloadError(f"{name!r} is no model name; give it as OWNER/NAME.")
    return hub.list_checkpoint(name, endpoint, keep_going or (lambda: True)).size


def arrived_bytes(name: str) -> int:
    """Bytes of a pull that was stopped and goes on with the next one."""
    folder = cache_folder() / "downloads" / _folder_name(name)
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def model_bytes(checkpoint: int, profile: str) -> int:
    """About how large the model file of a checkpoint of so many bytes becomes, rounded up."""
    return int(checkpoint * _RATIO[profile])


def room_needed(checkpoint: int, profile: str, arrived: int = 0) -> int:
    """Bytes of disk that a pull takes until it is converted, when ``arrived`` bytes of the checkpoint are here."""
    return max(checkpoint - arrived, 0) + model_bytes(checkpoint, profile) + (64 << 20)


def remove(name: str, profile: str | None = None) -> int:
    """Remove a model (all profiles if None) and what a stopped pull left; the bytes freed.

    Raises ModelNotFound if there is nothing to remove.
    """
    if not _NAME.fullmatch(name):
        raise ModelNotFound(f"{name!r} is no model name; give it as OWNER/NAME.")
    entries = [entry for entry in installed()
               if entry.name.lower() == name.lower() and profile in (None, entry.profile)]
    downloads = cache_folder() / "downloads" / _folder_name(name)
    left = [path for path in downloads.rglob("*") if path.is_file()] if profile is None else []
    if not entries and not left:
        raise ModelNotFound(f"{name} is not installed{f' as {profile}' if profile else ''}.")
    freed = sum(path.stat().st_size for path in left)
    for entry in entries:
        freed += entry.file_bytes
        entry.path.with_suffix(".json").unlink(missing_ok=True)
        _stamp_path(entry.path).unlink(missing_ok=True)
        entry.path.unlink(missing_ok=True)
    if profile is None:
        shutil.rmtree(downloads, ignore_errors=True)
    return freed


def verify(path: Path, progress: Progress | None = None) -> None:
    """Check every payload hash of a model file; raises ModelFileError. A good file is stamped."""
    with ModelFile.open(path) as model:
        model.verify(progress)
        _stamp(path, model.model_id.hex())


def verify_once(path: Path, progress: Progress | None = None) -> bool:
    """As ``verify``, at the first use of a file only; whether it was read. A changed file is a new one."""
    try:
        if json.loads(_stamp_path(path).read_bytes()) == _identity(path):
            return False
    except (OSError, ValueError):
        pass
    verify(path, progress)
    return True


def _built_in() -> Path:
    packaged = resources.files("uocr").joinpath("resources", "models", "built-in.uocr")
    repository = Path(__file__).parents[2] / "resources" / "models" / "built-in.uocr"
    for path in (packaged, repository):
        if isinstance(path, Path) and path.is_file():
            return path
    raise ModelNotFound("The built-in model is missing from this installation; install the package again.")


def _note_profile(path: Path, quant: str | None) -> Path:
    if quant is not None:
        with ModelFile.open(path) as model:
            if model.profile != quant:
                _log.warning("%s is %s, not %s; it is used as it is.", path.name, model.profile, quant)
    return path


def _folder_name(name: str) -> str:
    return name.replace("/", "--")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(f"{folder} cannot be written: {error.strerror}; set UOCR_CACHE to another "
                            f"folder.", "disk") from error


@contextmanager
def _only_one(download: Path, name: str) -> Iterator[None]:
    """Two pulls of one model in two processes must not write the same files."""
    with download.parent.with_name(download.parent.name + ".lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DownloadError(f"{name} is being pulled by another program; wait for it to end.", "busy") from error
        yield


def _check_space(listing: hub.Listing, download: Path, profile: str) -> None:
    """Refuse before the first byte if checkpoint and model file do not fit the disk together."""
    arrived = sum(path.stat().st_size for path in download.iterdir() if path.is_file())
    needed = room_needed(listing.size, profile, arrived)
    free = shutil.disk_usage(download).free
    if free < needed:
        raise DownloadError(f"{listing.repository} as {profile} needs {needed / 1e6:,.0f} MB of disk while "
                            f"it is "
                            f"converted, {cache_folder()} has {free / 1e6:,.0f} MB free; make room or set "
                            f"UOCR_CACHE to a folder on another disk.", "disk")


def _fetch_all(listing: hub.Listing, download: Path, progress: PullProgress | None,
               keep_going: hub.KeepGoing) -> None:
    from uocr import hub

    done = 0
    for file in listing.files:
        def advance(count: int, before: int = done) -> None:
            if progress:
                progress("download", before + count, listing.size)

        hub.fetch(listing, file, download, advance, keep_going)
        done += file.size


def _convert_progress(progress: PullProgress | None, keep_going: hub.KeepGoing) -> Progress:
    def advance(done: int, total: int) -> None:
        if not keep_going():
            raise Cancelled("The conversion was stopped; the download is kept, the next pull goes on with "
                            "it.")
        if progress:
            progress("convert", done, total)

    return advance


def _identity(path: Path) -> dict[str, Any]:
    """What tells a file from a changed one without reading it."""
    status = path.stat()
    return {"path": str(path.resolve()), "bytes": status.st_size, "mtime_ns": status.st_mtime_ns,
            "inode": status.st_ino}


def _stamp_path(path: Path) -> Path:
    key = hashlib.sha256(str(path.resolve()).encode()).hexdigest()
    return cache_folder() / "verified" / f"{key[:32]}.json"


def _stamp(path: Path, model_id: str) -> None:
    """Remember that the payload of ``path`` is right; without a writable cache it is read again next time."""
    stamp = _stamp_path(path)
    try:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        _write_whole(stamp, json.dumps(_identity(path)).encode())
    except OSError:
        _log.info("no stamp for model %s: %s cannot be written", model_id[:16], stamp.parent)


def _write_whole(path: Path, data: bytes) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(data)
    os.replace(partial, path)
