#include "driver/fixture.h"

namespace tutti::compat {

const char* const kPtx = R"(
.version 7.0
.target sm_70
.address_size 64

.visible .global .align 4 .u32 table[16] = {100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115};
.visible .const .align 4 .u32 scale = 3;

.visible .entry add_one(.param .u64 data, .param .u32 n) {
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [data];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p bra done;
  cvta.to.global.u64 %d1, %d0;
  mul.wide.u32 %d2, %r4, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.u32 %r5, [%d3];
  add.s32 %r5, %r5, 1;
  st.global.u32 [%d3], %r5;
done:
  ret;
}

.visible .entry fill(.param .u64 data, .param .u32 n, .param .u32 value) {
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [data];
  ld.param.u32 %r0, [n];
  ld.param.u32 %r5, [value];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0;
  @%p bra done;
  cvta.to.global.u64 %d1, %d0;
  mul.wide.u32 %d2, %r4, 4;
  add.s64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r5;
done:
  ret;
}

.visible .entry scaled_table(.param .u64 out) {
  .reg .b32 %r<5>;
  .reg .b64 %d<6>;
  ld.param.u64 %d0, [out];
  cvta.to.global.u64 %d1, %d0;
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  mov.u64 %d3, table;
  add.s64 %d4, %d3, %d2;
  ld.global.u32 %r1, [%d4];
  ld.const.u32 %r2, [scale];
  mul.lo.s32 %r3, %r1, %r2;
  add.s64 %d5, %d1, %d2;
  st.global.u32 [%d5], %r3;
  ret;
}

.visible .entry spin(.param .u64 flag) {
  .reg .pred %p;
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [flag];
  cvta.to.global.u64 %d1, %d0;
again:
  ld.volatile.global.u32 %r0, [%d1];
  setp.eq.u32 %p, %r0, 0;
  @%p bra again;
  ret;
}

.visible .entry stray(.param .u64 address) {
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [address];
  mov.u32 %r0, 1;
  st.global.u32 [%d0], %r0;
  ret;
}
)";

bool ReachesDeviceMemory() {
  const char* const reachable = std::getenv("TUTTI_CPU_REACHABLE");
  return reachable == nullptr || std::string_view(reachable) != "0";
}

void DriverTest::SetUp() {
  CU_ASSERT(cuDevicePrimaryCtxRetain(&context_, 0));
  CU_ASSERT(cuCtxSetCurrent(context_));
}

void DriverTest::TearDown() {
  if (module_ != nullptr) {
    CU_EXPECT(cuModuleUnload(module_));
  }
  CU_EXPECT(cuDevicePrimaryCtxRelease_v2(0));
}

CUmodule DriverTest::module() {
  if (module_ == nullptr) {
    CU_EXPECT(cuModuleLoadData(&module_, kPtx));
  }
  return module_;
}

CUfunction DriverTest::Function(const char* name) {
  CUfunction function = nullptr;
  CU_EXPECT(cuModuleGetFunction(&function, module(), name));
  return function;
}

CUdeviceptr DriverTest::Allocate(size_t bytes) {
  CUdeviceptr address = 0;
  CU_EXPECT(cuMemAlloc_v2(&address, bytes));
  return address;
}

std::vector<uint32_t> DriverTest::Read(CUdeviceptr address, size_t count) {
  std::vector<uint32_t> values(count);
  CU_EXPECT(cuMemcpyDtoH_v2(values.data(), address, count * sizeof(uint32_t)));
  return values;
}

CUresult DriverTest::Launch(CUfunction function, unsigned blocks, unsigned threads, void** parameters,
                            CUstream stream) {
  return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
}

CUresult DriverTest::AddOne(CUdeviceptr data, uint32_t count, CUstream stream) {
  void* parameters[] = {&data, &count};
  return Launch(Function("add_one"), (count + 127) / 128, 128, parameters, stream);
}

}  // namespace tutti::compat
