// The functions of functions.def for one lane, as machine code: the same sources with vectors of one. For quick code
// (compiler/threads). Compiled twice: for processors that have fused multiply-adds (`_fma`), and for others.
#define TUTTI_LANES 1
#define TUTTI_EXPORT TUTTI_INLINE

#include "compiler/runtime/bytes.cc"
#include "compiler/runtime/directed_rounding.cc"
#include "compiler/runtime/exponential.cc"
#include "compiler/runtime/odd_rounding.cc"
#include "compiler/runtime/trigonometry.cc"

namespace {

// Both are exact but for the last step, so the one that is quicker for vectors of halves gives the same.
TUTTI_INLINE F32 tutti_v_fma_odd_f16(F32 a, F32 b, F32 c) { return tutti_v_fma_odd_f32(a, b, c); }

typedef float f32;
typedef double f64;
typedef int32_t i32;

}  // namespace

#ifdef __FMA__
#define TUTTI_SCALAR_NAME(name) tutti_support_##name##_fma
#else
#define TUTTI_SCALAR_NAME(name) tutti_support_##name
#endif
#define TUTTI_SCALAR_1(name, result, A) \
  TUTTI_SUPPORT result TUTTI_SCALAR_NAME(name)(A a) { return tutti_v_##name(a)[0]; }
#define TUTTI_SCALAR_2(name, result, A, B) \
  TUTTI_SUPPORT result TUTTI_SCALAR_NAME(name)(A a, B b) { return tutti_v_##name(a, b)[0]; }
#define TUTTI_SCALAR_3(name, result, A, B, C) \
  TUTTI_SUPPORT result TUTTI_SCALAR_NAME(name)(A a, B b, C c) { return tutti_v_##name(a, b, c)[0]; }
#define TUTTI_SCALAR_OF(_1, _2, _3, macro, ...) macro
#define TUTTI_FN(name, text, result, ...) \
  TUTTI_SCALAR_OF(__VA_ARGS__, TUTTI_SCALAR_3, TUTTI_SCALAR_2, TUTTI_SCALAR_1)(name, result, __VA_ARGS__)
#include "compiler/runtime/functions.def"
