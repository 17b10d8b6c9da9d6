"""Several pages in one pass, and questions where words stand: what must be written, and what is learned of it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

from training.config import tiny_config  # noqa: E402
from training.loader import Batch, Loader  # noqa: E402
from training.model import Reader  # noqa: E402
from training.objective import AuxiliaryHeads, Objective, Weights, token_targets  # noqa: E402
from training.pages import GENRES, GRIDS, Exercise, Kind, PageMaker  # noqa: E402
from training.pages.kinds import BLANK  # noqa: E402
from training.pages.maker import MOST_TOKENS  # noqa: E402
from training.pages.phrases import MOST_IDS, ink_box  # noqa: E402
from training.recipe import Recipe  # noqa: E402
from training.slots import Layout  # noqa: E402
from training.smoke import smoke_pack  # noqa: E402
from training.targets import Block, Task, Vocabulary  # noqa: E402


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return smoke_pack(tmp_path_factory.mktemp("training") / "pack")


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(Path(__file__).parents[2] / "training" / "tokenizer.json")


def test_every_page_of_one_pass_begins_with_its_mark_and_the_end_comes_once(vocabulary: Vocabulary) -> None:
    def page(word: str) -> list[int]:
        return vocabulary.target([Block("text", word, [(5.0, 5.0)] * len(word), (10, 0, 50, 20))], 100, 200).ids

    ids = vocabulary.joined([page("First"), [vocabulary.end], page("Third")])
    assert vocabulary.decode(ids) == (
        "<PAGE><|det|>text [100, 0, 500, 100]<|/det|>First\n<PAGE><PAGE><|det|>text [100, 0, 500, 100]<|/det|>Third\n"
    )
    assert ids.count(vocabulary.end) == 1 and ids[-1] == vocabulary.end
    assert ids[0] == vocabulary.page_mark == 2041
    assert vocabulary.prompts[Task.SEVERAL] == [47, 387, 279, 270, 658, 386, 85, 343, 16]


def test_a_phrase_is_answered_with_its_box(vocabulary: Vocabulary) -> None:
    place = Block("text", "Ab 12", [(10.0 + 10 * i, 50.0) for i in range(5)], (10, 40, 60, 60))
    target = vocabulary.location("Ab 12", place, 100, 200)
    asked, answer = target.ids[: target.asked], target.ids[target.asked :]
    assert vocabulary.decode(asked) == "Locate <|ref|>Ab 12<|/ref|> in the image."
    assert vocabulary.decode(answer) == "<|ref|>Ab 12<|/ref|><|det|>[[100, 200, 599, 300]]<|/det|>"
    assert asked == vocabulary.encode("Locate <|ref|>Ab 12<|/ref|> in the image."), "as a prompt is tokenised"
    assert answer[-1] == vocabulary.end
    assert len(target.points) == len(target.ids)
    assert target.points[target.asked] == (10.0, 50.0) and target.points[target.asked - 1] == (-1.0, -1.0)


def test_a_phrase_that_is_not_on_the_page_is_answered_with_the_end(vocabulary: Vocabulary) -> None:
    target = vocabulary.location("Ab 12", None, 100, 200)
    assert target.ids[target.asked :] == [vocabulary.end]


def test_the_ink_box_of_words_ends_at_the_gaps_beside_them_and_between_the_lines() -> None:
    page = Image.new("L", (100, 60), 0)
    draw = ImageDraw.Draw(page)
    for x, y in ((10, 10), (16, 10), (30, 10), (36, 10), (50, 10), (30, 30)):  # each character is 5 x 10 pixels
        draw.rectangle((x, y, x + 4, y + 9), fill=255)
    points = [(12.0, 15.0), (18.0, 15.0), (25.0, 15.0), (32.0, 15.0), (38.0, 15.0), (45.0, 15.0), (52.0, 15.0)]
    points += [(30.0, 35.0), (32.0, 35.0)]
    block = Block("text", "ab cd e f", points, (10, 10, 55, 40))
    ink = np.asarray(page) > 96
    assert ink_box(ink, block, 3, 5) == (30, 10, 41, 20)
    assert ink_box(ink, block, 0, 5) == (10, 10, 41, 20)
    assert ink_box(ink, block, 8, 9) == (30, 30, 35, 40)


def test_questions_name_what_stands_once_on_the_page_or_not_at_all(pack: Path) -> None:
    maker = PageMaker(pack, "train", 3)
    absent = 0
    for kind in [Kind(1), Kind(2, genre="document"), Kind(BLANK), Kind(2, (1, 2))] * 5:
        found = maker.exercise(Task.LOCATE, [kind])
        text = maker.vocabulary.decode(found.ids[: found.asked].tolist())
        answer = maker.vocabulary.decode(found.ids[found.asked :].tolist())
        phrase = text.removeprefix("Locate <|ref|>").removesuffix("<|/ref|> in the image.")
        shown = "\n".join(block.text for block in found.pages[0].blocks)
        assert len(found.ids) <= MOST_IDS and len(found.ids) == len(found.places)
        assert shown.count(phrase) == (1 if answer else 0)
        if answer:
            assert answer.startswith(f"<|ref|>{phrase}<|/ref|><|det|>[[") and answer.endswith("]]<|/det|>")
            assert (found.places[: found.asked] == 255).all() and (found.places[found.asked] < 64).all()
        absent += not answer
    assert 5 <= absent < 15, "all on blank pages, some on others"


def test_pages_of_one_pass_fit_into_the_longest_target(pack: Path) -> None:
    maker = PageMaker(pack, "train", 4)
    for levels in ((2, BLANK), (3, 3, 3, 3)):
        found = maker.exercise(Task.SEVERAL, [Kind(level) for level in levels])
        assert len(found.pages) == len(levels)
        assert len(found.ids) == len(found.places) <= MOST_TOKENS
        assert found.ids.tolist().count(maker.vocabulary.page_mark) == len(levels)
        assert len(found.ids) == 1 + sum(len(page.ids) for page in found.pages)


def _batch(pack: Path, layout: Layout, exercises: list[Exercise]) -> Batch:
    """Examples through the slots of a loader without page makers."""
    loader = Loader(pack, [layout], 0, 1)
    store = loader.assembly.stores[0]
    for exercise in exercises:
        slot = store.free.get()
        store.put(slot, exercise)
        store.ready.put(slot)
    loader.begin([[(0, 1.0)]], torch.device("cpu"), 1)
    batch = loader.next()
    loader.close()
    return batch


@pytest.fixture(scope="module")
def batches(pack: Path) -> dict[Task, Batch]:
    """Two examples of each task."""
    maker, found = PageMaker(pack, "train", 6), {}
    for task, together in ((Task.READ, 1), (Task.SEVERAL, 2), (Task.LOCATE, 1)):
        layout = Layout(None, 2, 2, (1.0,), task=task, together=together)
        kinds = layout.kinds(random.Random(1))
        found[task] = _batch(pack, layout, [maker.exercise(task, kinds) for _ in range(2)])
    return found


def test_a_batch_holds_the_pages_of_all_its_examples_in_order(batches: dict[Task, Batch]) -> None:
    batch = batches[Task.SEVERAL]
    assert batch.view.shape == (4, 1024, 1024) and batch.labels.shape[0] == batch.level.shape[0] == 4
    assert batch.rect.shape == (4, 4) and batch.ids.shape[0] == batch.length.shape[0] == 2


def test_only_the_answer_is_learned(batches: dict[Task, Batch]) -> None:
    batch = batches[Task.LOCATE]
    targets = token_targets(batch)
    assert batch.asked is not None
    for row, (asked, length) in enumerate(zip(batch.asked.tolist(), batch.length.tolist(), strict=True)):
        assert 0 < asked < length
        assert targets.wanted[row, :asked].eq(-100).all() and targets.wanted[row, length:].eq(-100).all()
        assert torch.equal(targets.wanted[row, asked:length], batch.ids[row, asked:length].long())
        assert targets.weight[row, :asked].eq(0).all() and targets.places[row, :asked].eq(-100).all()
        assert targets.weight[row, asked] == 4 and targets.weight[row, length - 1] == 4


def test_a_step_of_every_task_gives_a_loss(batches: dict[Task, Batch], vocabulary: Vocabulary) -> None:
    torch.manual_seed(2)
    config = tiny_config()
    objective = Objective(Reader(config), AuxiliaryHeads(config["hidden_size"], 64), vocabulary, Weights())
    for batch in batches.values():
        with torch.no_grad():
            loss, _ = objective(batch)
        assert bool(loss.isfinite())


def test_visual_rows_of_several_pages_follow_each_other(vocabulary: Vocabulary, batches: dict[Task, Batch]) -> None:
    torch.manual_seed(2)
    config = tiny_config()
    net = Reader(config)
    objective = Objective(net, AuxiliaryHeads(config["hidden_size"], 64), vocabulary, Weights())
    with torch.no_grad():
        visual, _ = objective._look(batches[Task.SEVERAL])
    assert visual.shape[:2] == (2, 2 * 273)
    for end in (272, 545):
        assert torch.equal(visual[0, end], net.model.view_seperator)
        assert torch.equal(visual[0, end - 1], net.model.image_newline)


def test_no_token_of_a_question_is_replaced(vocabulary: Vocabulary) -> None:
    config = tiny_config()
    net = Reader(config)
    objective = Objective(net, AuxiliaryHeads(config["hidden_size"], 64), vocabulary, Weights(noise=1.0))
    ids = torch.full((2, 9), 1900)
    inputs, prompt = objective._inputs(torch.zeros(2, 3, config["hidden_size"]), ids, Task.LOCATE, torch.tensor([4, 8]))
    same = (inputs[:, prompt : prompt + 8] == net.model.embed_tokens.weight[1900]).all(-1)
    assert prompt == 1 + 3, "the question is no part of the fixed prompt"
    assert same.tolist() == [[True] * 4 + [False] * 4, [True] * 8]


def test_a_short_question_is_the_same_as_input_and_as_part_of_the_prompt() -> None:
    """The engine keeps the prompt's keys for good and those of written tokens in a window of 128."""
    torch.manual_seed(7)
    net = Reader(tiny_config()).eval()
    inputs = torch.randn(1, 21 + MOST_IDS, net.config["hidden_size"])
    with torch.no_grad():
        given, prompted = (net.decode(inputs, prompt)[0][:, 61:] for prompt in (21, 61))
        longer = torch.cat([inputs, inputs[:, -8:]], 1)
        apart = [net.decode(longer, prompt)[0][:, -1] for prompt in (21, 61)]
    assert torch.allclose(given, prompted, atol=1e-6)
    assert not torch.allclose(*apart, atol=1e-6), "beyond the window it would not be the same"


def test_tasks_take_their_shares_of_the_second_batch() -> None:
    recipe = Recipe()
    layouts, (base, others) = recipe.layouts(), recipe.plan()
    assert base == [(0, 1.0)] and sum(share for _, share in others) == pytest.approx(1)
    by_task = {task: sum(s for n, s in others if layouts[n].task is task) for task in Task}
    assert by_task == pytest.approx({Task.READ: 0.88, Task.SEVERAL: 0.08, Task.LOCATE: 0.04})
    reading = replace(recipe, together_shares=(0, 0, 0), locate_shares=(0, 0))
    assert all(layout.task is Task.READ for layout in reading.layouts())


def test_pages_that_lie_have_their_share_of_the_steps_with_crops() -> None:
    recipe = Recipe()
    shares = dict(zip(GRIDS, recipe.crop_shares, strict=True))
    assert sum(recipe.crop_shares) == pytest.approx(1) == sum(recipe.crop_genres)
    assert len(recipe.crop_genres) == len(GENRES)
    assert shares[3, 2] == pytest.approx(0.14), "paper lying"
    assert shares[5, 3] == pytest.approx(0.09), "screens"
    assert max(shares, key=lambda grid: shares[grid]) == (2, 3), "most pages are A4"


def test_the_engine_makes_the_same_prompt_of_a_question(vocabulary: Vocabulary) -> None:
    from uocr.modelfile import ModelFile
    from uocr.prompt import build_prompt_ids
    from uocr.tokenizer import Tokenizer as EngineTokenizer

    built_in = Path(__file__).parents[2] / "resources" / "models" / "built-in.uocr"
    with ModelFile.open(built_in) as file:
        engine = EngineTokenizer(file.tokenizer_json, digits=file.front_end.get("digits"))
        for phrase in ("total", "Ab 12,50 € ora", "«--all» 192.168.0.1", "perché no"):
            text = f"<image>Locate <|ref|>{phrase}<|/ref|> in the image."
            ids = build_prompt_ids(file.front_end, file.config, engine, text, [273])
            assert ids == [0, *[2035] * 273, *vocabulary.question(phrase)]
        several = build_prompt_ids(file.front_end, file.config, engine, "<image>Multi page parsing.", [546])
        assert several == [0, *[2035] * 546, *vocabulary.prompts[Task.SEVERAL]]
