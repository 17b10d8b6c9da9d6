"""Models by name: pulling from a hub that misbehaves, the cache, and what works without a network."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import REVISION, Hub
from uocr import hub, models
from uocr.errors import Cancelled, ConversionError, DownloadError, ModelFileError, ModelNotFound
from uocr.modelfile import ModelFile

GOLDEN = Path(__file__).parents[1] / "golden" / "model"
NAME = "some-one/tiny.ocr"
WEIGHTS = "model-00001-of-000001.safetensors"
TOKENIZER = b'{"model": {"vocab": {"a": 0, "b": 480}}}'
SIZE = sum(path.stat().st_size for path in GOLDEN.iterdir()) + len(TOKENIZER)


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, no proxy, no token, short waits, no waiting for the disk."""
    monkeypatch.setenv("UOCR_CACHE", str(tmp_path / "cache"))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "HF_TOKEN", "SSL_CERT_FILE",
                 "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr(hub, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(hub, "LONGEST_WAIT_S", 0.05)
    monkeypatch.setattr(hub, "_CHUNK", 1 << 16)
    monkeypatch.setattr("os.fsync", lambda _handle: None)


@pytest.fixture
def server() -> Iterator[Hub]:
    """A hub with the reference checkpoint and a tokenizer, well-behaved until told otherwise."""
    files = {path.name: path.read_bytes() for path in GOLDEN.iterdir()} | {
        "tokenizer.json": TOKENIZER, "README.md": b"# words", "notes/extra.safetensors": b"not at the top",
        "pytorch_model.bin": b"pickle"}
    repository = Hub(NAME, files, large={WEIGHTS})
    running = repository.start()
    yield repository
    running.shutdown()
    running.server_close()


def pull(server: Hub, profile: str = "q4", **options) -> Path:
    return models.pull(NAME, profile, endpoint=server.url, **options)


def refusal(server: Hub, kind: type[Exception] = DownloadError) -> str:
    with pytest.raises(kind) as caught:
        pull(server)
    assert not models.installed()
    words = str(caught.value)
    assert "\n" not in words
    return words


def downloads() -> Path:
    return models.cache_folder() / "downloads" / "some-one--tiny.ocr" / REVISION


def asked(server: Hub, name: str) -> list[str | None]:
    """Range headers of the requests for one file."""
    return [header for path, header in server.requests if path.endswith("/" + name)]


class TestPull:
    def test_it_downloads_what_a_conversion_needs_converts_and_installs(self, server: Hub) -> None:
        heard: list[tuple[str, int, int]] = []
        path = pull(server, progress=lambda *what: heard.append(what))
        with ModelFile.open(path) as model:
            model.verify()
            assert model.profile == "q4"
            assert model.config.usable_vocab == 481
            assert model.provenance["origin"] == f"{NAME}@{REVISION}"
        (entry,) = models.installed()
        assert (entry.name, entry.profile, entry.revision, entry.path) == (NAME, "q4", REVISION, path)
        assert entry.file_bytes == path.stat().st_size
        assert {p.rsplit("/", 1)[1] for p, _ in server.requests[1:]} == {
            "config.json", "tokenizer.json", "model.safetensors.index.json", WEIGHTS}
        assert not downloads().exists()
        assert ("download", SIZE, SIZE) in heard
        done = [d for stage, d, _ in heard if stage == "download"]
        assert done == sorted(done) and heard[-1][0] == "convert" and heard[-1][1] == heard[-1][2]

    def test_afterwards_it_works_without_a_network(self, server: Hub) -> None:
        path = pull(server)
        server.statuses[""] = [503] * 99
        server.requests.clear()
        assert pull(server) == path
        assert models.resolve(NAME) == models.resolve(NAME, "q4") == models.obtain(NAME, "q4") == path
        assert models.resolve("Some-One/TINY.ocr") == path
        assert not models.verify_once(path)  # the conversion read it back already
        assert server.requests == []

    def test_files_may_lie_at_another_address(self, server: Hub) -> None:
        server.redirect = True
        assert pull(server).is_file()

    def test_a_hub_without_content_lengths_serves_too(self, server: Hub) -> None:
        server.lengths = False
        assert pull(server).is_file()


class TestBrokenConnections:
    def test_a_dropped_connection_goes_on_where_it_stopped(self, server: Hub) -> None:
        server.drop_after[WEIGHTS] = [3_000_000, 2_000_000]
        assert pull(server).is_file()
        first, second, third = asked(server, WEIGHTS)
        assert first is None
        at = [int(header.removeprefix("bytes=").removesuffix("-")) for header in (second, third)]
        assert 2_900_000 < at[0] <= 3_000_000 and at[0] + 1_900_000 < at[1] <= at[0] + 2_000_000

    def test_without_ranges_it_starts_again(self, server: Hub) -> None:
        server.ranges = False
        server.drop_after[WEIGHTS] = [3_000_000]
        assert pull(server).is_file()

    def test_without_lengths_an_early_end_is_noticed(self, server: Hub) -> None:
        server.lengths = False
        server.drop_after[WEIGHTS] = [3_000_000]
        assert pull(server).is_file()

    def test_a_server_that_keeps_dropping_is_given_up_and_the_bytes_are_kept(self, server: Hub) -> None:
        server.drop_after[WEIGHTS] = [1_000_000, *[0] * 20]
        words = refusal(server)
        assert "broke off" in words and "pull again, it goes on where it was" in words
        assert len(asked(server, WEIGHTS)) == hub.ATTEMPTS
        kept = (downloads() / f"{WEIGHTS}.part").stat().st_size
        server.drop_after.clear()
        server.requests.clear()
        assert pull(server).is_file()
        assert asked(server, WEIGHTS) == [f"bytes={kept}-"]
        assert asked(server, "config.json") == []  # it was whole already

    def test_a_server_that_falls_silent(self, server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hub, "SILENCE_S", 0.2)
        monkeypatch.setattr(hub, "ATTEMPTS", 2)
        server.pause_s = 1.0
        assert "did not answer within 0.2 s" in refusal(server)

    def test_a_part_that_is_longer_than_the_file_is_thrown_away(self, server: Hub) -> None:
        downloads().mkdir(parents=True)
        (downloads() / f"{WEIGHTS}.part").write_bytes(bytes(8_000_000))
        assert pull(server).is_file()

    def test_a_part_with_wrong_bytes_is_found_by_its_hash(self, server: Hub) -> None:
        downloads().mkdir(parents=True)
        (downloads() / f"{WEIGHTS}.part").write_bytes(bytes(1_000_000))
        assert "it was thrown away, pull again" in refusal(server)
        assert pull(server).is_file()


class TestStatuses:
    @pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
    @pytest.mark.parametrize("what", ["", WEIGHTS])
    def test_passing_trouble_is_borne(self, server: Hub, what: str, status: int) -> None:
        server.statuses[what] = [status, status]
        assert pull(server).is_file()

    @pytest.mark.parametrize(("status", "words"), [
        (503, "has trouble of its own (503); pull again later"),
        (429, "too many requests (429); wait some minutes")])
    @pytest.mark.parametrize("what", ["", WEIGHTS])
    def test_lasting_trouble_is_named(self, server: Hub, what: str, status: int, words: str) -> None:
        server.statuses[what] = [status] * 99
        assert words in refusal(server)
        assert len(server.statuses[what]) == 99 - hub.ATTEMPTS

    @pytest.mark.parametrize(("status", "code", "words"), [
        (404, None, f"has no such model or file of it: {NAME} (404); check the name"),
        (404, "RepoNotFound", f"has no model {NAME}, or it is private; check the name"),
        (401, None, "(401); log in with `hf auth login`"), (403, None, "(403); log in with `hf auth login`"),
        (403, "GatedRepo", f"accept them at URL/{NAME} and log in"), (418, None, "answered with status 418")])
    def test_a_refusal_is_not_tried_again(self, server: Hub, status: int, code: str | None,
                                          words: str) -> None:
        server.statuses[""] = [status] * 9
        server.error_code = code
        assert words.replace("URL", server.url) in refusal(server)
        assert len(server.requests) == 1

    def test_a_file_that_vanished(self, server: Hub) -> None:
        server.statuses[WEIGHTS] = [404]
        assert "has no such model or file of it" in refusal(server)


class TestWrongBytes:
    @pytest.mark.parametrize("name", [WEIGHTS, "config.json"])  # SHA-256 and git's SHA-1
    def test_a_wrong_hash_is_found_and_the_file_thrown_away(self, server: Hub, name: str) -> None:
        server.corrupt.add(name)
        words = refusal(server)
        assert f"{name} of {NAME} arrived with the hash" in words
        assert "it was thrown away, pull again" in words
        assert not (downloads() / f"{name}.part").exists() and not (downloads() / name).exists()
        server.corrupt.clear()
        assert pull(server).is_file()

    @pytest.mark.parametrize("listed", [7_000_000, 8_000_000])
    def test_a_size_that_contradicts_the_listing(self, server: Hub, listed: int) -> None:
        server.listed[WEIGHTS] = {"size": listed}
        words = refusal(server)
        assert f"The server sends 7,506,184 bytes of {WEIGHTS}, its listing says {listed:,}" in words

    def test_more_bytes_than_listed_without_a_length(self, server: Hub) -> None:
        server.lengths = False
        server.listed[WEIGHTS] = {"size": 7_000_000}
        assert "sends more than the 7,000,000 bytes" in refusal(server)

    @pytest.mark.parametrize("entry", [{"size": None}, {"size": -1}, {"size": "7"}])
    def test_a_listing_without_sizes(self, server: Hub, entry: dict) -> None:
        server.listed[WEIGHTS] = entry
        assert f"does not say how large {WEIGHTS} of {NAME} is" in refusal(server)

    def test_a_listing_without_hashes(self, server: Hub) -> None:
        server.listed["config.json"] = {"blobId": None}
        assert "states no hash for config.json" in refusal(server)

    def test_names_that_leave_the_folder_are_passed_over(self, server: Hub) -> None:
        server.files["../../evil.safetensors"] = server.files["..\\evil.safetensors"] = b"evil"
        assert pull(server).is_file()
        assert not [path for path, _ in server.requests if "evil" in path]

    def test_a_repository_without_a_checkpoint(self, server: Hub) -> None:
        del server.files[WEIGHTS]
        assert "holds no config.json with .safetensors files" in refusal(server)

    def test_a_checkpoint_that_cannot_be_converted(self, server: Hub) -> None:
        server.files["config.json"] = b'{"model_type": "bert"}'
        assert "has no vocab_size" in refusal(server, ConversionError)


class TestStopping:
    def test_a_stopped_download_keeps_its_bytes(self, server: Hub) -> None:
        def keep_going() -> bool:
            part = downloads() / f"{WEIGHTS}.part"
            return not part.exists() or part.stat().st_size < 2_000_000

        with pytest.raises(Cancelled, match="what has arrived is kept"):
            pull(server, keep_going=keep_going)
        kept = (downloads() / f"{WEIGHTS}.part").stat().st_size
        assert 2_000_000 <= kept < 2_200_000
        server.requests.clear()
        assert pull(server).is_file()
        assert asked(server, WEIGHTS) == [f"bytes={kept}-"]

    def test_a_pause_that_outlasts_the_connection(self, server: Hub) -> None:
        server.drop_after[WEIGHTS] = [4_000_000]
        paused = 0

        def keep_going() -> bool:
            nonlocal paused
            if paused < 3:
                paused += 1
                time.sleep(0.1)
            return True

        assert pull(server, keep_going=keep_going).is_file()
        assert paused == 3

    def test_a_stopped_conversion_keeps_the_download(self, server: Hub) -> None:
        stages: list[str] = []
        with pytest.raises(Cancelled, match="the download is kept"):
            pull(server, progress=lambda stage, *_: stages.append(stage),
                 keep_going=lambda: "convert" not in stages)
        assert (downloads() / WEIGHTS).stat().st_size == 7_506_184
        assert not list((models.cache_folder() / "models").glob("*/*"))
        server.requests.clear()
        assert pull(server).is_file()
        assert asked(server, WEIGHTS) == []

    def test_waiting_for_another_try_can_be_stopped(self, server: Hub,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hub, "FIRST_WAIT_S", 60.0)
        server.statuses[""] = [503] * 9
        with pytest.raises(Cancelled):
            pull(server, keep_going=lambda: not server.requests)

    def test_two_pulls_of_one_model_do_not_mix(self, server: Hub) -> None:
        lock = models.cache_folder() / "downloads" / "some-one--tiny.ocr.lock"
        lock.parent.mkdir(parents=True)
        with lock.open("wb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            assert f"{NAME} is being pulled by another program" in refusal(server)


class TestDiskAndNetwork:
    """Fault kind K22: disk, proxy, company certificates."""

    def test_too_little_room_is_said_before_the_first_byte(self, server: Hub, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
        usage = shutil.disk_usage(tmp_path)._replace(free=70_000_000)
        monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
        words = refusal(server)
        assert f"{NAME} as q4 needs 77 MB of disk" in words and "has 70 MB free; make room" in words
        assert len(server.requests) == 1

    def test_a_disk_that_fills_up_keeps_what_has_arrived(self, server: Hub,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
        real = Path.open

        def small_disk(self: Path, *arguments, **options):
            file = real(self, *arguments, **options)
            if self.name == f"{WEIGHTS}.part" and arguments and arguments[0] in ("wb", "r+b"):
                return _Full(file, 3_000_000)
            return file

        monkeypatch.setattr(Path, "open", small_disk)
        words = refusal(server)
        assert f"The disk is full: {WEIGHTS}.part stopped at 2," in words
        assert "make room and pull again" in words
        monkeypatch.setattr(Path, "open", real)
        assert pull(server).is_file()
        assert asked(server, WEIGHTS)[-1] is not None

    def test_a_cache_that_cannot_be_written(self, server: Hub, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("UOCR_CACHE", str(tmp_path / "file" / "cache"))
        assert "cannot be written: Not a directory; set UOCR_CACHE" in refusal(server)

    def test_no_network(self) -> None:
        with pytest.raises(DownloadError, match=r"No network: 127\.0\.0\.1:9 cannot be reached"):
            models.pull(NAME, "q4", endpoint="http://127.0.0.1:9")

    def test_a_proxy_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@127.0.0.1:9")
        with pytest.raises(DownloadError) as caught:
            models.pull(NAME, "q4", endpoint="https://hub.invalid")
        words = str(caught.value)
        assert "The proxy http://127.0.0.1:9 cannot be reached or refuses" in words and "secret" not in words

    def test_offline_mode(self, server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        assert "HF_HUB_OFFLINE forbids downloads" in refusal(server)

    def test_a_certificate_of_an_unknown_ca(self, server: Hub, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
        certificate = self_signed(tmp_path)
        running = server.start(certificate)
        try:
            words = refusal(server)
            assert "is not trusted" in words and "set SSL_CERT_FILE to the file with its CA" in words
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            assert pull(server).is_file()
        finally:
            running.shutdown()
            running.server_close()

    def test_a_certificate_file_that_is_not_there(self, server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
        assert "SSL_CERT_FILE=/nowhere/ca.pem cannot be used" in refusal(server)

    @pytest.mark.parametrize("name", ["", "tiny", "a/b/c", "../x", "some one/tiny", "a/../b"])
    def test_what_is_no_name(self, name: str) -> None:
        with pytest.raises(DownloadError, match="is no model name; give it as OWNER/NAME"):
            models.pull(name, "q4")

    def test_an_unknown_profile(self) -> None:
        with pytest.raises(DownloadError, match="'q5' is unknown; choose one of f32, f16, q8, q4"):
            models.pull(NAME, "q5")


class _Full:
    """A file on a disk with ``room`` bytes left."""

    def __init__(self, file, room: int) -> None:
        self.file, self.room = file, room

    def __enter__(self) -> _Full:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def seek(self, offset: int) -> None:
        self.file.seek(offset)

    def write(self, data: bytes) -> None:
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= len(data)
        self.file.write(data)


def self_signed(folder: Path) -> Path:
    """Certificate and key for 127.0.0.1 in one PEM file."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl program")
    path = folder / "ca.pem"
    certificate = folder / "certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", str(path), "-out", str(certificate)], check=True, capture_output=True)
    with path.open("ab") as file:
        file.write(certificate.read_bytes())
    return path


class TestResolve:
    def test_nothing_and_built_in_mean_the_built_in_model(self) -> None:
        path = models.resolve()
        assert path == models.resolve("built-in") == models.resolve(None, "q8")
        with ModelFile.open(path) as model:
            assert model.front_end["name"] == "built-in"

    def test_another_quantisation_of_the_built_in_is_said(self, caplog: pytest.LogCaptureFixture) -> None:
        assert models.resolve("built-in", "q4") == models.resolve()
        assert caplog.messages == ["built-in.uocr is q8, not q4; it is used as it is."]

    def test_a_path_is_taken_as_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.uocr"
        shutil.copy(models.resolve(), path)
        assert models.resolve(path) == models.resolve(str(path)) == path

    @pytest.mark.parametrize(("model", "quant", "words"), [
        ("nowhere/mine.uocr", None, "There is no model file nowhere/mine.uocr"),
        (Path("some/model"), None, "There is no model file some/model"),
        ("model", None, "it is no name such as baidu/Unlimited-OCR"),
        ("some/model", None, "some/model is not installed; fetch it with `uocr pull some/model`"),
        ("some/model", "q4", "is not installed as q4; fetch it with `uocr pull some/model --quant q4`"),
        (str(GOLDEN), None, "is a folder; make a model file of its checkpoint with `uocr convert`"),
        (None, "q5", "The quantisation 'q5' is unknown; choose one of f32, f16, q8, q4")])
    def test_what_is_not_there(self, model: str | Path | None, quant: str | None, words: str) -> None:
        with pytest.raises(ModelNotFound) as caught:
            models.resolve(model, quant)
        assert words in str(caught.value)

    def test_of_several_profiles_the_asked_or_the_best_is_taken(self, server: Hub) -> None:
        f16, q4 = pull(server, "f16"), pull(server, "q4")
        assert models.resolve(NAME, "f16") == f16
        assert models.resolve(NAME) == q4
        with pytest.raises(ModelNotFound, match=r"is not installed as q8 \(installed: f16, q4\)"):
            models.resolve(NAME, "q8")

    def test_obtain_pulls_a_name_at_its_first_use(self, server: Hub) -> None:
        path = models.obtain(NAME, endpoint=server.url)
        assert models.resolve(NAME, "q4") == path == models.obtain(NAME)
        with pytest.raises(ModelNotFound):
            models.obtain("no-such-file.uocr")


class TestRemove:
    def test_a_removed_model_is_gone_and_its_bytes_are_told(self, server: Hub) -> None:
        sizes = {profile: pull(server, profile).stat().st_size for profile in ("q4", "q8")}
        assert models.remove(NAME, "q4") == sizes["q4"]
        assert [entry.profile for entry in models.installed()] == ["q8"]
        assert models.remove(NAME) == sizes["q8"]
        assert not models.installed()
        with pytest.raises(ModelNotFound, match="is not installed"):
            models.remove(NAME)

    def test_what_a_stopped_pull_left_is_removed_too(self, server: Hub) -> None:
        server.drop_after[WEIGHTS] = [2_000_000, *[0] * 9]
        refusal(server)
        assert models.remove(NAME) > 1_900_000
        assert not downloads().exists()

    @pytest.mark.parametrize("name", ["../..", "a", "/etc"])
    def test_it_cannot_be_led_out_of_the_cache(self, name: str) -> None:
        with pytest.raises(ModelNotFound, match="is no model name"):
            models.remove(name)


class TestVerify:
    @pytest.fixture
    def model(self, tmp_path: Path) -> Path:
        return Path(shutil.copy(models.resolve(), tmp_path / "mine.uocr"))

    def test_a_file_is_read_once(self, model: Path) -> None:
        assert models.verify_once(model) is True
        assert models.verify_once(model) is False

    def test_a_changed_file_is_read_again_and_refused(self, model: Path) -> None:
        models.verify_once(model)
        with ModelFile.open(model) as opened:
            offset = opened.tensors["lm_head.weight"].offset
        with model.open("r+b") as file:
            file.seek(offset)
            file.write(b"\x55\x55\x55\x55")
        os.utime(model, ns=(1, 1))
        for _ in range(2):  # a refused file gets no stamp
            with pytest.raises(ModelFileError, match=r"mine\.uocr is damaged: tensor lm_head\.weight"):
                models.verify_once(model)

    def test_verify_always_reads(self, model: Path) -> None:
        models.verify_once(model)
        heard: list[tuple[int, int]] = []
        models.verify(model, lambda *pair: heard.append(pair))
        assert heard[-1][0] == heard[-1][1] > 25_000_000

    @pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"path": 1}'])
    def test_a_damaged_stamp_counts_for_nothing(self, model: Path, damage: bytes) -> None:
        models.verify_once(model)
        (stamp,) = (models.cache_folder() / "verified").iterdir()
        stamp.write_bytes(damage)
        assert models.verify_once(model) is True

    def test_without_a_writable_cache_it_is_read_every_time(self, model: Path, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_bytes(b"")
        monkeypatch.setenv("UOCR_CACHE", str(tmp_path / "file" / "cache"))
        assert models.verify_once(model) is True
        assert models.verify_once(model) is True


def test_a_damaged_record_hides_its_model(server: Hub) -> None:
    path = pull(server)
    record = path.with_suffix(".json")
    for damage in (b"", b"[]", json.dumps({"name": NAME}).encode()):
        record.write_bytes(damage)
        assert models.installed() == []


def test_the_cache_is_the_systems_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert models.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("UOCR_CACHE")
    assert models.cache_folder().name == "leggio"
