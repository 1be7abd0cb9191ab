// cublasLtMatmul: D = epilogue(alpha op(A) op(B) + beta C), one algorithm for all of it.
#include <utility>

#include "libraries/blas/data_types.h"
#include "libraries/blas/gemm.h"
#include "libraries/blas/handle.h"
#include "libraries/blas/lt_descriptor.h"

namespace tutti::blas::lt {
namespace {

bool IsLayout(const Layout& layout) {
  const bool by_rows = layout.order == kRows;
  if (!by_rows && layout.order != kColumns) return false;
  const uint64_t contiguous = by_rows ? layout.columns : layout.rows, lines = by_rows ? layout.rows : layout.columns;
  return contiguous <= INT64_MAX && lines <= INT64_MAX && layout.batches >= 1 && layout.ld >= 0 &&
         static_cast<uint64_t>(layout.ld) >= (lines > 1 ? contiguous : 0) &&
         (layout.batch_mode == 0 || layout.batch_mode == 1);
}

// op of a matrix in its order, as a matrix of columns.
Operand OperandOf(const Layout& layout, Type type, int op, const void* data) {
  Operand operand = Dense(type, op, data, layout.ld);
  if (layout.order == kRows) operand.transposed = !operand.transposed;
  if (layout.batch_mode == 1) {
    operand.data = nullptr;
    operand.array = static_cast<const void* const*>(data);
  } else {
    operand.stride = layout.batches > 1 ? layout.batch_stride : 0;
  }
  return operand;
}

struct Problem {
  MatmulDesc desc;
  Layout a, b, c, d;
};

// Takes what the program describes, checks it, and makes the task of it, without data. kInvalidValue: contradictory;
// kNotSupported: not by us.
Status TaskOf(const Problem& p, GemmTask* task, ProductTypes* types, bool* turned) {
  BLAS_CHECK(IsLayout(p.a) && IsLayout(p.b) && IsLayout(p.c) && IsLayout(p.d) && IsOp(p.desc.op_a) &&
             IsOp(p.desc.op_b));
  const bool a_turned = p.desc.op_a == kT || p.desc.op_a == kC, b_turned = p.desc.op_b == kT || p.desc.op_b == kC;
  const uint64_t m = a_turned ? p.a.columns : p.a.rows, k = a_turned ? p.a.rows : p.a.columns;
  const uint64_t n = b_turned ? p.b.rows : p.b.columns;
  BLAS_CHECK((b_turned ? p.b.columns : p.b.rows) == k && p.d.rows == m && p.d.columns == n && p.c.rows == m &&
             p.c.columns == n);
  BLAS_CHECK(p.a.batches == p.d.batches && p.b.batches == p.d.batches && p.c.batches == p.d.batches);
  if (p.c.order != p.d.order || p.desc.op_c != kN || p.desc.fill != kFull) return kNotSupported;
  if (p.desc.pointer_mode != kHost && p.desc.pointer_mode != kDevice) return kNotSupported;
  if (!TypesOf(p.a.type, p.b.type, p.c.type, p.d.type, p.desc.compute, p.desc.scale, types)) return kNotSupported;
  const uint32_t epilogue = p.desc.epilogue & ~uint32_t{kNoEpilogue};
  constexpr uint32_t kKnown = kRelu | kBias | kGelu | kAux;
  const bool relu = (epilogue & kRelu) != 0, gelu = (epilogue & kGelu) != 0, aux = (epilogue & kAux) != 0;
  const bool scaled = types->compute == Type::kF32;
  if ((epilogue & ~kKnown) != 0 || (relu && gelu) || (aux && !gelu)) return kNotSupported;
  if (epilogue != 0 && types->compute != Type::kF32 && types->compute != Type::kF64) return kNotSupported;
  if (p.desc.amax_d != nullptr || p.desc.d_out_scale != nullptr || p.desc.aux_amax != nullptr) return kNotSupported;
  const bool has_scales =
      p.desc.a_scale != nullptr || p.desc.b_scale != nullptr || p.desc.c_scale != nullptr || p.desc.d_scale != nullptr;
  const bool one_for_all =
      p.desc.a_scale_mode == 0 && p.desc.b_scale_mode == 0 && p.desc.c_scale_mode == 0 && p.desc.d_scale_mode == 0;
  if (has_scales && (!scaled || !one_for_all)) return kNotSupported;
  *task = GemmTask{};
  task->m = static_cast<int64_t>(m);
  task->n = static_cast<int64_t>(n);
  task->k = static_cast<int64_t>(k);
  task->batches = p.d.batches;
  task->activation = relu ? Activation::kRelu : gelu ? Activation::kGelu : Activation::kNone;
  *turned = p.d.order == kRows;
  ProductTypes others{};
  if ((epilogue & kBias) != 0) {
    const int of_d = p.d.type == kR8I ? kR32F : p.d.type;
    const int type = p.desc.bias_type < 0 ? of_d : p.desc.bias_type;
    if (type != of_d && type != kR32F && type != kR16F && type != kR16BF) return kNotSupported;
    const int compute = type == kR64F ? kCompute64F : kCompute32F;
    if (!TypesOf(type, type, type, type, compute, -1, &others)) return kNotSupported;
    task->bias_type = others.d;
    task->bias = p.desc.bias;
    task->bias_stride = p.desc.bias_stride;
    task->bias_by_column = *turned;
    BLAS_CHECK(task->bias != nullptr);
  }
  if (aux) {
    const int type = p.desc.aux_type < 0 ? p.d.type : p.desc.aux_type;
    const int compute = type == kR64F ? kCompute64F : kCompute32F;
    if (!TypesOf(type, type, type, type, compute, -1, &others)) return kNotSupported;
    task->aux_type = others.d;
    task->aux = p.desc.aux;
    task->aux_ld = p.desc.aux_ld;
    task->aux_stride = p.desc.aux_stride;
    BLAS_CHECK(task->aux != nullptr && task->aux_ld >= (*turned ? task->n : task->m));
  }
  task->a_scale = static_cast<const float*>(p.desc.a_scale);
  task->b_scale = static_cast<const float*>(p.desc.b_scale);
  task->c_scale = static_cast<const float*>(p.desc.c_scale);
  task->d_scale = static_cast<const float*>(p.desc.d_scale);
  return kSuccess;
}

Status Multiply(const Problem& p, const void* alpha, const void* a, const void* b, const void* beta, const void* c,
                void* d, CUstream_st* stream) {
  GemmTask task;
  ProductTypes types{};
  bool turned = false;
  BLAS_TRY(TaskOf(p, &task, &types, &turned));
  if (task.m == 0 || task.n == 0) return kSuccess;
  BLAS_CHECK(alpha != nullptr && beta != nullptr && d != nullptr);
  const bool on_device = p.desc.pointer_mode == kDevice;
  task.alpha = ScalarOfType(on_device, alpha, types.scale);
  task.beta = ScalarOfType(on_device, beta, types.scale);
  BLAS_CHECK((a != nullptr && b != nullptr) || task.k == 0);
  BLAS_CHECK(c != nullptr || IsZero(task.beta));
  task.a = OperandOf(p.a, types.a, p.desc.op_a, a);
  task.b = OperandOf(p.b, types.b, p.desc.op_b, b);
  task.c = OperandOf(p.c, types.c, kN, c);
  task.c.transposed = false;
  task.d = Into(types.d, d, p.d.ld);
  if (p.d.batch_mode == 1) {
    task.d.data = nullptr;
    task.d.array = static_cast<void* const*>(d);
  } else {
    task.d.stride = p.d.batches > 1 ? p.d.batch_stride : 0;
  }
  if (turned) {  // D by rows is its transpose by columns: op(B)' op(A)'
    std::swap(task.a, task.b);
    std::swap(task.m, task.n);
    task.a.transposed = !task.a.transposed;
    task.b.transposed = !task.b.transposed;
  }
  return Run(stream, types.compute, task);
}

}  // namespace

BLAS_EXPORT cublasLtMatmul(void* handle, const MatmulDesc* desc, const void* alpha, const void* a,
                           const Layout* a_layout, const void* b, const Layout* b_layout, const void* beta,
                           const void* c, const Layout* c_layout, void* d, const Layout* d_layout, const void*, void*,
                           size_t, CUstream_st* stream) {
  if (handle == nullptr) return kNotInitialized;
  BLAS_CHECK(desc != nullptr && a_layout != nullptr && b_layout != nullptr && c_layout != nullptr &&
             d_layout != nullptr);
  return Multiply({*desc, *a_layout, *b_layout, *c_layout, *d_layout}, alpha, a, b, beta, c, d, stream);
}

BLAS_EXPORT cublasLtMatmulAlgoGetHeuristic(void* handle, const MatmulDesc* desc, const Layout* a, const Layout* b,
                                           const Layout* c, const Layout* d, const Preference* preference, int asked,
                                           HeuristicResult* results, int* returned) {
  if (handle == nullptr) return kNotInitialized;
  BLAS_CHECK(desc != nullptr && a != nullptr && b != nullptr && c != nullptr && d != nullptr && preference != nullptr);
  BLAS_CHECK(asked > 0 && results != nullptr && returned != nullptr);
  *returned = 0;
  GemmTask task;
  ProductTypes types{};
  bool turned = false;
  MatmulDesc complete = *desc;  // addresses may be set later
  static constexpr char kPlace = 0;
  if (complete.bias == nullptr) complete.bias = &kPlace;
  if (complete.aux == nullptr) {
    complete.aux = const_cast<char*>(&kPlace);
    if (complete.aux_ld == 0) complete.aux_ld = INT64_MAX;
  }
  BLAS_TRY(TaskOf({complete, *a, *b, *c, *d}, &task, &types, &turned));
  results[0] = HeuristicResult{};
  results[0].algorithm[0] = 1;
  results[0].state = kSuccess;
  results[0].waves = 1;
  *returned = 1;
  return kSuccess;
}

// The only algorithm there is.
BLAS_EXPORT cublasLtMatmulAlgoGetIds(void* handle, int, int, int, int, int, int, int asked, int* ids, int* returned) {
  if (handle == nullptr) return kNotInitialized;
  BLAS_CHECK(asked > 0 && ids != nullptr && returned != nullptr);
  ids[0] = 1;
  *returned = 1;
  return kSuccess;
}
BLAS_EXPORT cublasLtMatmulAlgoInit(void* handle, int, int, int, int, int, int, int id, uint64_t* algorithm) {
  if (handle == nullptr) return kNotInitialized;
  BLAS_CHECK(algorithm != nullptr && id == 1);
  for (int i = 0; i < 8; ++i) algorithm[i] = 0;
  algorithm[0] = 1;
  return kSuccess;
}
BLAS_EXPORT cublasLtMatmulAlgoCheck(void* handle, const MatmulDesc* desc, const Layout* a, const Layout* b,
                                    const Layout* c, const Layout* d, const uint64_t* algorithm,
                                    HeuristicResult* result) {
  BLAS_CHECK(algorithm != nullptr);
  const Preference any{};
  int returned = 0;
  return cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, c, d, &any, 1, result, &returned);
}

}  // namespace tutti::blas::lt
