"""Files of a model repository on a Hugging Face hub: listing, and downloads that go on where they stopped.

huggingface_hub gives the listing, the addresses, the headers and the connection; the transfer itself is here,
because a download of gigabytes must survive the end of the process, pause, stop, and be checked by its hash.
Every failure becomes one DownloadError that says what to do.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from huggingface_hub import HfApi, close_session, constants, get_session, hf_hub_url, hf_raise_for_status
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.utils import build_hf_headers

from uocr.errors import Cancelled, DownloadError

KeepGoing = Callable[[], bool]  # asked many times a second; may block to pause; False stops
ATTEMPTS = 5  # requests in a row, the first of which may bring bytes
FIRST_WAIT_S = 1.0  # before the second attempt; doubles up to LONGEST_WAIT_S
LONGEST_WAIT_S = 16.0
SILENCE_S = 30.0  # no byte for so long: the connection is dead
_CHUNK = 1 << 20
_RETRIED = {408, 429, 500, 502, 503, 504}
_TEXTS = ("config.json", "tokenizer.json", "model.safetensors.index.json")


@dataclass(frozen=True)
class RemoteFile:
    """One file of a repository; ``sha256`` for large files, ``git_sha1`` (of git's blob) for all."""

    name: str
    size: int
    sha256: str | None
    git_sha1: str | None


@dataclass(frozen=True)
class Listing:
    """The checkpoint files of one revision (a commit hash)."""

    repository: str
    revision: str
    endpoint: str
    files: list[RemoteFile]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def list_checkpoint(repository: str, endpoint: str | None, keep_going: KeepGoing) -> Listing:
    """The files of ``repository`` that a conversion needs: config, tokenizer, index and weights."""
    endpoint = (endpoint or constants.ENDPOINT).rstrip("/")
    close_session()  # settings of the environment (proxy, certificates) may have changed since the last pull
    patience = _Patience(keep_going)
    while True:
        try:
            info = HfApi(endpoint=endpoint).model_info(repository, files_metadata=True, timeout=SILENCE_S)
            break
        except HFValidationError as error:
            raise DownloadError(f"{repository!r} is no model name; give it as OWNER/NAME.") from error
        except Exception as error:
            if not isinstance(error, HfHubHTTPError) or not patience.bears(error):
                raise explained(error, repository, endpoint) from error
    files = []
    for sibling in info.siblings or []:
        name = sibling.rfilename
        if name not in _TEXTS and not re.fullmatch(r"[\w.-]+\.safetensors", name):
            continue
        if type(sibling.size) is not int or sibling.size < 0:
            raise DownloadError(f"{endpoint} does not say how large {name} of {repository} is; try again "
                                f"later.")
        sha256 = sibling.lfs.sha256 if sibling.lfs else None
        files.append(RemoteFile(name, sibling.size, sha256, None if sibling.lfs else sibling.blob_id))
    names = {file.name for file in files}
    if "config.json" not in names or not any(name.endswith(".safetensors") for name in names):
        raise DownloadError(f"{repository} holds no config.json with .safetensors files; it is no checkpoint "
                            f"that can be converted.")
    if not info.sha or not re.fullmatch(r"[0-9a-f]{40}", info.sha):
        raise DownloadError(f"{endpoint} names no revision of {repository}; try again later.")
    return Listing(repository, info.sha, endpoint, sorted(files, key=lambda file: (file.size, file.name)))


def fetch(listing: Listing, file: RemoteFile, folder: Path, advance: Callable[[int], None],
          keep_going: KeepGoing) -> Path:
    """Download one file into ``folder``, going on with ``NAME.part`` if it is there, and check its hash.

    ``advance`` is told the bytes of this file that are there. Stopped by ``keep_going`` (raises Cancelled) or
    by an error, what has arrived stays in ``NAME.part``, unless it is known to be wrong.
    """
    target = folder / file.name
    if target.is_file() and target.stat().st_size == file.size:
        advance(file.size)
        return target  # it took this name only after its hash was right
    part = folder / (file.name + ".part")
    url = hf_hub_url(listing.repository, file.name, revision=listing.revision, endpoint=listing.endpoint)
    patience = _Patience(keep_going)
    while (have := _size(part)) != file.size or not part.exists():
        if have > file.size:
            part.unlink()
            have = 0
        advance(have)
        try:
            _receive(url, part, have, file, advance, keep_going)
            broken: Exception = httpx2.RemoteProtocolError("it ended early")
        except (httpx2.TransportError, HfHubHTTPError) as error:
            broken = error
        except OSError as error:
            raise _disk_error(error, part) from error
        if _size(part) > have:
            patience.renew()
        if _size(part) != file.size and not patience.bears(broken):
            raise explained(broken, listing.repository, listing.endpoint) from broken
    _check_hash(listing, file, part, keep_going)
    os.replace(part, target)
    return target


class _Patience:
    """How often, and after what wait, a request is made again; renewed by every byte that arrives."""

    def __init__(self, keep_going: KeepGoing) -> None:
        self._keep_going = keep_going
        self.renew()

    def renew(self) -> None:
        self._left = ATTEMPTS - 1
        self._wait = FIRST_WAIT_S

    def bears(self, error: Exception) -> bool:
        """Wait and say True if it is worth trying again after ``error``."""
        lasting = isinstance(error, HfHubHTTPError) and error.response.status_code not in _RETRIED
        if lasting or _certificate(error) or not self._left:
            return False
        self._left -= 1
        _sleep(self._wait, self._keep_going)
        self._wait = min(2 * self._wait, LONGEST_WAIT_S)
        return True


def _receive(url: str, part: Path, have: int, file: RemoteFile, advance: Callable[[int], None],
             keep_going: KeepGoing) -> None:
    """One request: append what comes to ``part``, from byte ``have`` on."""
    headers = build_hf_headers() | {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with get_session().stream("GET", url, headers=headers, timeout=httpx2.Timeout(SILENCE_S)) as response:
        if response.status_code >= 400:
            response.read()
        hf_raise_for_status(response)
        if have and response.status_code != 206:
            have = 0  # the server does not know ranges: from the start
        announced = response.headers.get("Content-Length")
        if announced is not None and announced.isdigit() and have + int(announced) != file.size:
            part.unlink(missing_ok=True)
            raise DownloadError(f"The server sends {have + int(announced):,} bytes of {file.name}, its "
                                f"listing says {file.size:,}; try again later.")
        with part.open("r+b" if have else "wb") as out:
            out.seek(have)
            for chunk in response.iter_bytes(_CHUNK):
                _ask(keep_going, file.name)
                have += len(chunk)
                if have > file.size:
                    raise DownloadError(f"The server sends more than the {file.size:,} bytes of {file.name} "
                                        f"that its listing says; try again later.")
                out.write(chunk)
                advance(have)


def _check_hash(listing: Listing, file: RemoteFile, part: Path, keep_going: KeepGoing) -> None:
    if file.sha256:
        digest, right = hashlib.sha256(), file.sha256
    elif file.git_sha1:
        digest, right = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False), file.git_sha1
    else:
        raise DownloadError(f"{listing.endpoint} states no hash for {file.name} of {listing.repository}, so "
                            f"it cannot be checked; try again later.")
    for chunk in _chunks(part):
        _ask(keep_going, file.name)
        digest.update(chunk)
    if digest.hexdigest() != right:
        part.unlink()
        raise DownloadError(f"{file.name} of {listing.repository} arrived with the hash "
                            f"{digest.hexdigest()[:16]}… "
                            f"instead of {right[:16]}…; it was thrown away, pull again.", "hash")


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _ask(keep_going: KeepGoing, name: str) -> None:
    if not keep_going():
        raise Cancelled(f"The download of {name} was stopped; what has arrived is kept, the next pull goes "
                        f"on there.")


def _sleep(seconds: float, keep_going: KeepGoing) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        _ask(keep_going, "the model")
        time.sleep(min(left, 0.05))


def _disk_error(error: OSError, part: Path) -> DownloadError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DownloadError(f"The disk is full: {part.name} stopped at {_size(part):,} bytes; what has "
                             f"arrived is kept, make room and pull again.", "disk")
    return DownloadError(f"{part} cannot be written: {error.strerror or error}.", "disk")


def _certificate(error: BaseException) -> ssl.SSLError | None:
    """The TLS error behind ``error``, if there is one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


def explained(error: Exception, repository: str, endpoint: str) -> DownloadError:
    """The DownloadError for anything that a request can end in."""
    host = urlsplit(endpoint).netloc
    proxy = _proxy(endpoint)
    reason = _reason(error, proxy)
    words = {
        "offline": f"{repository} is not in the cache and HF_HUB_OFFLINE forbids downloads; unset that variable.",
        "terms": f"{repository} is given only to people who accepted its terms; accept them at "
                 f"{endpoint}/{repository} and log in with `hf auth login`.",
        "unknown": f"{host} has no model {repository}, or it is private; check the name.",
        "certificate": f"The certificate of {host} is not trusted ({_certificate(error)}); if your company "
                       f"inspects traffic, set SSL_CERT_FILE to the file with its CA certificate "
                       f"(REQUESTS_CA_BUNDLE is not read).",
        "proxy": f"The proxy {proxy} cannot be reached or refuses ({error}); correct or unset HTTPS_PROXY "
                 f"or its like.",
        "silent": f"{host} did not answer within {SILENCE_S:g} s; pull again, it goes on where it stopped.",
        "network": f"No network: {host} cannot be reached ({error}); connect and pull again.",
        "broken": f"The connection to {host} broke off ({error}); pull again, it goes on where it was.",
        "authority": f"SSL_CERT_FILE={os.environ.get('SSL_CERT_FILE')} cannot be used ({error}); correct or "
                     f"unset it.",
        "": f"{host} answered for {repository} in a way that is not understood ({error!r}).",
    }.get(reason)
    if words is None:
        words = _status_words(int(reason), repository, host)
    return DownloadError(words, reason)


def _reason(error: Exception, proxy: str | None) -> str:
    """One word for what happened, or the status that the hub answered with."""
    if isinstance(error, OfflineModeIsEnabled):
        return "offline"
    if isinstance(error, GatedRepoError):
        return "terms"
    if isinstance(error, RepositoryNotFoundError):
        return "unknown"
    if isinstance(error, HfHubHTTPError):
        return str(error.response.status_code)
    if _certificate(error):
        return "certificate"
    if isinstance(error, httpx2.ProxyError) or (proxy and isinstance(error, httpx2.ConnectError)):
        return "proxy"
    if isinstance(error, httpx2.TimeoutException):
        return "silent"
    if isinstance(error, httpx2.ConnectError):
        return "network"
    if isinstance(error, httpx2.TransportError):
        return "broken"
    return "authority" if isinstance(error, OSError) and os.environ.get("SSL_CERT_FILE") else ""


def _proxy(endpoint: str) -> str | None:
    """The proxy that requests to ``endpoint`` go through, without its password."""
    parts = urlsplit(endpoint)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(parts.hostname or ""):
        return None
    return re.sub(r"//[^/@]*@", "//", proxy)


def _status_words(status: int, repository: str, host: str) -> str:
    if status == 404:
        return f"{host} has no such model or file of it: {repository} (404); check the name."
    if status in (401, 403):
        return f"{host} does not let you have {repository} ({status}); log in with `hf auth login`."
    if status == 429:
        return f"{host} says that there were too many requests (429); wait some minutes and pull again."
    if status >= 500:
        return f"{host} has trouble of its own ({status}); pull again later, it goes on where it stopped."
    return f"{host} answered with status {status} for {repository}; pull again later."
