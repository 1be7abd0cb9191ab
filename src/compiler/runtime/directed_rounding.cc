// Arithmetic that rounds toward zero, down or up.
//
// MXCSR sets the processor's rounding mode. Operands and result pass through empty asm statements, which the compiler
// may not move across the two LDMXCSRs: so the operation stays between them, and data dependences keep everything else
// out. A thread that is preempted in between gets a new thread's MXCSR, and this one back when the kernel resumes
// (guest/exec/guest_switch.h).
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

// Values of MXCSR with all exceptions masked, as everywhere in guest code.
constexpr uint32_t kNearest = 0x1f80, kDown = 0x3f80, kUp = 0x5f80, kZero = 0x7f80;

template <typename V>
TUTTI_INLINE void Pin(V& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

template <uint32_t kMode, typename Operation, typename... V>
TUTTI_INLINE auto Rounded(Operation operation, V... operands) {
  __builtin_ia32_ldmxcsr(kMode);
  (Pin(operands), ...);
  auto result = operation(operands...);
  Pin(result);
  __builtin_ia32_ldmxcsr(kNearest);
  return result;
}

constexpr auto kFma = [](auto a, auto b, auto c)
                          __attribute__((always_inline)) { return __builtin_elementwise_fma(a, b, c); };
constexpr auto kDivide = [](auto a, auto b) __attribute__((always_inline)) { return a / b; };
constexpr auto kSqrt = [](auto a) __attribute__((always_inline)) { return __builtin_elementwise_sqrt(a); };

}  // namespace

#define TUTTI_DIRECTED(mode, constant, type, Vector)                                                               \
  TUTTI_EXPORT Vector tutti_v_fma_##mode##_##type(Vector a, Vector b, Vector c) {                                  \
    return Rounded<constant>(kFma, a, b, c);                                                                       \
  }                                                                                                                \
  TUTTI_EXPORT Vector tutti_v_div_##mode##_##type(Vector a, Vector b) { return Rounded<constant>(kDivide, a, b); } \
  TUTTI_EXPORT Vector tutti_v_sqrt_##mode##_##type(Vector a) { return Rounded<constant>(kSqrt, a); }

TUTTI_DIRECTED(rz, kZero, f32, F32)
TUTTI_DIRECTED(rm, kDown, f32, F32)
TUTTI_DIRECTED(rp, kUp, f32, F32)
TUTTI_DIRECTED(rz, kZero, f64, F64)
TUTTI_DIRECTED(rm, kDown, f64, F64)
TUTTI_DIRECTED(rp, kUp, f64, F64)
