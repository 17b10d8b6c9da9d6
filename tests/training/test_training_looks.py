"""Looks of pages, painted on the device. Needs torch: skipped without it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

from training.augment import Look, draw_look, paint_tiles, paint_view  # noqa: E402


def plain(shadow: torch.Tensor | None = None) -> Look:
    """White paper, black ink, nothing else."""
    one = torch.ones(1)
    return Look(torch.ones(1, 3), torch.zeros(1, 3), torch.zeros(1, 2), one * 0, one * 0.05, shadow)


def test_a_shadow_is_drawn_after_everything_else_of_a_look() -> None:
    small = torch.tensor([False, True, False])
    one, two = (draw_look(small, torch.Generator().manual_seed(7), shadows) for shadows in (0.0, 1.0))
    assert one.shadow is None and two.shadow is not None
    for name in ("paper", "ink", "gradient", "noise", "blur"):
        assert torch.equal(getattr(one, name), getattr(two, name)), "held-out pictures must stay as they are"


def test_dirt_is_drawn_after_everything_else_of_a_look() -> None:
    small = torch.tensor([False, True, False])
    clean, dirty = (draw_look(small, torch.Generator().manual_seed(7), 1.0, share) for share in (0.0, 1.0))
    for name in ("paper", "ink", "gradient", "blur", "shadow"):
        assert torch.equal(getattr(clean, name), getattr(dirty, name))
    assert not bool(clean.specks.any())


def test_specks_hide_the_share_of_the_page_that_they_should() -> None:
    look = plain()
    look.specks = torch.tensor([0.02])
    view = paint_view(
        torch.zeros(1, 512, 512, dtype=torch.uint8),
        torch.tensor([[0, 0, 512, 512]]),
        look,
        torch.Generator().manual_seed(3),
    )
    dark = float((view[0, 0] < 0).float().mean())
    # Single pixels hide 2 %, squares of four another 0.25 %; four of ten specks are light.
    assert dark == pytest.approx(0.6 * 0.0225, rel=0.15)
    assert bool((view[:, 0] == view[:, 2]).all()), "specks are grey"


def test_a_shadow_darkens_its_side_of_the_page_and_falls_on_crops_alike() -> None:
    shadow = torch.tensor([[0.5, 1.0, 0.0, 0.0, 0.02]])  # half as bright right of the middle
    view = paint_view(torch.zeros(1, 64, 64, dtype=torch.uint8), torch.tensor([[0, 0, 64, 64]]), plain(shadow))
    assert view[0, 0, 32, 4] == 1.0
    assert view[0, 0, 32, 60].item() == pytest.approx(0.0, abs=0.01)
    tiles = paint_tiles(torch.zeros(1, 2, 64, 64, dtype=torch.uint8), (2, 1), plain(shadow))
    assert tiles[0, 0, 32, 4] == 1.0 and tiles[1, 0, 32, 60].item() == pytest.approx(0.0, abs=0.01)


def test_without_a_shadow_paper_stays_white() -> None:
    view = paint_view(torch.zeros(1, 64, 64, dtype=torch.uint8), torch.tensor([[0, 0, 64, 64]]), plain())
    assert bool((view == 1.0).all())
