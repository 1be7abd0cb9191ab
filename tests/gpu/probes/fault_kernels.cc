#include "probes/fault_kernels.h"

#include <unistd.h>

#include "cuda/result.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/slab.h"

namespace tutti::gpu {

using namespace cuda;

namespace {

#define CULPRIT(body) ".version 6.0\n.target sm_60\n.address_size 64\n" body

constexpr char kRead[] = CULPRIT(R"(
.visible .entry culprit(.param .u64 at) {
  .reg .u64 %at, %value;
  ld.param.u64 %at, [at];
  ld.volatile.global.u64 %value, [%at];
  ret;
})");

constexpr char kWrite[] = CULPRIT(R"(
.visible .entry culprit(.param .u64 at) {
  .reg .u64 %at;
  ld.param.u64 %at, [at];
  st.volatile.global.u64 [%at], %at;
  ret;
})");

constexpr char kMisaligned[] = CULPRIT(R"(
.global .align 16 .b8 room[64];
.visible .entry culprit(.param .u64 at) {
  .reg .u64 %at, %value;
  mov.u64 %at, room;
  add.u64 %at, %at, 3;
  ld.volatile.global.u64 %value, [%at];
  ret;
})");

constexpr char kTrap[] = CULPRIT(R"(
.visible .entry culprit(.param .u64 at) {
  trap;
  ret;
})");

constexpr char kBreakpoint[] = CULPRIT(R"(
.visible .entry culprit(.param .u64 at) {
  brkpt;
  ret;
})");

constexpr char kAssert[] = CULPRIT(R"(
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 1 .b8 text[5] = {102, 97, 105, 108, 0};
.visible .entry culprit(.param .u64 at) {
  .reg .u64 %text;
  mov.u64 %text, text;
  cvta.global.u64 %text, %text;
  {
    .param .b64 a;
    .param .b64 b;
    .param .b32 c;
    .param .b64 d;
    .param .b64 e;
    st.param.b64 [a], %text;
    st.param.b64 [b], %text;
    st.param.b32 [c], 1;
    st.param.b64 [d], %text;
    st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e);
  }
  ret;
})");

// An atomic operation through a generic address of local memory, where there are none.
constexpr char kAddressSpace[] = CULPRIT(R"(
.visible .entry culprit(.param .u64 at) {
  .local .align 8 .b8 room[64];
  .reg .u64 %at, %value;
  mov.u64 %at, room;
  cvta.local.u64 %at, %at;
  atom.add.u64 %value, [%at], 1;
  ret;
})");

constexpr char kInvalidPc[] = CULPRIT(R"(
.visible .entry culprit(.param .u64 at) {
  .reg .u64 %at;
  ld.param.u64 %at, [at];
  nothing: .callprototype _ ();
  call %at, (), nothing;
  ret;
})");

constexpr char kRecursion[] = CULPRIT(R"(
.func (.param .u64 result) deeper(.param .u64 n) {
  .local .align 8 .b8 room[1024];
  .reg .u64 %n, %m, %at;
  ld.param.u64 %n, [n];
  mov.u64 %at, room;
  cvta.local.u64 %at, %at;
  st.volatile.u64 [%at], %n;
  add.u64 %m, %n, 1;
  {
    .param .u64 next;
    .param .u64 back;
    st.param.u64 [next], %m;
    call (back), deeper, (next);
    ld.param.u64 %m, [back];
  }
  ld.volatile.u64 %n, [%at];
  add.u64 %n, %n, %m;
  st.param.u64 [result], %n;
  ret;
}
.visible .entry culprit(.param .u64 at) {
  .reg .u64 %n;
  ld.param.u64 %n, [at];
  {
    .param .u64 next;
    .param .u64 back;
    st.param.u64 [next], %n;
    call (back), deeper, (next);
    ld.param.u64 %n, [back];
  }
  ret;
})");

constexpr FaultKernel kKernels[] = {
    {"far_read", kRead},
    {"far_write", kWrite},
    {"near_read", kRead, true},
    {"near_write", kWrite, true},
    {"trap", kTrap},
    {"assert", kAssert},
    {"misaligned", kMisaligned},
    {"address_space", kAddressSpace},
    {"invalid_pc", kInvalidPc},
    {"recursion", kRecursion},
    {"breakpoint", kBreakpoint},
};

constexpr CUdeviceptr kFar = 0x0000'6fff'1234'5000;
constexpr uint64_t kPage = 2 << 20;

}  // namespace

std::span<const FaultKernel> FaultKernels() { return kKernels; }

const FaultKernel& FaultKernelOf(std::string_view name) {
  for (const FaultKernel& kernel : kKernels) {
    if (kernel.name == name) return kernel;
  }
  GiveUp(Outcome::kFailed, "there is no fault " + std::string(name));
}

Culprit::Culprit(CUdevice device, std::string_view name) {
  const FaultKernel& kernel = FaultKernelOf(name);
  function_ = FunctionOf(Load(kernel.ptx), "culprit");
  at_ = kFar;
  if (!kernel.near) return;
  // The first half of what is reserved is mapped.
  at_ = ReserveAddresses(2 * kPage);
  MapSlab(at_, kPage, CreatePhysical(device, kPage));
  SetAccess(device, at_, kPage);
  at_ += kPage;
}

void Culprit::Launch(CUstream stream) { gpu::Launch(function_, 1, 32, stream, at_); }

FirstError AwaitError(CUstream stream, double limit_seconds) {
  const Stopwatch time;
  FirstError error;
  do {
    error.result = CU_TRY(cuStreamQuery, stream);
    error.ms = time.ms();
  } while (error.result == CUDA_ERROR_NOT_READY && error.ms < limit_seconds * 1000);
  return error;
}

}  // namespace tutti::gpu
