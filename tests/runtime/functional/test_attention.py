"""Attention beyond torch's own function, held against it where both apply."""

import pytest
import torch
import torch.nn.functional as F

from runtime.functional.attention import attention_mask, linear_attention, masked_softmax, rotary, rotate_pairs


def test_causal_mask_is_torchs() -> None:
    q, k, v = (torch.randn(2, 3, n, 4) for n in (5, 5, 5))
    masked = F.scaled_dot_product_attention(q, k, v, attn_mask=attention_mask(q, k, causal=True))
    torch.testing.assert_close(masked, F.scaled_dot_product_attention(q, k, v, is_causal=True))


def test_lengths_put_the_last_query_at_the_last_valid_key() -> None:
    q, k = torch.randn(2, 1, 2, 4), torch.randn(2, 1, 4, 4)
    allowed = attention_mask(q, k, lengths=torch.tensor([4, 2]), causal=True) == 0
    assert allowed[0, 0].tolist() == [[True, True, True, False], [True] * 4]
    assert allowed[1, 0].tolist() == [[True, False, False, False], [True, True, False, False]]


def test_a_row_without_keys_is_zero_and_has_no_gradient() -> None:
    scores = torch.randn(2, 3, requires_grad=True)
    mask = torch.tensor([[0.0, 0.0, 0.0], [-torch.inf] * 3])
    made = masked_softmax(scores + mask, mask)
    made.square().sum().backward()
    assert made[1].tolist() == [0.0, 0.0, 0.0]
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()


def test_turning_keeps_lengths() -> None:
    x, angle = torch.randn(2, 3, 6), torch.randn(3, 2)
    turned = rotate_pairs(x, angle.cos(), angle.sin(), interleaved=True)
    torch.testing.assert_close(turned[..., :4].norm(dim=-1), x[..., :4].norm(dim=-1))
    torch.testing.assert_close(turned[..., 4:], x[..., 4:])


@pytest.mark.parametrize("interleaved", [False, True])
def test_turning_by_feature_is_turning_by_pair(interleaved: bool) -> None:
    x, angle = torch.randn(2, 3, 6), torch.randn(3, 3)
    each = angle.repeat_interleave(2, -1) if interleaved else angle.repeat(1, 2)
    torch.testing.assert_close(
        rotary(x, each.cos(), each.sin(), interleaved), rotate_pairs(x, angle.cos(), angle.sin(), interleaved)
    )


def test_without_decay_the_state_is_the_sum_of_outer_products() -> None:
    q, k, v = (torch.randn(1, 2, 4, n) for n in (3, 3, 5))
    y, state = linear_attention(q, k, v)
    torch.testing.assert_close(state, k.transpose(2, 3) @ v)
    torch.testing.assert_close(y, (q @ k.transpose(2, 3)).tril() @ v)
