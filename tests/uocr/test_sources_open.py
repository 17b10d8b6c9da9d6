"""Whatever is handed over, `open_source` finds the pages or says in one sentence why not."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image
from uocr.cli.targets import local_path
from uocr.errors import EmptyDocument, InputError, InvalidRequest, TooLarge, UnreadableFile
from uocr.sources import Limits, open_source
from uocr.sources.fetch import shown_url

Files = dict[str, Path]


@pytest.fixture
def png(files: Files) -> bytes:
    return files["alpha-grey.png"].read_bytes()


def first_pixels(thing: Any, **options: Any) -> bytes:
    with open_source(thing, **options) as source:
        return source.page(0).image.tobytes()


# -- every kind of thing --------------------------------------------------------------------------

def test_all_ways_of_handing_over_a_picture_give_the_same_pixels(files: Files, png: bytes):
    path = files["alpha-grey.png"]
    text = base64.b64encode(png).decode()
    things = [path, str(path), path.as_uri(), png, bytearray(png), memoryview(png), io.BytesIO(png),
              Image.open(path), text, "data:image/png;base64," + text]
    pixels = {hashlib.sha256(first_pixels(thing)).hexdigest() for thing in things}
    assert len(pixels) == 1
    with path.open("rb") as stream:
        assert hashlib.sha256(first_pixels(stream)).hexdigest() in pixels


@pytest.mark.parametrize("kind", ["AVIF", "BMP", "JPEG2000", "PCX", "PPM", "QOI", "SGI", "TGA"])
def test_less_common_formats_open(kind: str):
    out = io.BytesIO()
    Image.new("RGB", (32, 16), (0, 0, 220)).save(out, kind)
    with open_source(out.getvalue()) as source:
        page = source.page(0)
    assert page.image.mode == "RGB" and (page.width, page.height) == (32, 16)
    assert all(abs(a - b) <= 4 for a, b in zip(page.image.getpixel((8, 8)), (0, 0, 220), strict=True))


def test_a_pdf_may_be_bytes_too(files: Files):
    data = files["pages-12.pdf"].read_bytes()
    with open_source(data, pages="2", dpi=72) as source:
        assert (source.kind, source.indices, source.page(0).has_text_layer) == ("pdf", (1,), True)


def test_the_hash_is_that_of_the_file(files: Files, png: bytes):
    expected = hashlib.sha256(png).hexdigest()
    assert open_source(files["alpha-grey.png"]).sha256 == expected
    assert open_source(png).sha256 == expected
    data = files["pages-12.pdf"].read_bytes()
    assert open_source(files["pages-12.pdf"]).sha256 == hashlib.sha256(data).hexdigest()


def test_the_hash_of_a_file_that_vanished_is_an_error_of_that_file(tmp_path: Path, files: Files):
    for name in ("pages-3.tif", "born-digital.pdf"):
        path = tmp_path / name
        path.write_bytes(files[name].read_bytes())
        with open_source(path) as source:
            path.unlink()
            with pytest.raises(UnreadableFile, match=f"{name} cannot be opened: No such file"):
                _ = source.sha256


def test_pictures_in_memory_have_a_hash_of_their_pixels():
    pictures = [Image.new("RGB", (4, 2)), Image.new("RGB", (2, 4)), Image.new("RGB", (4, 2), "red"),
                Image.new("L", (4, 2))]
    hashes = {open_source(picture).sha256 for picture in pictures}
    assert len(hashes) == 4
    assert open_source(Image.new("RGB", (4, 2))).sha256 in hashes


def test_names_in_messages(files: Files, png: bytes):
    path = files["alpha-grey.png"]
    assert open_source(path).name == str(path)
    assert open_source(png).name == f"bytes ({len(png):,} in all)"
    assert open_source(png, name="clipboard").name == "clipboard"
    assert open_source(io.BytesIO(png)).name == "file object"
    uri = "data:image/png;base64," + base64.b64encode(png).decode()
    assert open_source(uri).name == "data URI (image/png)"
    assert open_source(Image.new("RGB", (4, 2))).name == "picture of 4 x 2 pixels"


@pytest.mark.parametrize("wrap", [
    lambda text: text,
    lambda text: text.rstrip("="),
    lambda text: "\n".join(text[i:i + 76] for i in range(0, len(text), 76)) + "\n",
    lambda text: text.replace("+", "-").replace("/", "_"),
], ids=["plain", "without padding", "in lines", "url-safe"])
def test_base64_text_in_its_usual_dress(png: bytes, wrap: Any):
    assert first_pixels(wrap(base64.b64encode(png).decode())) == first_pixels(png)


def test_a_data_uri_may_be_percent_encoded():
    svgless = "data:image/x-portable-graymap,P2%0A2%201%0A255%0A0%20255%0A"
    assert first_pixels(svgless) == bytes([0, 0, 0, 255, 255, 255])


def test_standard_input(png: bytes, monkeypatch: pytest.MonkeyPatch):
    class Stdin:
        buffer = io.BytesIO(png)

    monkeypatch.setattr("sys.stdin", Stdin())
    with open_source("-") as source:
        assert source.name == "standard input" and source.page(0).width == 96


def test_a_file_object_is_read_from_where_it_stands(png: bytes):
    stream = io.BytesIO(b"header" + png)
    stream.seek(6)
    assert first_pixels(stream) == first_pixels(png)


def test_what_a_file_is_follows_from_its_bytes(tmp_path: Path, files: Files):
    for name, wrong in (("born-digital.pdf", "page.png"), ("cmyk.tif", "page.pdf"), ("pages-3.gif", "page")):
        (tmp_path / wrong).write_bytes(files[name].read_bytes())
        with open_source(tmp_path / wrong) as source, open_source(files[name]) as right:
            assert (source.kind, len(source)) == (right.kind, len(right))


# -- refusals -------------------------------------------------------------------------------------

@pytest.mark.parametrize(("thing", "error", "words"), [
    ("no-such-file.png", UnreadableFile, "no-such-file.png cannot be opened: No such file or directory."),
    ("nul\0byte.png", UnreadableFile, "cannot be opened"),
    ("x" * 5000, UnreadableFile, "xxx… cannot be opened"),
    ("ftp://me:secret@example.com/a.png", InvalidRequest,
     "ftp://example.com/a.png cannot be opened: addresses that begin with ftp:// are not understood, "
     "those with http://, https://, file:// and data: are; or name a file."),
    ("S3://bucket/a.pdf", InvalidRequest, "addresses that begin with s3:// are not understood"),
    ("htttps://example.com/a.pdf", InvalidRequest, "addresses that begin with htttps:// are not understood"),
    ("ftp://[me:secret@a.png", InvalidRequest, "ftp://a.png cannot be opened"),
    ("HTTP://me:secret@[a.png", InvalidRequest, "HTTP://[a.png is not an address: Invalid IPv6 URL."),
    ("file://[a.png", InvalidRequest, "file://[a.png is not an address"),
    ("FILE:///no/such.png", UnreadableFile, "/no/such.png cannot be opened: No such file"),
    ("C:\\scans\\a.png", UnreadableFile, "C:\\scans\\a.png cannot be opened: No such file"),
    ("C://scans/a.png", UnreadableFile, "cannot be opened: No such file"),
    ("mailto:a.png", UnreadableFile, "mailto:a.png cannot be opened: No such file"),
    ("data:image/png;base64", UnreadableFile, "has no comma"),
    ("data:image/png;base64,a!b", UnreadableFile, "damaged base64 text of 3 letters"),
    ("data:image/png;base64,", EmptyDocument, "data URI (image/png) is empty (0 bytes)"),
    (b"", EmptyDocument, "bytes (0 in all) is empty"),
    (b"hello", UnreadableFile, "is damaged or not a picture or PDF"),
    (io.StringIO("text"), InvalidRequest, 'gives text, not bytes; open it with mode "rb"'),
    (42, InvalidRequest, "An int cannot be opened; give a path"),
    (None, InvalidRequest, "Nothing was given to open; give a path"),
], ids=lambda v: str(v)[:20] if not isinstance(v, type) else None)
def test_refusals_are_one_sentence(thing: Any, error: type[InputError], words: str):
    with pytest.raises(error) as caught:
        open_source(thing)
    message = str(caught.value)
    assert words in message
    assert len(message) < 250 and "\n" not in message and message.endswith(".")


def test_a_folder_is_no_file(tmp_path: Path):
    with pytest.raises(InvalidRequest, match="is a folder"):
        open_source(tmp_path)


def test_an_unreadable_stream_is_told():
    class Broken(io.RawIOBase):
        name = "camera"

        def read(self, size: int = -1) -> bytes:
            raise OSError("the device is gone")

    with pytest.raises(UnreadableFile, match="camera cannot be read: the device is gone"):
        open_source(Broken())  # type: ignore[arg-type]


def test_a_stream_over_the_limit_is_not_read_to_its_end(png: bytes):
    stream = io.BytesIO(png * 1000)
    with pytest.raises(TooLarge, match=r"201 bytes, over the limit of 200"):
        open_source(stream, limits=Limits(max_bytes=200))
    assert stream.tell() == 201


def test_an_unknown_policy_is_refused(png: bytes):
    with pytest.raises(InvalidRequest, match="compat='downstream' is unknown"):
        open_source(png, compat="downstream")


# -- web addresses --------------------------------------------------------------------------------

class Site(BaseHTTPRequestHandler):
    """Serves what the tests put into `pages`: (status, headers, body, seconds to wait)."""

    pages: ClassVar[dict[str, tuple[int, dict[str, str], bytes, float]]] = {}

    def do_GET(self) -> None:
        status, headers, body, wait = self.pages.get(self.path, (404, {}, b"", 0.0))
        time.sleep(wait)
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the client may have had enough
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.mark.parametrize("name", ["a page.png", "100%.png", "a%20page.png", "ü#1?.png"])
def test_a_file_address_names_the_file_whatever_its_letters(tmp_path: Path, png: bytes, name: str):
    path = tmp_path / name
    path.write_bytes(png)
    address = path.as_uri()
    assert first_pixels(address) == first_pixels(png)
    assert local_path(address) == path
    assert local_path(address.replace("file:///", "file://localhost/")) == path


def test_a_file_of_another_machine_is_refused(tmp_path: Path):
    with pytest.raises(InvalidRequest, match="names a file of the machine server; only files of this one"):
        open_source("file://server/scans/page.png")


def test_a_picture_from_the_web(site: str, png: bytes):
    Site.pages["/scan.png"] = (200, {"Content-Length": str(len(png))}, png, 0)
    Site.pages["/moved"] = (302, {"Location": "/scan.png"}, b"", 0)
    for path in ("/scan.png", "/moved"):
        with open_source(site + path) as source:
            assert source.name == site + path
            assert source.page(0).width == 96


def test_an_answer_without_a_length_is_read_to_its_end(site: str, png: bytes):
    Site.pages["/stream"] = (200, {}, png, 0)
    assert first_pixels(site + "/stream") == first_pixels(png)


@pytest.mark.parametrize(("answer", "words"), [
    ((404, {}, b"", 0), "the server answers 404 Not Found"),
    ((500, {}, b"oops", 0), "the server answers 500 Internal Server Error"),
    ((302, {"Location": "file:///etc/passwd"}, b"", 0), "could not be fetched: "),
    ((302, {"Location": "ftp://127.0.0.1/x"}, b"", 0), "which is no web address"),
    ((302, {"Location": "http://[x"}, b"", 0), "could not be fetched: Invalid IPv6 URL"),
    ((200, {"Content-Length": "5000"}, b"\x89PNG", 0), "it ended after 4 of 5,000 bytes; try again"),
    ((200, {}, b"<html>Sign in</html>", 0), "is damaged or not a picture or PDF"),
    ((200, {}, b"", 5), "no answer within 0.2 s"),
], ids=["404", "500", "to a file", "to ftp", "to nonsense", "cut short", "html", "slow"])
def test_web_failures_name_the_address_and_the_reason(site: str, answer: Any, words: str):
    Site.pages["/bad"] = answer
    with pytest.raises(UnreadableFile) as caught:
        open_source(site + "/bad", limits=Limits(timeout_s=0.2))
    assert str(caught.value).startswith(site + "/bad ") and words in str(caught.value)


@pytest.mark.parametrize("headers", [{"Content-Length": "20000"}, {}], ids=["announced", "not announced"])
def test_downloads_over_the_limit_are_stopped(site: str, headers: dict[str, str]):
    Site.pages["/big"] = (200, headers, bytes(20000), 0)
    with pytest.raises(TooLarge, match=r"limit of 10,000"):
        open_source(site + "/big", limits=Limits(max_bytes=10_000))


def test_a_download_that_takes_too_long_is_stopped(site: str):
    Site.pages["/drip"] = (200, {}, bytes(10), 0)
    with pytest.raises(UnreadableFile, match=r"only 10 bytes came in -1 s"):
        open_source(site + "/drip", limits=Limits(deadline_s=-1))


def test_an_unreachable_server_is_told():
    with pytest.raises(UnreadableFile, match=r"http://127.0.0.1:9/x.png could not be fetched: .*refused"):
        open_source("http://127.0.0.1:9/x.png")


@pytest.mark.parametrize("address", ["http://", "https:///x", "http://bad host/x"])
def test_nonsense_addresses_are_refused(address: str):
    with pytest.raises(InputError) as caught:
        open_source(address)
    assert address in str(caught.value) or "not a web address" in str(caught.value)


def test_passwords_in_addresses_are_not_shown():
    assert shown_url("https://me:secret@example.com/a.png?b=1#c") == "https://example.com/a.png?b=1"
