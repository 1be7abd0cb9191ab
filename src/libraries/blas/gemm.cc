#include "libraries/blas/gemm.h"

#include "libraries/blas/handle.h"

namespace tutti::blas {

Operand Dense(Type type, int op, const void* data, int64_t ld) {
  Operand operand{};
  operand.data = data;
  operand.ld = ld;
  operand.type = type;
  operand.transposed = op == kT || op == kC;
  operand.conjugated = op == kC || op == kConjugated;
  return operand;
}

Result Into(Type type, void* data, int64_t ld) {
  Result result{};
  result.data = data;
  result.ld = ld;
  result.type = type;
  return result;
}

GemmTask Product(int64_t m, int64_t n, int64_t k, const Scalar& alpha, const Operand& a, const Operand& b,
                 const Scalar& beta, const Result& d) {
  GemmTask task{};
  task.m = m;
  task.n = n;
  task.k = k;
  task.batches = 1;
  task.a = a;
  task.b = b;
  task.c.data = d.data;
  task.c.array = d.array;
  task.c.offset = d.offset;
  task.c.stride = d.stride;
  task.c.ld = d.ld;
  task.c.type = d.type;
  task.d = d;
  task.alpha = alpha;
  task.beta = beta;
  return task;
}

Status Run(CUstream_st* stream, Type compute, const GemmTask& task) {
  if (task.m <= 0 || task.n <= 0 || task.batches <= 0) return kSuccess;
  // With few rows, or few tiles, blocks of one warp keep more of the device busy.
  const int64_t wide_tiles =
      BlocksFor(task.m, kGemmRows) * BlocksFor(task.n, kGemmColumns) * (task.batches < 64 ? task.batches : 64);
  const bool wide = task.m > 64 && wide_tiles >= 4;
  const int64_t rows = wide ? kGemmRows : 32;
  const int64_t tiles_down = BlocksFor(task.m, rows), tiles_across = BlocksFor(task.n, kGemmColumns);
  if (tiles_down > libraries::kMostBlocksX) return kNotSupported;
  const auto bounded = [](int64_t blocks) {
    return static_cast<uint32_t>(blocks < libraries::kMostBlocks ? blocks : libraries::kMostBlocks);
  };
  return Launch(stream, wide ? Name::gemm_wide : Name::gemm_narrow, compute,
                {static_cast<uint32_t>(tiles_down), bounded(tiles_across), bounded(task.batches)},
                static_cast<uint32_t>(rows), task);
}

}  // namespace tutti::blas
