"""The list of pages and the page itself: order, badges, zoom, views, regions, places for a second look."""

from __future__ import annotations

import numpy as np
import pytest
from leggio.pages.items import DocumentItem, PageItem, PageState, state_of
from leggio.pages.model import PageModel
from leggio.pages.overlays import ViewsItem, box_rect
from leggio.pages.wording import badge, describe, explain
from leggio.reading.merge import merge_region
from PIL import Image, ImageDraw
from PySide6.QtCore import QModelIndex, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QNativeGestureEvent, QPointingDevice, QWheelEvent
from PySide6.QtWidgets import QApplication
from uocr.document import Block, Box, FinishReason, Page
from uocr.views import plan_views

from .scripted import ScriptedEngine
from .test_reading import read_all


@pytest.fixture
def five(tmp_path):
    document = DocumentItem(tmp_path / "a.pdf", "a.pdf", count=5)
    model = PageModel()
    model.append([PageItem(document, n) for n in range(5)])
    return model


def order(model: PageModel) -> list[int]:
    return [i.number for i in model.items]


@pytest.mark.parametrize(
    ("moved", "row", "expected"),
    [
        ([0], 5, [1, 2, 3, 4, 0]),
        ([4], 0, [4, 0, 1, 2, 3]),
        ([1, 3], 0, [1, 3, 0, 2, 4]),
        ([0, 1], 4, [2, 3, 0, 1, 4]),
        ([2], 2, [0, 1, 2, 3, 4]),
        ([2], 3, [0, 1, 2, 3, 4]),
        ([0, 2, 4], 3, [1, 0, 2, 4, 3]),
    ],
)
def test_pages_move_together_and_keep_their_order(qtmodeltester, five, moved, row, expected):
    five.move([five.item(n) for n in moved], row)
    assert order(five) == expected
    assert [five.row_of(i) for i in five.items] == [0, 1, 2, 3, 4]
    qtmodeltester.check(five)


def test_dragging_rows_moves_them(five):
    data = five.mimeData([five.index(0), five.index(2)])
    five.dropMimeData(data, Qt.DropAction.MoveAction, 5, 0, QModelIndex())
    assert order(five) == [1, 3, 4, 0, 2]


def test_removing_pages_forgets_them(five):
    gone = five.item(1)
    five.remove([gone, five.item(3)])
    assert order(five) == [0, 2, 4]
    assert five.by_key(gone.key) is None


@pytest.mark.parametrize(
    ("finish", "blocks", "state"),
    [
        (FinishReason.EOS, [Block("text", (), "a")], PageState.DONE),
        (FinishReason.EOS, [], PageState.BLANK),
        (FinishReason.EOS, [Block("image", (Box(0, 0, 9, 9),), "")], PageState.DONE),
        (FinishReason.LENGTH, [], PageState.CUT),
        (FinishReason.LOOP, [], PageState.LOOPED),
        (FinishReason.CANCELLED, [], PageState.CANCELLED),
        (FinishReason.ERROR, [], PageState.FAILED),
    ],
)
def test_a_badge_tells_how_the_page_ended(finish, blocks, state):
    assert state_of(Page("a", 0, 10, 10, blocks, finish_reason=finish)) is state


@pytest.mark.parametrize(
    ("finish", "threshold", "state"),
    [
        (FinishReason.EOS, 0.5, PageState.UNSURE),
        (FinishReason.EOS, 0.4, PageState.DONE),
        (FinishReason.EOS, 0.0, PageState.DONE),
        (FinishReason.LOOP, 0.5, PageState.LOOPED),
    ],
)
def test_a_page_of_which_the_model_is_unsure_is_not_simply_done(finish, threshold, state):
    blocks = [Block("text", (), "a", confidence=0.43)]
    page = Page("a", 0, 10, 10, blocks, finish_reason=finish, confidence_threshold=threshold)
    item = PageItem(DocumentItem("a", "a"), 0, state=state_of(page), page=page)
    assert item.state is state
    assert ("The model was only 43% sure of this page: the text may be wrong." in explain(item).text) is page.unsure
    if state is PageState.UNSURE:
        page.problems = ["a box is empty"]
        assert explain(item).text.endswith("the text may be wrong. A box is empty.")
        item.state = PageState.READING  # it is read again
        assert explain(item).text == ""


def test_a_page_whose_ink_gave_no_text_is_not_blank():
    for ink, state in ((True, PageState.NO_TEXT), (False, PageState.BLANK), (None, PageState.BLANK)):
        assert state_of(Page("a", 0, 10, 10, finish_reason=FinishReason.EOS, has_ink=ink)) is state


def test_a_page_being_read_says_how_far_it_is():
    item = PageItem(DocumentItem("a", "a"), 0, state=PageState.READING, progress=0.25, phase="vision")
    assert badge(item) == "Looking 25%"
    item.phase = "decode"
    assert badge(item) == "Writing"


def test_what_the_parser_could_not_use_is_told_and_a_text_layer_on_hover():
    item = PageItem(DocumentItem("a", "a"), 0, state=PageState.DONE)
    item.page = Page("a", 0, 10, 10, [Block("text", (), "a")], finish_reason=FinishReason.EOS, has_text_layer=True)
    assert explain(item).text == ""
    assert "The PDF page already carries text" in describe(item)
    item.page.problems = ["the box [5, 5, 5, 5] is empty", "a tag is not closed; kept as text", "third"]
    assert explain(item).text == "The box [5, 5, 5, 5] is empty. A tag is not closed; kept as text."


def test_thumbnails_are_made_off_the_windows_thread_and_shown(qtbot, window, picture):
    read_all(qtbot, window, [picture("tall.png", (100, 400))])
    qtbot.waitUntil(lambda: window.pictures.thumbnail(window.model.item(0)) is not None)
    size = window.pictures.thumbnail(window.model.item(0)).size()
    assert (size.width(), size.height()) == (36, 144)


def test_the_views_of_a_page_are_drawn_with_their_padding_and_tokens(qapp):
    views = ViewsItem(plan_views(500, 1000, "base"))
    # 1024 pixels of view for 1000 pixels of height: 512 of 1024 across are padding, 256 on either side.
    assert views.frame == QRectF(-250, 0, 1000, 1000)
    assert [tokens for _, tokens in views.captions()] == ["273"]
    crops = ViewsItem(plan_views(1280, 1280, "gundam"))
    assert crops.crop_rects() == [
        QRectF(0, 0, 640, 640),
        QRectF(640, 0, 640, 640),
        QRectF(0, 640, 640, 640),
        QRectF(640, 640, 640, 640),
    ]
    assert [t for _, t in crops.captions()] == ["100", "100", "100", "100", "273"]


def test_the_views_are_painted_over_the_page_and_can_be_hidden(qtbot, window, picture):
    read_all(qtbot, window, [picture("wide.png", (1280, 1280))])
    canvas = window.desk.canvas
    qtbot.waitUntil(lambda: canvas.page_size == (1280, 1280))
    canvas.set_views(plan_views(1280, 1280, "gundam"))
    window.actions_["show_views"].setChecked(True)
    shown = canvas.grab().toImage()
    middle = canvas.mapFromScene(640, 320)
    around = [shown.pixelColor(middle.x() + dx, middle.y() + dy) for dx in (-1, 0, 1) for dy in range(-6, 7)]
    assert any(c.blue() > c.red() + 60 for c in around)  # the line between two crops
    window.actions_["show_views"].setChecked(False)
    hidden = canvas.grab().toImage()
    middle = canvas.mapFromScene(640, 320)
    assert not any(
        hidden.pixelColor(middle.x() + dx, middle.y()).blue()
        > hidden.pixelColor(middle.x() + dx, middle.y()).red() + 60
        for dx in (-1, 0, 1)
    )


@pytest.mark.parametrize("ratio", [1.0, 2.0])
@pytest.mark.parametrize(("width", "height"), [(397, 561), (1013, 331), (211, 1999)])
def test_boxes_are_drawn_within_two_pixels_of_their_place(qtbot, window, width, height, ratio):
    """A blue patch in the picture, the box over it: both must have the same edges on the screen."""
    canvas = window.desk.canvas
    image = Image.new("RGB", (width, height), "white")
    box = Box(250, 333, 750, 666)
    left, top, right, bottom = box_rect(box, width, height).getRect()
    ImageDraw.Draw(image).rectangle(
        (round(left), round(top), round(left + right) - 1, round(top + bottom) - 1), fill=(0, 0, 255)
    )
    picture = QImage(image.tobytes(), width, height, width * 3, QImage.Format.Format_RGB888).copy()
    window.desk.show_page(True)
    canvas.clear()
    canvas.set_page(picture, width, height)
    canvas.set_zoom(0.3 if height > 1000 else 0.9)
    canvas.add_block(0, "text", [box])
    shot = QImage(
        int(canvas.viewport().width() * ratio),
        int(canvas.viewport().height() * ratio),
        QImage.Format.Format_RGB32,
    )
    shot.setDevicePixelRatio(ratio)
    canvas.viewport().render(shot)
    colour = canvas._blocks[0][0].pen().color()
    pixels = np.frombuffer(shot.constBits(), np.uint8).reshape(shot.height(), -1, 4).astype(int)
    blue, green, red = (
        pixels[:, : shot.width(), 0],
        pixels[:, : shot.width(), 1],
        pixels[:, : shot.width(), 2],
    )
    patch = bounds((blue > red + 40) & (green < 120))
    line = bounds(abs(red - colour.red()) + abs(green - colour.green()) + abs(blue - colour.blue()) < 90)
    assert np.abs(patch - line).max() <= 2 * ratio, (patch, line)


def bounds(wanted: np.ndarray) -> np.ndarray:
    """Left, top, right, bottom of the pixels that are wanted."""
    ys, xs = np.nonzero(wanted)
    return np.array([xs.min(), ys.min(), xs.max(), ys.max()])


def test_zoom_fit_and_actual_size(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    canvas = window.desk.canvas
    qtbot.waitUntil(lambda: canvas.page_size == (400, 560))
    fitted = canvas.zoom
    window.actions_["zoom_in"].trigger()
    assert canvas.zoom == pytest.approx(fitted * 1.25)
    window.actions_["actual"].trigger()
    assert canvas.zoom == pytest.approx(1.0)
    window.actions_["fit"].trigger()
    assert canvas.zoom == pytest.approx(fitted)
    canvas.set_zoom(1e9)
    assert canvas.zoom == pytest.approx(16.0)


def test_the_wheel_and_a_pinch_zoom_around_the_pointer(qtbot, window, picture):
    read_all(qtbot, window, [picture()])
    canvas = window.desk.canvas
    qtbot.waitUntil(lambda: canvas.page_size == (400, 560))
    before, middle = canvas.zoom, QPointF(canvas.viewport().rect().center())
    everywhere = canvas.viewport().mapToGlobal(middle)
    wheel = QWheelEvent(
        middle,
        everywhere,
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas.viewport(), wheel)
    assert canvas.zoom == pytest.approx(before * 1.0015**120)
    wheeled = canvas.zoom
    pinch = QNativeGestureEvent(
        Qt.NativeGestureType.ZoomNativeGesture,
        QPointingDevice.primaryPointingDevice(),
        2,
        middle,
        middle,
        everywhere,
        0.25,
        QPointF(),
    )
    QApplication.sendEvent(canvas.viewport(), pinch)
    assert canvas.zoom == pytest.approx(wheeled * 1.25)
    window.actions_["fit_width"].trigger()
    assert canvas.zoom * canvas.sceneRect().width() == pytest.approx(canvas.viewport().width(), abs=3)


def test_a_region_is_drawn_with_the_mouse_and_left_with_escape(qtbot, window, engine, picture):
    read_all(qtbot, window, [picture()])
    canvas = window.desk.canvas
    qtbot.waitUntil(lambda: canvas.page_size == (400, 560))
    window.actions_["region"].setChecked(True)
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert not window.actions_["region"].isChecked()
    window.actions_["region"].setChecked(True)
    start, end = (canvas.mapFromScene(x, y) for x, y in ((40, 100), (300, 200)))
    qtbot.mousePress(canvas.viewport(), Qt.MouseButton.LeftButton, pos=start)
    canvas.mouseMoveEvent(mouse_move(canvas, end))
    qtbot.mouseRelease(canvas.viewport(), Qt.MouseButton.LeftButton, pos=end)
    qtbot.waitUntil(lambda: len(engine.read_pages) == 2)
    assert engine.settings_seen[-1]["region"] == pytest.approx((40, 100, 300, 200), abs=2)
    assert not window.actions_["region"].isChecked()


def mouse_move(canvas, place: QPoint):
    from PySide6.QtCore import QEvent, QPointF
    from PySide6.QtGui import QMouseEvent

    return QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(place),
        canvas.viewport().mapToGlobal(QPointF(place)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )


def page(*blocks: tuple[str, tuple[int, int, int, int]]) -> Page:
    return Page(
        "a",
        0,
        1000,
        1000,
        [Block("text", (Box(*box),), text) for text, box in blocks],
        finish_reason=FinishReason.EOS,
    )


def test_a_region_takes_the_place_of_what_stood_there():
    whole = page(("a", (0, 0, 999, 100)), ("b", (0, 200, 999, 300)), ("c", (0, 400, 999, 500)))
    read = page(("B1", (0, 210, 500, 290)), ("B2", (500, 210, 999, 290)))
    assert [b.text for b in merge_region(whole, read, (0, 190, 1000, 310)).blocks] == ["a", "B1", "B2", "c"]
    assert [b.text for b in whole.blocks] == ["a", "b", "c"]


def test_a_region_where_nothing_stood_goes_where_it_is_read():
    whole = page(("a", (0, 0, 999, 100)), ("c", (0, 400, 999, 500)))
    read = page(("new", (0, 210, 500, 290)))
    assert [b.text for b in merge_region(whole, read, (0, 190, 1000, 310)).blocks] == ["a", "new", "c"]


def test_a_region_cut_short_is_not_hidden_by_a_complete_page():
    whole, read = page(("a", (0, 0, 999, 100))), page()
    read.finish_reason = FinishReason.LENGTH
    assert merge_region(whole, read, (0, 0, 10, 10)).finish_reason is FinishReason.LENGTH


def test_of_a_page_with_a_region_read_anew_the_newer_models_threshold_counts():
    whole, read = page(("a", (0, 0, 999, 100))), page(("b", (0, 500, 999, 600)))
    read.blocks[0].confidence, read.confidence_threshold = 0.43, 0.5
    assert merge_region(whole, read, (0, 490, 1000, 610)).unsure and not whole.unsure


def test_of_a_page_with_a_region_read_anew_the_readings_are_counted_with_their_times():
    whole, read = page(("a", (0, 0, 999, 100))), page(("b", (0, 500, 999, 600)))
    read.readings = read.kept_reading = 2
    merged = merge_region(whole, read, (0, 490, 1000, 610))
    assert (merged.readings, merged.kept_reading, merged.timings) == (2, 2, read.timings)


def test_ink_nobody_read_and_boxes_without_ink_are_offered(qtbot, make_window, tmp_path):
    path = tmp_path / "p.png"
    image = Image.new("RGB", (1000, 1000), "white")
    draw = ImageDraw.Draw(image)
    for top in (100, 600):
        for left in range(100, 700, 30):
            draw.rectangle((left, top, left + 14, top + 18), fill="black")
    image.save(path)
    text = "<|det|>text [90, 90, 730, 130]<|/det|>read\n<|det|>text [100, 850, 800, 900]<|/det|>made up"
    engine = ScriptedEngine(text)
    window = make_window(engine)
    read_all(qtbot, window, [path])
    qtbot.waitUntil(lambda: len(window.desk.canvas._marks) == 2)
    marks = {m.kind: m.rect for m in window.desk.canvas._marks}
    assert marks["missed"].top() == pytest.approx(600, abs=10) and marks["missed"].left() == pytest.approx(100, abs=10)
    assert marks["invented"].top() == pytest.approx(851, abs=2)
    window.desk.canvas.mark_clicked.emit("invented", marks["invented"])
    window.panel.notice.choose("Remove this block")
    assert [b.text for b in window.model.item(0).page.blocks] == ["read"]
    window.actions_["undo"].trigger()
    assert [b.text for b in window.model.item(0).page.blocks] == ["read", "made up"]
    window.desk.canvas.mark_clicked.emit("missed", marks["missed"])
    window.panel.notice.choose("Read this place")
    qtbot.waitUntil(lambda: len(engine.read_pages) == 2)
    assert engine.settings_seen[-1]["region"][1] == pytest.approx(600, abs=10)
