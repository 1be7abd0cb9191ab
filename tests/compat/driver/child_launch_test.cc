// Kernels that launch kernels, in PTX as it is written by hand: CUDA's first form of it, which names the shape when it
// launches. Programs of nvcc are in programs/child_*.cu.
#include <vector>

#include "driver/fixture.h"

namespace tutti::compat {
namespace {

constexpr const char* kLaunching = R"(
.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 alignment, .param .b64 bytes);
.extern .func (.param .b32 r) cudaLaunchDevice(
    .param .b64 function, .param .b64 buffer, .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12],
    .param .b32 shared, .param .b64 stream);
.extern .func (.param .b32 r) cudaGetLastError();

// out[value] += 1, by each of its threads
.visible .entry child(.param .u64 out, .param .u32 value)
{
  .reg .b64 %d<4>;
  .reg .b32 %r<4>;
  ld.param.u64 %d0, [out];
  ld.param.u32 %r0, [value];
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d0, %d0, %d1;
  atom.global.add.u32 %r1, [%d0], 1;
  ret;
}

// Each thread launches a child with its index, of index + 1 threads, `count` times; errors[thread] = the last error.
.visible .entry parent(.param .u64 out, .param .u64 errors, .param .u32 count, .param .u64 stream)
{
  .reg .b64 %d<8>;
  .reg .b32 %r<8>;
  .reg .pred %p<3>;
  .param .align 4 .b8 grid[12];
  .param .align 4 .b8 block[12];
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [errors];
  ld.param.u32 %r0, [count];
  ld.param.u64 %d6, [stream];
  mov.u32 %r1, %tid.x;
  add.u32 %r2, %r1, 1;
  mov.u64 %d2, child;
  mul.wide.u32 %d4, %r1, 4;
  add.u64 %d1, %d1, %d4;
again:
  setp.eq.u32 %p0, %r0, 0;
  @%p0 bra end;
  sub.u32 %r0, %r0, 1;
  call.uni (%d3), cudaGetParameterBuffer, (8, 16);
  setp.eq.u64 %p1, %d3, 0;
  @%p1 bra next;
  st.u64 [%d3], %d0;
  st.u32 [%d3+8], %r1;
  st.param.b32 [grid], 1; st.param.b32 [grid+4], 1; st.param.b32 [grid+8], 1;
  st.param.b32 [block], %r2; st.param.b32 [block+4], 1; st.param.b32 [block+8], 1;
  call.uni (%r3), cudaLaunchDevice, (%d2, %d3, grid, block, 0, %d6);
next:
  call.uni (%r4), cudaGetLastError, ();
  setp.ne.u32 %p2, %r4, 0;
  @%p2 st.global.u32 [%d1], %r4;
  bra again;
end:
  ret;
}
)";

// out[block] = 10 * the blocks of its cluster + its rank there
constexpr const char* kClusters = R"(
.version 7.8
.target sm_90
.address_size 64
.extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 alignment, .param .b64 bytes);
.extern .func (.param .b32 r) cudaLaunchDevice(
    .param .b64 function, .param .b64 buffer, .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12],
    .param .b32 shared, .param .b64 stream);

.visible .entry pairs(.param .u64 out) .reqnctapercluster 2, 1, 1
{
  .reg .b64 %d<2>;
  .reg .b32 %r<4>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %ctaid.x;
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d0, %d0, %d1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u32 %r1, %cluster_nctarank;
  mov.u32 %r2, %cluster_ctarank;
  mad.lo.u32 %r3, %r1, 10, %r2;
  st.global.u32 [%d0], %r3;
  ret;
}

.visible .entry parent(.param .u64 out, .param .u64 error, .param .u32 blocks)
{
  .reg .b64 %d<4>;
  .reg .b32 %r<2>;
  .param .align 4 .b8 grid[12];
  .param .align 4 .b8 block[12];
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [error];
  ld.param.u32 %r0, [blocks];
  mov.u64 %d2, pairs;
  call.uni (%d3), cudaGetParameterBuffer, (8, 8);
  st.u64 [%d3], %d0;
  st.param.b32 [grid], %r0; st.param.b32 [grid+4], 1; st.param.b32 [grid+8], 1;
  st.param.b32 [block], 1; st.param.b32 [block+4], 1; st.param.b32 [block+8], 1;
  call.uni (%r1), cudaLaunchDevice, (%d2, %d3, grid, block, 0, 0);
  st.global.u32 [%d1], %r1;
  ret;
}
)";

class ChildLaunch : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CU_ASSERT(cuModuleLoadData(&launching_, kLaunching));
    CU_ASSERT(cuModuleGetFunction(&parent_, launching_, "parent"));
    out_ = Allocate(32 * sizeof(uint32_t));
    errors_ = Allocate(32 * sizeof(uint32_t));
    CU_ASSERT(cuMemsetD32_v2(out_, 0, 32));
    CU_ASSERT(cuMemsetD32_v2(errors_, 0, 32));
  }
  CUresult LaunchParents(unsigned blocks, uint32_t count, uint64_t stream = 0) {
    void* parameters[] = {&out_, &errors_, &count, &stream};
    return cuLaunchKernel(parent_, blocks, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
  }

  CUmodule launching_ = nullptr;
  CUfunction parent_ = nullptr;
  CUdeviceptr out_ = 0, errors_ = 0;
};

TEST_F(ChildLaunch, AGridIsOverWhenAllItHasLaunchedIs) {
  CU_ASSERT(LaunchParents(3, 2));
  CU_ASSERT(AddOne(out_, 32));  // behind it in the stream
  const std::vector<uint32_t> found = Read(out_, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(found[i], 3 * 2 * (i + 1) + 1) << i;
  EXPECT_EQ(Read(errors_, 32), std::vector<uint32_t>(32, 0));
}

TEST_F(ChildLaunch, BlocksAreInTheClustersThatTheirKernelWasCompiledFor) {
  constexpr uint32_t kInvalidConfiguration = 9;
  CUmodule module;
  CUfunction parent;
  CU_ASSERT(cuModuleLoadData(&module, kClusters));
  CU_ASSERT(cuModuleGetFunction(&parent, module, "parent"));
  for (uint32_t blocks : {4, 3}) {
    CU_ASSERT(cuMemsetD32_v2(out_, 0, 32));
    void* parameters[] = {&out_, &errors_, &blocks};
    CU_ASSERT(cuLaunchKernel(parent, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    CU_ASSERT(cuCtxSynchronize());
    EXPECT_EQ(Read(errors_, 1)[0], blocks == 4 ? 0 : kInvalidConfiguration);
    EXPECT_EQ(Read(out_, 4), blocks == 4 ? std::vector<uint32_t>({20, 21, 20, 21}) : std::vector<uint32_t>(4, 0));
  }
}

TEST_F(ChildLaunch, AModuleThatIsUnloadedBehindAFamilyStaysForAllOfIt) {
  CU_ASSERT(LaunchParents(2, 1));
  CU_ASSERT(cuCtxSynchronize());  // the children's code is there
  CU_ASSERT(LaunchParents(2, 1));
  CU_ASSERT(cuModuleUnload(launching_));
  CU_ASSERT(cuCtxSynchronize());
  const std::vector<uint32_t> found = Read(out_, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(found[i], 4 * (i + 1)) << i;
}

// The tail does not begin before the limit is met.
TEST_F(ChildLaunch, LaunchesBeyondTheLimitFailInTheKernelAndNowhereElse) {
  constexpr uint64_t kTail = 3;
  constexpr uint32_t kPendingCountExceeded = 69;
  CU_ASSERT(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 100));
  CU_ASSERT(LaunchParents(1, 10, kTail));
  CU_ASSERT(cuCtxSynchronize());
  const std::vector<uint32_t> found = Read(out_, 32), errors = Read(errors_, 32);
  uint32_t launched = 0, failed = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    launched += found[i] / (i + 1);
    failed += errors[i] == kPendingCountExceeded ? 1 : 0;
  }
  EXPECT_EQ(launched, 100u);
  EXPECT_EQ(failed, 32u);
  CU_ASSERT(cuMemsetD32_v2(out_, 0, 32));
  CU_ASSERT(LaunchParents(1, 2, kTail));  // 64
  CU_ASSERT(cuCtxSynchronize());
  EXPECT_EQ(Read(out_, 1)[0], 2u);
  size_t limit = 0;
  CU_EXPECT(cuCtxGetLimit(&limit, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT));
  EXPECT_EQ(limit, 100u);
  CU_ASSERT(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048));
}

}  // namespace
}  // namespace tutti::compat
