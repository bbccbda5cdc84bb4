"""Ops that draw random numbers: never folded and never merged."""

from migrate.graph.ops import declare

declare("dropout", "torch.nn.functional:dropout", random=True)
declare("alpha_dropout", "torch.nn.functional:alpha_dropout", random=True)
declare("randn", "torch:randn", random=True, makes=True)
declare("rand", "torch:rand", random=True, makes=True)
declare("randn_like", "torch:randn_like", random=True)
declare("rand_like", "torch:rand_like", random=True)
declare("bernoulli", "torch:bernoulli", random=True)
