// The descriptors of cublasLt. Programs may keep them in memory of their own, of the size that the ABI gives, and fill
// them by cublasLt...Init: so they are plain data, and nothing in them is trusted when they are used.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::blas::lt {

enum Order : int32_t { kColumns = 0, kRows = 1 };
enum Epilogue : uint32_t { kNoEpilogue = 1, kRelu = 2, kBias = 4, kGelu = 32, kAux = 128 };

// A matrix: its type, size, and how it lies in memory.
struct Layout {
  int32_t type, order;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batches, batch_mode;
  int64_t batch_stride, plane_offset;
};
inline constexpr size_t kLayoutBytes = 64;
static_assert(sizeof(Layout) <= kLayoutBytes);

// What is multiplied, and what is done with the product.
struct MatmulDesc {
  int32_t compute, scale, pointer_mode, op_a, op_b, op_c, fill;
  uint32_t epilogue;
  const void* bias;
  int64_t bias_stride;
  void* aux;
  int64_t aux_ld, aux_stride, alpha_vector_stride;
  int32_t sm_count, aux_type, bias_type;
  int32_t a_scale_mode, b_scale_mode, c_scale_mode, d_scale_mode, aux_scale_mode, d_out_scale_mode;
  int8_t fast_accumulation;
  const void *a_scale, *b_scale, *c_scale, *d_scale, *aux_scale, *d_out_scale;
  void *amax_d, *aux_amax;
  const void* emulation;
};
inline constexpr size_t kMatmulDescBytes = 256;
static_assert(sizeof(MatmulDesc) <= kMatmulDescBytes);

// What an algorithm may use. Ours use nothing.
struct Preference {
  int32_t search_mode;
  uint32_t reduction_mask, alignment_a, alignment_b, alignment_c, alignment_d;
  uint64_t workspace_bytes;
  float most_waves;
  uint64_t implementations;
};
inline constexpr size_t kPreferenceBytes = 64;
static_assert(sizeof(Preference) <= kPreferenceBytes);

// What cublasLtMatmulAlgoGetHeuristic returns for each algorithm.
struct HeuristicResult {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int32_t state;
  float waves;
  int32_t reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

}  // namespace tutti::blas::lt
