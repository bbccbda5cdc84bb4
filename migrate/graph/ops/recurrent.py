"""Recurrent layers, all weights given as a flat list in the order of `torch.nn.RNNBase`."""

from migrate.graph.ops import declare

declare("lstm", "torch:lstm", learns=(2,), learns_attributes=(1,))
declare("gru", "torch:gru", learns=(2,), learns_attributes=(1,))
declare("rnn_tanh", "torch:rnn_tanh", learns=(2,), learns_attributes=(1,))
declare("rnn_relu", "torch:rnn_relu", learns=(2,), learns_attributes=(1,))
for _name in ("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"):
    declare(_name, f"torch:{_name}", learns=(2, 3, 4, 5), learns_attributes=(1,))
declare("gru_reset_first", "runtime.functional.recurrent:gru_reset_first", learns=(2,), learns_attributes=(1,))
