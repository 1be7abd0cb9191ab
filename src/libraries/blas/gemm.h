// Products of matrices, as all functions of level 3 use them.
#pragma once

#include "libraries/blas/kernels.h"

namespace tutti::blas {

// A matrix as a program passes it, with its operation.
Operand Dense(Type type, int op, const void* data, int64_t ld);
Result Into(Type type, void* data, int64_t ld);

// A task without a batch, a bias or anything else: D = alpha A B + beta D.
GemmTask Product(int64_t m, int64_t n, int64_t k, const Scalar& alpha, const Operand& a, const Operand& b,
                 const Scalar& beta, const Result& d);

// Launches it. `compute`: kF32, kF64, kC32, kC64 or kS32. Nothing happens if the result is empty.
Status Run(CUstream_st* stream, Type compute, const GemmTask& task);

// As cuBLAS checks: whether op is one, and a leading dimension reaches over a column of `rows`.
constexpr bool IsOp(int op) { return op >= kN && op <= kConjugated; }
constexpr bool Spans(int64_t ld, int64_t rows) { return ld >= (rows > 1 ? rows : 1); }
constexpr int64_t Rows(int op, int64_t rows, int64_t columns) { return op == kN || op == kConjugated ? rows : columns; }

}  // namespace tutti::blas
