"""Models by name: what is found, removed and verified, and what works without a network."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hub_server import Hub
from hub_use import GOLDEN, NAME, WEIGHTS, downloads, pull, refusal
from uocr import models
from uocr.errors import ModelFileError, ModelNotFound
from uocr.modelfile import ModelFile


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

    def test_obtain_pulls_the_published_model_at_its_first_use(self, server: Hub,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(models, "PUBLISHED", NAME)
        path = models.obtain(NAME, endpoint=server.url)
        assert models.resolve(NAME, "q4") == path == models.obtain(NAME)

    def test_obtain_pulls_nothing_else(self, server: Hub) -> None:
        with pytest.raises(ModelNotFound, match="uocr pull"):
            models.obtain(NAME, endpoint=server.url)
        assert server.requests == []
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
