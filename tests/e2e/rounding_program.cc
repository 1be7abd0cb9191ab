// A program that rounds: `rounding_program toward_zero` prints "running" and computes for ever; `rounding_program
// to_nearest ROUNDS` computes ROUNDS times and prints how many rounds had a wrong result.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/compat/driver_api.h"

using namespace tutti::cuda;

namespace {

// Each thread adds three quarters of an ulp, `count` times: rounded to nearest, that is a whole one.
// One rounding in the loop and no other: each mode's kernel has only the instruction of that mode.
constexpr std::string_view kToNearest = "add.rn.f32 %f1, %f1, %f0;", kTowardZero = "fma.rz.f32 %f1, %f1, %f1, %f0;";
std::string PtxOf(std::string_view step) {
  return R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry rounds(.param .u64 out, .param .f32 little, .param .u32 count)
{
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [out];
  ld.param.f32 %f0, [little];
  ld.param.u32 %r0, [count];
  mov.f32 %f1, 0f3F800000;
again:
  )" + std::string(step) +
         R"(
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra again;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd1, %r1, 4;
  add.u64 %rd2, %rd0, %rd1;
  st.global.f32 [%rd2], %f1;
  ret;
}
)";
}

constexpr uint32_t kThreads = 64;

void Check(CUresult status) {
  if (status == 0) return;
  std::printf("CUresult %d\n", static_cast<int>(status));
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const bool to_nearest = mode == "to_nearest";
  if ((!to_nearest && mode != "toward_zero") || argc != (to_nearest ? 3 : 2)) return 3;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr out = 0;
  Check(cuInit(0));
  Check(cuDevicePrimaryCtxRetain(&context, 0));
  Check(cuCtxSetCurrent(context));
  Check(cuModuleLoadData(&module, PtxOf(to_nearest ? kToNearest : kTowardZero).c_str()));
  Check(cuModuleGetFunction(&kernel, module, "rounds"));
  Check(cuMemAlloc_v2(&out, kThreads * sizeof(float)));
  float little = 0x1.8p-24f;
  uint32_t count = to_nearest ? 100'000 : 10'000'000;
  void* arguments[] = {&out, &little, &count};
  std::puts("running");
  std::fflush(stdout);
  const int rounds = to_nearest ? std::atoi(argv[2]) : 0;
  int wrong = 0;
  for (int round = 0; !to_nearest || round < rounds; ++round) {
    float results[kThreads];
    Check(cuLaunchKernel(kernel, 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr));
    Check(cuMemcpyDtoH_v2(results, out, sizeof results));
    bool right = true;
    for (const float result : results) right &= result == 1 + static_cast<float>(count) * 0x1p-23f;
    wrong += right ? 0 : 1;
  }
  std::printf("%d of %d rounds wrong\n", wrong, rounds);
  return wrong == 0 ? 0 : 1;
}
