"""Special functions, element by element, named after `torch.special`."""

from migrate.graph.ops import declare

for _name in (
    "airy_ai", "polygamma", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr",
    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "ndtr", "ndtri",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0", "xlog1py", "zeta",
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
):  # fmt: skip
    declare(f"special_{_name}", f"torch.special:{_name}")
for _name in ("i0", "igamma", "igammac", "mvlgamma", "polygamma", "erfc", "logit"):
    declare(_name, f"torch:{_name}")
