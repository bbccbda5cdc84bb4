"""Linear algebra: decompositions, solutions and norms of matrices, named after `torch.linalg`."""

from migrate.graph.ops import declare

for _name in (
    "cholesky", "cholesky_ex", "cond", "cross", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "householder_product",
    "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matrix_norm",
    "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd",
    "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot",
):  # fmt: skip
    declare(f"linalg_{_name}", f"torch.linalg:{_name}")
declare("det", "torch.linalg:det")
declare("inv", "torch.linalg:inv")
declare("vector_norm", "torch.linalg:vector_norm")
for _name in (
    "cholesky", "cholesky_inverse", "cholesky_solve", "cross", "dist", "inner", "kron", "logdet", "lu_unpack", "matrix_exp",
    "ormqr", "pinverse", "qr", "renorm", "svd", "trace", "triangular_solve", "addbmm", "addr", "adjoint",
):  # fmt: skip
    declare(_name, f"torch:{_name}")
declare("tensordot", "torch:tensordot")
