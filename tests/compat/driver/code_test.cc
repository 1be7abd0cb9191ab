#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "driver/fixture.h"
#include "image/testing_cubin.h"
#include "image/testing_fatbin.h"

namespace tutti::compat {
namespace {

using CodeTest = DriverTest;

TEST_F(CodeTest, KernelsReportNoMoreRegistersThanTheProgramAllows) {
  std::string wide = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) {\n";
  wide += ".reg .b64 %d<80>; ld.param.u64 %d0, [p];\n";
  for (int i = 1; i < 80; ++i) wide += "add.u64 %d" + std::to_string(i) + ", %d0, " + std::to_string(i) + ";\n";
  for (int i = 1; i < 80; ++i) wide += "st.global.u64 [%d0], %d" + std::to_string(i) + ";\n";
  wide += "ret; }\n";
  const auto registers = [&](unsigned count, CUjit_option* options, void** values) {
    CUmodule loaded = nullptr;
    CUfunction kernel = nullptr;
    int found = -1;
    CU_EXPECT(cuModuleLoadDataEx(&loaded, wide.c_str(), count, options, values));
    CU_EXPECT(cuModuleGetFunction(&kernel, loaded, "k"));
    CU_EXPECT(cuFuncGetAttribute(&found, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel));
    CU_EXPECT(cuModuleUnload(loaded));
    return found;
  };
  CUjit_option options[] = {CU_JIT_MAX_REGISTERS};
  void* values[] = {reinterpret_cast<void*>(uintptr_t{32})};
  EXPECT_GT(registers(0, nullptr, nullptr), 32);
  EXPECT_EQ(registers(1, options, values), 32);
}

TEST_F(CodeTest, AKernelRunsOnceForEachThread) {
  const CUdeviceptr data = Allocate(1000 * 4);
  CU_ASSERT(cuMemsetD32_v2(data, 1, 1000));
  CU_ASSERT(AddOne(data, 1000));
  EXPECT_EQ(Read(data, 1000), std::vector<uint32_t>(1000, 2));
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(CodeTest, ParametersMayComeAsOneBuffer) {
  CUdeviceptr data = Allocate(64 * 4);
  struct {
    CUdeviceptr data;
    uint32_t n, value;
  } packed{data, 64, 77};
  size_t bytes = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_POINTER), &packed,
                   reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_SIZE), &bytes,
                   reinterpret_cast<void*>(CU_LAUNCH_PARAM_END)};
  CU_ASSERT(cuLaunchKernel(Function("fill"), 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(Read(data, 64), std::vector<uint32_t>(64, 77));
  packed.value = 78;
  bytes = 12;  // what the buffer does not hold is 0
  CU_ASSERT(cuLaunchKernel(Function("fill"), 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  EXPECT_EQ(Read(data, 64), std::vector<uint32_t>(64, 0));
  CU_EXPECT(cuMemFree_v2(data));
}

// The device is one of compute capability 8.0: host code that asks expects the first.
TEST_F(CodeTest, OfSeveralTextsTheOneForTheDevicesCapabilityRuns) {
  image::FatbinBuilder builder;
  for (const uint32_t arch : {75u, 90u}) {
    const std::string number = std::to_string(arch);
    builder.Add(image::EntryKind::kPtx, arch,
                ".version 8.0\n.target sm_" + number +
                    "\n.address_size 64\n.visible .entry which(.param .u64 out) {\n  .reg .b64 %d<2>;\n"
                    "  ld.param.u64 %d0, [out];\n  cvta.to.global.u64 %d1, %d0;\n  st.global.u32 [%d1], " +
                    number + ";\n  ret;\n}\n");
  }
  CUmodule both = nullptr;
  CUfunction which = nullptr;
  CU_ASSERT(cuModuleLoadData(&both, builder.Build().data()));
  CU_ASSERT(cuModuleGetFunction(&which, both, "which"));
  CUdeviceptr data = Allocate(4);
  void* parameters[] = {&data};
  CU_ASSERT(cuLaunchKernel(which, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  EXPECT_EQ(Read(data, 1), std::vector<uint32_t>{75});
  CU_EXPECT(cuModuleUnload(both));
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(CodeTest, ImpossibleLaunchesAreRefused) {
  const CUfunction function = Function("add_one");
  CUdeviceptr data = 0;
  uint32_t n = 0;
  void* parameters[] = {&data, &n};
  const auto launch = [&](unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned shared) {
    return cuLaunchKernel(function, gx, gy, 1, bx, by, 1, shared, nullptr, parameters, nullptr);
  };
  EXPECT_EQ(launch(0, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1025, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 64, 64, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 65536, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 1, 1u << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(reinterpret_cast<CUfunction>(module()), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CodeTest, MoreSharedMemoryMayBeAskedForUpToTheLimit) {
  const CUfunction function = Function("add_one");
  CUdeviceptr data = 0;
  uint32_t n = 0;
  void* parameters[] = {&data, &n};
  int most = 0;
  CU_ASSERT(cuDeviceGetAttribute(&most, 97, 0));
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, most, nullptr, parameters, nullptr), CUDA_ERROR_INVALID_VALUE);
  CU_ASSERT(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most));
  CU_EXPECT(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, most, nullptr, parameters, nullptr));
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most + 1),
            CUDA_ERROR_INVALID_VALUE);
  CU_EXPECT(cuCtxSynchronize());
}

TEST_F(CodeTest, GlobalsAreFoundReadAndWritten) {
  CUdeviceptr table = 0, scale = 0;
  size_t bytes = 0;
  CU_ASSERT(cuModuleGetGlobal_v2(&table, &bytes, module(), "table"));
  EXPECT_EQ(bytes, 64u);
  EXPECT_EQ(Read(table, 16)[15], 115u);
  CU_ASSERT(cuModuleGetGlobal_v2(&scale, nullptr, module(), "scale"));
  CU_ASSERT(cuMemsetD32_v2(scale, 10, 1));
  CUdeviceptr out = Allocate(64);
  void* parameters[] = {&out};
  CU_ASSERT(Launch(Function("scaled_table"), 1, 16, parameters));
  EXPECT_EQ(Read(out, 16)[5], 1050u);
  EXPECT_EQ(cuModuleGetGlobal_v2(&table, &bytes, module(), "no_such"), CUDA_ERROR_NOT_FOUND);
  CUfunction none;
  EXPECT_EQ(cuModuleGetFunction(&none, module(), "no_such"), CUDA_ERROR_NOT_FOUND);
  CU_EXPECT(cuMemFree_v2(out));
}

TEST_F(CodeTest, FunctionsDescribeThemselves) {
  const CUfunction function = Function("fill");
  size_t offset = 0, bytes = 0;
  CU_EXPECT(cuFuncGetParamInfo(function, 1, &offset, &bytes));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(cuFuncGetParamInfo(function, 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  const char* name = nullptr;
  CU_EXPECT(cuFuncGetName(&name, function));
  EXPECT_STREQ(name, "fill");
  int threads = 0;
  CU_EXPECT(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT_EQ(threads, 1024);
  int blocks = 0;
  CU_EXPECT(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
  EXPECT_GT(blocks, 0);
  int min_grid = 0, block = 0;
  CU_EXPECT(cuOccupancyMaxPotentialBlockSize(&min_grid, &block, function, nullptr, 0, 0));
  EXPECT_GT(min_grid, 0);
  EXPECT_EQ(block % 32, 0);
}

TEST_F(CodeTest, BrokenPtxIsExplained) {
  char log[1024] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule broken = nullptr;
  EXPECT_EQ(cuModuleLoadDataEx(&broken, ".version 7.0\n.target sm_70\n.visible .entry broken( {\n ret;\n}\n", 2,
                               options, values),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::strlen(log), 0u);
  EXPECT_EQ(cuModuleLoadData(&broken, "hello"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&broken, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoad(&broken, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(CodeTest, UnloadedModulesAreGone) {
  CUmodule extra = nullptr;
  CUfunction function = nullptr;
  CU_ASSERT(cuModuleLoadData(&extra, kPtx));
  CU_ASSERT(cuModuleGetFunction(&function, extra, "add_one"));
  CU_ASSERT(cuModuleUnload(extra));
  EXPECT_EQ(cuModuleUnload(extra), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr data = 0;
  uint32_t n = 0;
  void* parameters[] = {&data, &n};
  EXPECT_EQ(Launch(function, 1, 1, parameters), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CodeTest, AKernelOfALibraryIsLaunchedLikeAFunction) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CU_ASSERT(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CU_ASSERT(cuLibraryGetKernel(&kernel, library, "fill"));
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND);
  unsigned count = 0;
  CU_EXPECT(cuLibraryGetKernelCount(&count, library));
  EXPECT_EQ(count, 5u);
  CUdeviceptr data = Allocate(400);
  uint32_t n = 100, value = 9;
  void* parameters[] = {&data, &n, &value};
  CU_ASSERT(Launch(reinterpret_cast<CUfunction>(kernel), 1, 128, parameters));
  EXPECT_EQ(Read(data, 100), std::vector<uint32_t>(100, 9));
  CUdeviceptr table = 0;
  size_t bytes = 0;
  CU_EXPECT(cuLibraryGetGlobal(&table, &bytes, library, "table"));
  EXPECT_EQ(bytes, 64u);
  CU_EXPECT(cuLibraryUnload(library));
  EXPECT_EQ(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(reinterpret_cast<CUfunction>(kernel), 1, 128, parameters), CUDA_ERROR_INVALID_HANDLE);
  CU_EXPECT(cuMemFree_v2(data));
}

// Places of functions are used again after a reset, by other kernels: a library's kernel must not take one for its own.
TEST_F(CodeTest, AKernelIsItselfAfterEachReset) {
  CUlibrary library = nullptr;
  CUkernel fill = nullptr, add_one = nullptr;
  CU_ASSERT(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CU_ASSERT(cuLibraryGetKernel(&fill, library, "fill"));
  CU_ASSERT(cuLibraryGetKernel(&add_one, library, "add_one"));
  const char* const other = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry other() { ret; }\n";
  uint32_t next = 0, gap = 10;  // add_one is used again after more and more rounds
  for (uint32_t round = 0; round < 120; ++round) {
    CUmodule shift = nullptr;
    if (round % 3 != 0) {
      CU_ASSERT(cuModuleLoadData(&shift, other));
    }
    CUdeviceptr data = Allocate(4);
    uint32_t n = 1;
    void* parameters[] = {&data, &n, &round};
    CU_ASSERT(Launch(reinterpret_cast<CUfunction>(fill), 1, 1, parameters));
    const uint32_t once = round == next ? 1 : 0;
    if (once == 1) {
      CU_ASSERT(Launch(reinterpret_cast<CUfunction>(add_one), 1, 1, parameters));
      next += ++gap;
    }
    ASSERT_EQ(Read(data, 1)[0], round + once);
    CU_ASSERT(cuDevicePrimaryCtxReset_v2(0));
  }
  CU_EXPECT(cuLibraryUnload(library));
}

TEST_F(CodeTest, LaunchAttributesAreTaken) {
  CUdeviceptr data = Allocate(400);
  CU_ASSERT(cuMemsetD32_v2(data, 0, 100));
  uint32_t n = 100;
  void* parameters[] = {&data, &n};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  CUlaunchConfig config{1, 1, 1, 128, 1, 1, 0, nullptr, &attribute, 1};
  CU_ASSERT(cuLaunchKernelEx(&config, Function("add_one"), parameters, nullptr));
  EXPECT_EQ(Read(data, 100), std::vector<uint32_t>(100, 1));
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.number = 1;
  config.gridDimX = 1 << 20;
  EXPECT_EQ(cuLaunchKernelEx(&config, Function("add_one"), parameters, nullptr),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  CU_EXPECT(cuMemFree_v2(data));
}

TEST_F(CodeTest, WhatTheLinkerMadeIsLoadedAsAModule) {
  CUlinkState linker = nullptr;
  void* image = nullptr;
  size_t bytes = 0;
  CU_ASSERT(cuLinkCreate_v2(0, nullptr, nullptr, &linker));
  EXPECT_EQ(cuLinkComplete(linker, &image, &bytes), CUDA_ERROR_INVALID_IMAGE);
  CU_ASSERT(cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, const_cast<char*>(kPtx), std::strlen(kPtx) + 1, "part", 0,
                             nullptr, nullptr));
  CU_ASSERT(cuLinkComplete(linker, &image, &bytes));
  EXPECT_GT(bytes, std::strlen(kPtx));
  CUmodule linked = nullptr;
  CUfunction fill = nullptr;
  CU_ASSERT(cuModuleLoadData(&linked, image));
  CU_ASSERT(cuLinkDestroy(linker));
  CU_ASSERT(cuModuleGetFunction(&fill, linked, "fill"));
  CUdeviceptr out = Allocate(4);
  uint32_t n = 1, value = 42;
  void* parameters[] = {&out, &n, &value};
  CU_ASSERT(Launch(fill, 1, 1, parameters));
  EXPECT_EQ(Read(out, 1)[0], 42u);
  CU_EXPECT(cuModuleUnload(linked));
  CU_EXPECT(cuMemFree_v2(out));
}

TEST_F(CodeTest, SeveralInputsOfTheLinkerBecomeOneModule) {
  char callee[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 result) forty_two() {
  .reg .b32 %r0;
  mov.u32 %r0, 42;
  st.param.b32 [result], %r0;
  ret;
})";
  char caller[] = R"(
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 result) forty_two();
.visible .entry store(.param .u64 out) {
  .reg .b32 %r0;
  .reg .b64 %d0;
  ld.param.u64 %d0, [out];
  {
    .param .b32 value;
    call.uni (value), forty_two;
    ld.param.b32 %r0, [value];
  }
  st.global.u32 [%d0], %r0;
  ret;
})";
  CUlinkState linker = nullptr;
  void* image = nullptr;
  CU_ASSERT(cuLinkCreate_v2(0, nullptr, nullptr, &linker));
  CU_ASSERT(cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, nullptr, nullptr));
  CU_ASSERT(cuLinkAddData_v2(linker, CU_JIT_INPUT_PTX, callee, sizeof callee, "callee", 0, nullptr, nullptr));
  CU_ASSERT(cuLinkComplete(linker, &image, nullptr));
  CUmodule linked = nullptr;
  CUfunction store = nullptr;
  CU_ASSERT(cuModuleLoadData(&linked, image));
  CU_ASSERT(cuLinkDestroy(linker));
  CU_ASSERT(cuModuleGetFunction(&store, linked, "store"));
  CUdeviceptr out = Allocate(4);
  void* parameters[] = {&out};
  CU_ASSERT(Launch(store, 1, 1, parameters));
  EXPECT_EQ(Read(out, 1)[0], 42u);
  CU_EXPECT(cuModuleUnload(linked));
  CU_EXPECT(cuMemFree_v2(out));
}

// What ptxas makes of our kernels with -lineinfo, without the machine code.
std::vector<uint8_t> CubinOfTheKernels() {
  return image::CubinBuilder(80)
      .Add(".text.fill", "machine code")
      .Add(image::kCarriedPtxSection, image::AsCarried(kPtx))
      .Build();
}

TEST_F(CodeTest, ACubinThatCarriesItsPtxRuns) {
  const auto cubin = CubinOfTheKernels();
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUfunction fill = nullptr;
  CUkernel kernel = nullptr;
  CU_ASSERT(cuModuleLoadData(&module, cubin.data()));
  CU_ASSERT(cuModuleGetFunction(&fill, module, "fill"));
  CU_ASSERT(cuLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CU_ASSERT(cuLibraryGetKernel(&kernel, library, "fill"));
  CUdeviceptr data = Allocate(400);
  uint32_t n = 100, value = 7;
  void* parameters[] = {&data, &n, &value};
  CU_ASSERT(Launch(fill, 1, 128, parameters));
  EXPECT_EQ(Read(data, 100), std::vector<uint32_t>(100, 7));
  value = 8;
  CU_ASSERT(Launch(reinterpret_cast<CUfunction>(kernel), 1, 128, parameters));
  EXPECT_EQ(Read(data, 100), std::vector<uint32_t>(100, 8));
  CU_EXPECT(cuModuleUnload(module));
  CU_EXPECT(cuLibraryUnload(library));
  CU_EXPECT(cuMemFree_v2(data));
}

// On a GPU it is as it is loaded.
TEST_F(CodeTest, MachineCodeAloneIsRefusedAsItIsAddedToALinker) {
  auto bare = image::CubinBuilder(80).Add(".text.fill", "machine code").Build();
  CUlinkState linker = nullptr;
  CU_ASSERT(cuLinkCreate_v2(0, nullptr, nullptr, &linker));
  EXPECT_EQ(cuLinkAddData_v2(linker, CU_JIT_INPUT_CUBIN, bare.data(), bare.size(), "", 0, nullptr, nullptr),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
  CU_ASSERT(cuLinkDestroy(linker));
}

TEST_F(CodeTest, TheLinkerTakesCubinsThatCarryTheirPtx) {
  auto cubin = CubinOfTheKernels();
  CUlinkState linker = nullptr;
  void* image = nullptr;
  CU_ASSERT(cuLinkCreate_v2(0, nullptr, nullptr, &linker));
  EXPECT_EQ(cuLinkAddData_v2(linker, CU_JIT_INPUT_CUBIN, cubin.data(), cubin.size() - 1, "", 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_IMAGE);
  CU_ASSERT(cuLinkAddData_v2(linker, CU_JIT_INPUT_CUBIN, cubin.data(), cubin.size(), "", 0, nullptr, nullptr));
  CU_ASSERT(cuLinkComplete(linker, &image, nullptr));
  CUmodule linked = nullptr;
  CUfunction fill = nullptr;
  CU_ASSERT(cuModuleLoadData(&linked, image));
  CU_ASSERT(cuModuleGetFunction(&fill, linked, "fill"));
  CU_ASSERT(cuLinkDestroy(linker));
  CU_EXPECT(cuModuleUnload(linked));
}

TEST_F(CodeTest, MachineCodeAloneIsNamedWithWhatWouldHelp) {
  const auto bare = image::CubinBuilder(90).Add(".text.fill", "machine code").Build();
  char log[1024] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module = nullptr;
  testing::internal::CaptureStderr();
  EXPECT_EQ(cuModuleLoadDataEx(&module, bare.data(), 2, options, values), CUDA_ERROR_NO_BINARY_FOR_GPU);
  const std::string text = testing::internal::GetCapturedStderr();
  for (const std::string& said : {text, std::string(log)}) {
    EXPECT_NE(said.find("machine code for sm_90 only"), std::string::npos) << said;
    EXPECT_NE(said.find("-lineinfo"), std::string::npos) << said;
  }
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
}

// Behind the case above: what it says is said once.
TEST_F(CodeTest, MachineCodeAloneIsForAGpusDriverToLink) {
  auto bare = image::CubinBuilder(80).Add(".text.fill", "machine code").Build();
  CUlinkState linker = nullptr;
  CUmodule module = nullptr;
  void* image = nullptr;
  CU_ASSERT(cuLinkCreate_v2(0, nullptr, nullptr, &linker));
  CUresult status = cuLinkAddData_v2(linker, CU_JIT_INPUT_CUBIN, bare.data(), bare.size(), "", 0, nullptr, nullptr);
  if (status == CUDA_SUCCESS) {
    CU_ASSERT(cuLinkComplete(linker, &image, nullptr));
    status = cuModuleLoadData(&module, image);
  }
  EXPECT_EQ(status, CUDA_ERROR_NO_BINARY_FOR_GPU) << "our own driver, as what it is or as a GPU's, runs PTX";
  CU_ASSERT(cuLinkDestroy(linker));
}

// A cubin whose table of sections, or whose text, reaches beyond what was sent: refused, and the context lives.
TEST_F(CodeTest, ACubinThatLiesAboutItsPtxIsRefused) {
  auto cubin = CubinOfTheKernels();
  CUmodule module = nullptr;
  for (const uint64_t huge : {uint64_t{1} << 41, ~uint64_t{0}}) {
    auto lie = cubin;
    image::CubinBuilder::ChangeSection(&lie, 3, [=](Elf64_Shdr& section) { section.sh_size = huge; });
    EXPECT_EQ(cuModuleLoadData(&module, lie.data()), CUDA_ERROR_INVALID_IMAGE);
    const auto fatbin = image::FatbinBuilder()
                            .Add(image::EntryKind::kElf, 80, {reinterpret_cast<const char*>(lie.data()), lie.size()})
                            .Build();
    EXPECT_EQ(cuModuleLoadData(&module, fatbin.data()), CUDA_ERROR_INVALID_IMAGE);
  }
  const auto nonsense = image::CubinBuilder(80).Add(image::kCarriedPtxSection, std::string(1000, '.')).Build();
  EXPECT_EQ(cuModuleLoadData(&module, nonsense.data()), CUDA_ERROR_INVALID_PTX);
  CU_ASSERT(cuModuleLoadData(&module, cubin.data()));
  CU_EXPECT(cuModuleUnload(module));
}

TEST_F(CodeTest, AKernelThatCannotBeCompiledIsNamedOnStderrOnce) {
  const char* const ptx =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry impossible() {\n  .reg .b32 %r<3>;\n  frobnicate.u32 %r1, %r2;\n  ret;\n}\n";
  CUmodule module;
  CUfunction impossible;
  CU_ASSERT(cuModuleLoadData(&module, ptx));
  CU_ASSERT(cuModuleGetFunction(&impossible, module, "impossible"));
  const auto launch = [&] {
    testing::internal::CaptureStderr();
    for (int i = 0; i < 2; ++i)
      EXPECT_NE(cuLaunchKernel(impossible, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), 0);
    return testing::internal::GetCapturedStderr();
  };
  const std::string text = launch();
  EXPECT_NE(text.find("impossible"), std::string::npos) << text;
  EXPECT_NE(text.find("frobnicate"), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  CU_ASSERT(cuModuleUnload(module));
  CU_ASSERT(cuModuleLoadData(&module, ptx));
  CU_ASSERT(cuModuleGetFunction(&impossible, module, "impossible"));
  setenv("TUTTI_QUIET", "1", 1);
  EXPECT_EQ(launch(), "");
  unsetenv("TUTTI_QUIET");
  CU_ASSERT(cuModuleUnload(module));
}

}  // namespace
}  // namespace tutti::compat
