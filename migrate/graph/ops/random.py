"""Ops that draw random numbers: never folded and never merged."""

from migrate.graph.ops import declare

declare("dropout", "torch.nn.functional:dropout", random=True)
declare("alpha_dropout", "torch.nn.functional:alpha_dropout", random=True)
declare("feature_dropout", "torch:feature_dropout", random=True)
declare("feature_alpha_dropout", "torch:feature_alpha_dropout", random=True)
for _name in ("dropout", "alpha_dropout"):
    declare(f"constant_{_name}", f"torch:{_name}", random=True)  # drawn in evaluation as well
declare("drop_path", "runtime.functional.random:drop_path", random=True)
declare("randn", "torch:randn", random=True, makes=True)
declare("rand", "torch:rand", random=True, makes=True)
declare("randn_like", "torch:randn_like", random=True)
declare("rand_like", "torch:rand_like", random=True)
declare("exponential", "runtime.functional.random:exponential", random=True)
for _name in ("bernoulli", "multinomial", "normal", "poisson", "randint_like"):
    declare(_name, f"torch:{_name}", random=True)
for _name in ("randint", "randperm"):
    declare(_name, f"torch:{_name}", random=True, makes=True)
