"""Records of products of matrices and of linear algebra."""

from __future__ import annotations

from tests.opdb import COMPLEX, FLOATS, INTS, Record, S, T

NUMBERS = (*FLOATS, *COMPLEX, *INTS)
A, B, V, ONE = T((3, 4)), T((4, 2)), T((4,)), T(())
# Well-conditioned square matrices: the identity dominates.
SQUARE = T((3, 3), values=[[4.0, 0.5, -1.0], [0.3, 3.0, 0.7], [-0.6, 0.2, 5.0]])
STACK = T((2, 2, 2), values=[[[3.0, 0.4], [-0.5, 2.0]], [[2.5, 1.0], [0.2, 4.0]]])
POSITIVE = T((3, 3), values=[[4.0, 0.5, -1.0], [0.5, 3.0, 0.7], [-1.0, 0.7, 5.0]])
SUMS = {"float32": 5e-6, "complex64": 1e-5}  # sums of products in another order
SOLVE = {"float32": 2e-5, "complex64": 4e-5}

Record(
    "matmul",
    [
        S(A, B),
        S(A, V),
        S(T((3,)), A),
        S(V, V),
        S(T((2, 3, 4)), B),
        S(T((2, 3, 4)), T((2, 4, 5))),
        S(T((5, 1, 3, 4)), T((2, 4, 2))),
        S(T((0, 4)), B),
        S(T((3, 0)), T((0, 2))),
        S(A, T((2, 4, 3))),
    ],
    dtypes=NUMBERS,
    tol=SUMS,
    out=True,
    errors=[S(A, A), S(ONE, A), S(V, T((3,))), S(T((2, 3, 4)), T((3, 4, 5)))],
)
Record("mm", [S(A, B), S(T((3, 0)), T((0, 2)))], dtypes=NUMBERS, tol=SUMS, out=True, errors=[S(A, A), S(A, V)])
Record(
    "bmm",
    [S(T((2, 3, 4)), T((2, 4, 5))), S(T((0, 3, 4)), T((0, 4, 5)))],
    dtypes=NUMBERS,
    tol=SUMS,
    out=True,
    errors=[S(T((2, 3, 4)), T((3, 4, 5))), S(A, B)],
)
Record("mv", [S(A, V)], dtypes=NUMBERS, tol=SUMS, out=True, errors=[S(A, T((3,))), S(V, V)])
Record("dot", [S(V, V), S(T((0,)), T((0,)))], dtypes=NUMBERS, tol=SUMS, errors=[S(V, T((3,))), S(A, A)])
Record("vdot", [S(V, V)], dtypes=NUMBERS, tol=SUMS, errors=[S(V, T((3,)))])
Record("inner", [S(V, V), S(A, T((2, 4))), S(ONE, A), S(T((2, 3, 4)), V)], tol=SUMS, errors=[S(A, B)])
Record("outer", [S(V, T((3,)))], dtypes=NUMBERS, out=True, errors=[S(A, V)])
Record("ger", [S(V, T((3,)))])
Record("kron", [S(A, B), S(T((2,)), B)], out=True, layouts=("sliced", "expanded"))
Record(
    "addmm",
    [S(T((3, 2)), A, B), S(T((2,)), A, B, beta=0.5, alpha=2.0), S(ONE, A, B, beta=0)],
    tol=SUMS,
    out=True,
    errors=[S(T((3, 3)), A, B), S(A, A, A)],
)
Record(
    "addmv", [S(T((3,)), A, V), S(ONE, A, V, beta=2.0, alpha=0.5)], tol=SUMS, out=True, errors=[S(T((3,)), A, T((3,)))]
)
Record("addr", [S(T((4, 3)), V, T((3,))), S(ONE, V, T((3,)), beta=2.0, alpha=0.5)], out=True, strides="dense")
Record(
    "baddbmm",
    [S(T((2, 3, 5)), T((2, 3, 4)), T((2, 4, 5))), S(T((5,)), T((2, 3, 4)), T((2, 4, 5)), beta=0.3, alpha=2.0)],
    tol=SUMS,
    out=True,
    errors=[S(T((2, 3, 5)), T((2, 3, 4)), T((2, 3, 5)))],
)
Record(
    "addbmm",
    [S(T((3, 5)), T((2, 3, 4)), T((2, 4, 5))), S(ONE, T((2, 3, 4)), T((2, 4, 5)), beta=0.3, alpha=2.0)],
    tol=SUMS,
    out=True,
)
Record("chain_matmul", [S(A, B, T((2, 5)))], tol=SUMS)
Record(
    "einsum",
    [
        S("ij,jk->ik", A, B),
        S("ij->ji", A),
        S("ii->i", T((3, 3))),
        S("ij,ij->", A, A),
        S("...ij,...jk->...ik", T((2, 3, 4)), T((2, 4, 5))),
        S("i,j", V, V),
        S("bij,bjk,k->bi", T((2, 3, 4)), T((2, 4, 5)), T((5,))),
        S("ii", T((3, 3))),
    ],
    tol={"float32": 1e-5},
    errors=[S("ij,jk", A), S("ij", V), S("i,i", V, T((3,))), S("ij->ik", A), S("i->ii", V)],
)
Record(
    "tensordot",
    [S(T((2, 3, 4)), T((4, 3, 2)), 1), S(T((2, 3, 4)), T((4, 3, 5)), ([1, 2], [1, 0])), S(A, A, 0)],
    tol=SUMS,
    errors=[S(A, A, 1)],
)
Record("cross", [S(T((2, 3)), T((2, 3)), dim=1), S(T((3, 4)), T((3, 4)), 0)], errors=[S(T((2, 4)), T((2, 4)), 1)])
Record("linalg.cross", [S(T((2, 3)), T((2, 3))), S(T((3, 4)), T((3, 4)), dim=0)], errors=[S(A, A)])
Record("linalg.vecdot", [S(A, T((3, 4))), S(A, V), S(A, A, dim=0)], dtypes=(*FLOATS, *COMPLEX))
Record("linalg.multi_dot", [S([A, B, T((2, 5))]), S([V, B, T((2,))])], tol=SUMS, errors=[S([A]), S([A, A])])
Record("trace", [S(T((3, 3))), S(A), S(T((0, 0)))], dtypes=NUMBERS, errors=[S(V)])
Record("linalg.diagonal", [S(A), S(T((2, 3, 3)), offset=1)])

Record(
    "linalg.inv",
    [S(SQUARE), S(STACK), S(T((0, 0)))],
    tol=SOLVE,
    errors=[S(A), S(V), S(T((2, 2), values=[[1.0, 2.0], [2.0, 4.0]]))],
)
Record("inverse", [S(SQUARE)], tol=SOLVE, errors=[S(A)])
Record("linalg.det", [S(SQUARE), S(STACK), S(T((0, 0)))], tol=SOLVE, errors=[S(A)])
Record("det", [S(SQUARE)], tol=SOLVE)
Record("logdet", [S(SQUARE), S(STACK)], tol=SOLVE)
Record("slogdet", [S(SQUARE), S(STACK)], tol=SOLVE)
Record(
    "linalg.solve",
    [S(SQUARE, T((3, 2))), S(SQUARE, T((3,))), S(STACK, T((2, 2, 3))), S(SQUARE, T((2, 3)), left=False)],
    tol=SOLVE,
    errors=[S(A, T((3,))), S(SQUARE, T((2, 2)))],
)
Record(
    "linalg.solve_triangular",
    [
        S(SQUARE, T((3, 2)), upper=True),
        S(SQUARE, T((3, 2)), upper=False, unitriangular=True),
        S(SQUARE, T((2, 3)), upper=True, left=False),
    ],
    tol=SOLVE,
    strides=False,
)
Record(
    "triangular_solve",
    [S(T((3, 2)), SQUARE), S(T((3, 2)), SQUARE, upper=False, transpose=True)],
    tol=SOLVE,
    strides=False,
)
Record(
    "linalg.cholesky",
    [S(POSITIVE), S(POSITIVE, upper=True)],
    grad=False,
    tol=SOLVE,
    errors=[S(A), S(T((2, 2), values=[[1.0, 2.0], [2.0, 1.0]]))],
)
Record("cholesky_solve", [S(T((3, 2)), SQUARE), S(T((3, 2)), SQUARE, True)], tol=SOLVE, grad=False)
Record("cholesky_inverse", [S(POSITIVE)], tol=SOLVE, grad=False)
Record("linalg.pinv", [S(A), S(SQUARE)], tol={"float32": 1e-4}, second=False, layouts=("transposed", "sliced"))
Record("pinverse", [S(SQUARE)], tol={"float32": 1e-4}, second=False, layouts=("transposed", "sliced"))
Record(
    "linalg.matrix_power",
    [S(SQUARE, 3), S(SQUARE, -2), S(SQUARE, 0), S(STACK, 1)],
    tol={"float32": 1e-4},
    errors=[S(A, 2)],
    strides="dense",
)
Record("matrix_power", [S(SQUARE, 2)], tol=SOLVE)
Record("matrix_exp", [S(T((3, 3), -1, 1)), S(STACK)], tol={"float32": 1e-4}, second=False)
Record(
    "linalg.matrix_norm",
    [S(A), S(A, "nuc"), S(A, 1), S(A, float("inf")), S(A, 2), S(T((2, 3, 4)), "fro", (0, 1), True)],
    tol=SOLVE,
    second=False,
    errors=[S(V), S(A, "x"), S(A, 3)],
)
Record("linalg.norm", [S(A), S(A, "fro"), S(V, 3), S(A, 2, 1), S(A, 1, (0, 1))], tol=SOLVE, second=False)
Record("linalg.svdvals", [S(A), S(STACK)], tol=SOLVE, second=False)
Record("linalg.eigvalsh", [S(POSITIVE)], tol=SOLVE, second=False)
Record("linalg.matrix_rank", [S(A), S(SQUARE), S(T((2, 2), values=[[1.0, 2.0], [2.0, 4.0]]))], grad=False)
Record("linalg.cond", [S(SQUARE)], tol={"float32": 1e-4}, second=False, layouts=("transposed", "sliced"))
Record("linalg.lu_factor", [S(SQUARE)], tol=SOLVE, grad=False)
Record("linalg.tensorsolve", [S(T((2, 3, 6)), T((2, 3)))], tol={"float32": 1e-3, "float64": 1e-10}, grad=False)
Record("linalg.vander", [S(V), S(V, N=3)], strides=False)
# torch's own gradient of this one fails.
Record("linalg.cond", [S(SQUARE, 1)], grad=False, layouts=("transposed", "sliced"), tol={"float32": 1e-4})
Record("orgqr", [S(T((4, 3)), T((3,)))], grad=False, strides=False, tol=SOLVE)
