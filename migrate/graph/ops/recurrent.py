"""Recurrent layers, all weights given as a flat list in the order of `torch.nn.RNNBase`."""

from migrate.graph.ops import declare

declare("lstm", "torch:lstm")
declare("gru", "torch:gru")
declare("rnn_tanh", "torch:rnn_tanh")
declare("rnn_relu", "torch:rnn_relu")
