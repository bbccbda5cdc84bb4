"""Inside, nothing is dropped, however dropout is called."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from runtime.verify.without_dropout import WithoutDropout

X = torch.ones(3, 4, 8)
CALLS = {
    "dropout": lambda: F.dropout(X, 0.5),
    "dropout in place": lambda: torch.dropout_(X.clone(), 0.5, True),
    "dropout1d": lambda: F.dropout1d(X, 0.5),
    "feature_alpha_dropout": lambda: F.feature_alpha_dropout(X, 0.5, training=True),
    "module": lambda: nn.Dropout(0.5)(X),
    "attention, by place": lambda: F.scaled_dot_product_attention(X, X, X, None, 0.5),
    "attention, by name": lambda: F.scaled_dot_product_attention(X, X, X, dropout_p=0.5),
    "bernoulli": lambda: X * torch.empty(3, 1, 1).bernoulli_(0.5),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_dropped(name: str) -> None:
    torch.manual_seed(0)
    assert not torch.allclose(CALLS[name](), X)
    with WithoutDropout():
        torch.testing.assert_close(CALLS[name](), X)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("packed", [False, True])
def test_recurrent_layers_and_attention_modules_are_as_in_evaluation(kind: type[nn.Module], packed: bool) -> None:
    torch.manual_seed(0)
    layer = kind(8, 4, num_layers=2, dropout=0.5, batch_first=True)
    x = nn.utils.rnn.pack_padded_sequence(X, torch.tensor([4, 3, 2]), batch_first=True) if packed else X

    def output() -> torch.Tensor:
        found = layer(x)[0]
        return found.data if packed else found

    with WithoutDropout():
        trained = output()
    layer.eval()
    torch.testing.assert_close(trained, output())


def test_a_transformer_layer_is_as_in_evaluation() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5, batch_first=True)
    with WithoutDropout():
        trained = layer(X)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        torch.testing.assert_close(trained, layer.eval()(X))
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
