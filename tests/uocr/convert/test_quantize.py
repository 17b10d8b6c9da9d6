"""q8 and q4 as the format defines them, on numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from uocr.convert.quantize import quantise_q4, quantise_q8, to_float32
from uocr.modelfile import dequantise_q4, dequantise_q8


def group(*head: float) -> np.ndarray:
    """One group of 64 that starts with ``head`` and goes on with zeros."""
    return np.array([[*head, *[0.0] * (64 - len(head))]], np.float32)


def test_q8_divides_by_the_peak_over_127() -> None:
    codes, scales = quantise_q8(group(127.0, -127.0, 1.0, 0.4, 0.6))
    assert codes[0, :5].tolist() == [127, -127, 1, 0, 1]
    assert scales.tolist() == [[1.0]]


def test_q8_rounds_halves_to_even() -> None:
    codes, _ = quantise_q8(group(127.0, 0.5, 1.5, 2.5, -0.5, -1.5))
    assert codes[0, 1:6].tolist() == [0, 2, 2, 0, -2]


def test_q8_divides_by_the_f32_scale_and_stores_its_f16_rounding() -> None:
    block = group(10.0, 9.96)
    codes, scales = quantise_q8(block)
    assert codes[0, :2].tolist() == [127, 126]  # 9.96 / (10 / 127) = 126.492
    assert scales[0, 0] == np.float16(10 / 127)


def test_q4_keeps_values_that_already_lie_on_its_steps() -> None:
    packed, scales = quantise_q4(group(-8.0, 7.0, 3.0, -2.0))
    assert scales.tolist() == [[1.0]]
    assert (packed[0, :5] & 15).tolist() == [0, 15, 11, 6, 8]


def test_q4_gives_the_peak_the_code_minus_8_whatever_its_sign() -> None:
    _, positive = quantise_q4(group(2.0, -1.75))
    _, negative = quantise_q4(group(-2.0, 1.75))
    assert (positive[0, 0], negative[0, 0]) == (-0.25, 0.25)


def test_q4_moves_the_peak_where_the_rest_gains_more() -> None:
    """With -8 kept, 63 values of 3.6 would be 0.4 off each: 10.1 in squares. Steps of 1.195 hold them as 3."""
    block = np.array([[-8.0, *[3.6] * 63]], np.float32)
    packed, scales = quantise_q4(block)
    assert set((packed[0] >> 4).tolist()) == {11}
    assert scales[0, 0] == np.float16((64 + 63 * 12.96) / (7 * 8 + 63 * 3 * 3.6))
    assert np.square(dequantise_q4(packed, scales) - block).sum() < 0.2


def test_q4_codes_are_values_over_the_stored_scale() -> None:
    block = np.random.default_rng(2).standard_normal((300, 128)).astype(np.float32)
    packed, scales = quantise_q4(block)
    steps = block.reshape(300, 2, 64) / scales.astype(np.float32)[..., None]
    codes = np.clip(np.rint(steps), -8, 7)
    assert {-8, 7} < set(codes.ravel())
    np.testing.assert_array_equal(dequantise_q4(packed, scales).reshape(300, 2, 64),
                                  codes * scales.astype(np.float32)[..., None])


def least_error(values: np.ndarray) -> float:
    """Least squared error of one group over a fine grid of scales of either sign, each refitted to its codes."""
    scales = np.abs(values).max() / 8 * np.linspace(0.5, 1.3, 801)
    scales = np.concatenate([scales, -scales])[:, None]
    codes = np.clip(np.rint(values / scales), -8, 7)
    fitted = codes @ values / np.maximum(np.square(codes).sum(axis=1), 1)
    return float(np.square(values - fitted[:, None] * codes).sum(axis=1).min())


def test_q4_comes_near_the_least_squared_error() -> None:
    values = np.random.default_rng(3).standard_normal((200, 64)).astype(np.float32)
    mine = np.square(dequantise_q4(*quantise_q4(values)) - values).sum()
    assert mine <= 1.03 * sum(least_error(row) for row in values.astype(np.float64))


def test_q4_neither_shrinks_nor_stretches_a_group() -> None:
    """The scale that fits the codes best would shrink by the share of the error, here 0.9 %."""
    values = np.random.default_rng(6).standard_normal((2000, 64)).astype(np.float32)
    restored = dequantise_q4(*quantise_q4(values))
    assert np.square(restored - values).sum() > 0.007 * np.square(values).sum()
    assert abs((restored * values).sum() / np.square(values).sum() - 1) < 0.005


def test_q4_is_the_same_in_any_order_of_the_values_of_a_half() -> None:
    """No machine's order of adding shows in the file."""
    rng = np.random.default_rng(4)
    block = rng.standard_normal((50, 64)).astype(np.float32)
    order = np.concatenate([rng.permutation(32), 32 + rng.permutation(32)])
    packed, scales = quantise_q4(block)
    packed_other, scales_other = quantise_q4(block[:, order])
    np.testing.assert_array_equal(scales, scales_other)
    codes = np.concatenate([packed & 15, packed >> 4], axis=1)
    np.testing.assert_array_equal(np.concatenate([packed_other & 15, packed_other >> 4], axis=1), codes[:, order])


def test_q4_of_many_rows_is_that_of_each() -> None:
    """More groups than are worked on at once."""
    block = np.random.default_rng(5).standard_normal((700, 64)).astype(np.float32)
    together, alone = quantise_q4(block), [quantise_q4(row[None]) for row in block]
    for n in range(2):
        np.testing.assert_array_equal(together[n], np.concatenate([each[n] for each in alone]))


def test_a_q4_scale_stays_within_f16() -> None:
    """Values whose best scale would be 65,580: the range check lets them in."""
    packed, scales = quantise_q4(np.full((1, 64), 524_640.0, np.float32))
    assert scales.tolist() == [[-65504.0]]
    assert set(packed.ravel().tolist()) == {0}


def test_q4_puts_the_second_half_of_a_group_in_the_high_bits() -> None:
    block = np.zeros((1, 64), np.float32)
    block[0, [0, 1, 32, 33]] = (-8.0, 1.0, 2.0, 3.0)
    packed, _ = quantise_q4(block)
    assert packed.shape == (1, 32)
    assert packed[0, :3].tolist() == [0x0 | 0xA << 4, 0x9 | 0xB << 4, 0x88]


@pytest.mark.parametrize("quantise", [quantise_q8, quantise_q4])
def test_a_group_of_zeros_has_scale_0_and_codes_0(quantise) -> None:
    codes, scales = quantise(np.zeros((2, 128), np.float32))
    assert scales.tobytes() == bytes(8)  # +0, never -0
    assert set(codes.ravel().tolist()) == ({0} if quantise is quantise_q8 else {0x88})


def test_groups_do_not_see_each_other() -> None:
    block = np.concatenate([group(1000.0), group(0.001)], axis=1)
    restored = dequantise_q8(*quantise_q8(block))
    np.testing.assert_allclose(restored[0, [0, 64]], [1000.0, 0.001], rtol=1e-3)


@pytest.mark.parametrize(("quantise", "dequantise", "step"), [
    (quantise_q8, dequantise_q8, 0.5 / 127 + 2.0**-11),  # half a step, and the scale's own rounding
    (quantise_q4, dequantise_q4, 2.0 / 8),  # two steps, where a small scale clamps the peak and what is opposite
])
def test_restored_values_are_within_a_step(quantise, dequantise, step: float) -> None:
    block = np.random.default_rng(1).standard_normal((37, 192)).astype(np.float32)
    peak = np.abs(block).reshape(37, 3, 64).max(axis=-1).repeat(64, axis=-1).reshape(37, 192)
    assert np.all(np.abs(dequantise(*quantise(block)) - block) <= step * peak)


def test_bf16_widens_exactly() -> None:
    raw = np.array([0x3F80, 0xC000, 0x0001], np.uint16)
    assert to_float32(raw, "BF16").tolist() == [1.0, -2.0, 2.0**-133]
