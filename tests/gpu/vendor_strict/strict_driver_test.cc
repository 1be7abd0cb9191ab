// Each rule of the strict driver refuses what breaks it, with the vendor's error, and notes it by name.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cuda/device_attribute.h"
#include "executor/vendor.h"

namespace tutti::gpu::strict {
namespace {

using namespace cuda;

constexpr uint64_t kGranule = 2 << 20;
constexpr const char* kText =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 values);\n"
    ".visible .entry k(.param .u64 a) .maxntid 64 {\n  .shared .b8 some[1024];\n  ret;\n}\n";

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class StrictDriver : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    log_ = std::filesystem::temp_directory_path() / ("tutti-strict-" + std::to_string(getpid()));
    setenv("TUTTI_STRICT_LOG", log_.c_str(), 1);
    setenv("TUTTI_DEVICE", "cpu", 1);
    setenv("TUTTI_CPU_MEMORY", "64M", 1);
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/proc/self/task", 1);  // where no daemon listens
    void* const library = dlopen(TUTTI_STRICT_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
#define CU_VENDOR(symbol, need, types) cu_.symbol = reinterpret_cast<decltype(cu_.symbol)>(dlsym(library, #symbol));
#include "executor/vendor.def"
#undef CU_VENDOR
    ASSERT_EQ(cu_.cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cu_.cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cu_.cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(cu_.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
  }
  static void TearDownTestSuite() { std::filesystem::remove(log_); }

  // The call that gave `status` has broken this rule.
  static void Refused(const char* rule, int expected, CUresult status) {
    EXPECT_EQ(static_cast<int>(status), expected) << rule;
    const std::string said = ReadAll(log_);
    const std::string news = said.substr(read_);
    read_ = said.size();
    EXPECT_TRUE(news.starts_with(std::string(rule) + ": ")) << rule << " is not what was broken: " << news;
    tested_.insert(rule);
  }
  static void Invalid(const char* rule, CUresult status) { Refused(rule, CUDA_ERROR_INVALID_VALUE, status); }

  static CUmemAllocationProp Properties(int handle_types = 0) {
    return {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
            .requestedHandleTypes = handle_types,
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
            .win32HandleMetaData = nullptr,
            .allocFlags = {}};
  }
  static CUdeviceptr Reserve(uint64_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cu_.cuMemAddressReserve(&address, bytes, 0, 0, 0), CUDA_SUCCESS);
    return address;
  }
  static CUmemGenericAllocationHandle Create(uint64_t bytes) {
    CUmemGenericAllocationHandle memory = 0;
    const CUmemAllocationProp properties = Properties();
    EXPECT_EQ(cu_.cuMemCreate(&memory, bytes, &properties, 0), CUDA_SUCCESS);
    return memory;
  }
  static CUresult SetAccess(CUdeviceptr address, uint64_t bytes, int flags = 3) {
    const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}, .flags = flags};
    return cu_.cuMemSetAccess(address, bytes, &access, 1);
  }
  // A file of the process's, which drivers may be told of, as its memory.
  static void* Shared(uint64_t bytes) {
    file_ = memfd_create("shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(file_, static_cast<off_t>(bytes)), 0);
    fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    void* const wanted = reinterpret_cast<void*>(Reserve(kGranule) - bytes);  // where the driver leaves room
    void* const memory = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file_, 0);
    EXPECT_EQ(memory, wanted);
    return memory;
  }
  static CUmodule Load(CUfunction* kernel, const char* text = kText) {
    CUmodule module = nullptr;
    EXPECT_EQ(cu_.cuModuleLoadDataEx(&module, text, 0, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cu_.cuModuleEnumerateFunctions(kernel, 1, module), CUDA_SUCCESS);
    return module;
  }
  struct Shape {
    unsigned grid = 1, block = 1, dynamic_shared = 0, cluster = 1;
  };
  static CUresult Launch(CUfunction kernel, const Shape& shape, void** parameters = nullptr, size_t bytes = 8) {
    uint64_t argument = 0;
    void* extra[] = {reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_POINTER), &argument,
                     reinterpret_cast<void*>(CU_LAUNCH_PARAM_BUFFER_SIZE), &bytes,
                     reinterpret_cast<void*>(CU_LAUNCH_PARAM_END)};
    CUlaunchAttribute cluster{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .pad = {}, .value = {}};
    cluster.value.clusterDim = {shape.cluster, 1, 1};
    const CUlaunchConfig config{.gridDimX = shape.grid,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = shape.block,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = shape.dynamic_shared,
                                .hStream = stream_,
                                .attrs = &cluster,
                                .numAttrs = shape.cluster == 1 ? 0u : 1u};
    return cu_.cuLaunchKernelEx(&config, kernel, parameters, extra);
  }

  static inline std::filesystem::path log_;
  static inline size_t read_ = 0;
  static inline std::set<std::string> tested_;
  static inline VendorTable cu_;
  static inline CUcontext context_ = nullptr;
  static inline CUstream stream_ = nullptr;
  static inline int file_ = -1;
};

TEST_F(StrictDriver, HoldsReservations) {
  CUdeviceptr address = 0;
  Invalid("reserve-takes-whole-pages", cu_.cuMemAddressReserve(&address, kGranule + 1, 0, 0, 0));
  Invalid("reserve-takes-whole-pages", cu_.cuMemAddressReserve(&address, kGranule, 3, 0, 0));
  Invalid("reserve-takes-whole-pages", cu_.cuMemAddressReserve(&address, kGranule, 0, 0, 1));
  address = Reserve(2 * kGranule);
  Invalid("reserved-addresses-are-freed-as-a-whole", cu_.cuMemAddressFree(address, kGranule));
  const auto memory = Create(kGranule);
  ASSERT_EQ(cu_.cuMemMap(address, kGranule, 0, memory, 0), CUDA_SUCCESS);
  Invalid("addresses-are-freed-when-nothing-is-mapped", cu_.cuMemAddressFree(address, 2 * kGranule));
  EXPECT_EQ(cu_.cuMemUnmap(address, kGranule), CUDA_SUCCESS);
  EXPECT_EQ(cu_.cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(cu_.cuMemAddressFree(address, 2 * kGranule), CUDA_SUCCESS);
}

TEST_F(StrictDriver, HoldsMemory) {
  CUmemGenericAllocationHandle memory = 0;
  CUmemAllocationProp properties = Properties();
  Invalid("memory-is-whole-granules", cu_.cuMemCreate(&memory, kGranule / 2, &properties, 0));
  Invalid("memory-is-whole-granules", cu_.cuMemCreate(&memory, kGranule, &properties, 1));
  properties.type = 0;
  Invalid("memory-is-pinned-on-a-device", cu_.cuMemCreate(&memory, kGranule, &properties, 0));
  properties = Properties(8);
  Refused("memory-is-shared-by-descriptors", CUDA_ERROR_NOT_SUPPORTED,
          cu_.cuMemCreate(&memory, kGranule, &properties, 0));
  memory = Create(kGranule);
  int file = -1;
  Invalid("memory-is-exported-as-it-was-created-for",
          cu_.cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  EXPECT_EQ(cu_.cuMemRelease(memory), CUDA_SUCCESS);
  Invalid("handles-are-released-once", cu_.cuMemRelease(memory));
  Invalid("descriptors-are-imported-by-value",
          cu_.cuMemImportFromShareableHandle(&memory, &file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

TEST_F(StrictDriver, HoldsMappings) {
  const CUdeviceptr one = Reserve(2 * kGranule);
  const auto memory = Create(2 * kGranule);
  Invalid("maps-are-whole-granules", cu_.cuMemMap(one, kGranule, kGranule, memory, 0));
  Invalid("maps-are-of-all-of-a-memory", cu_.cuMemMap(one, kGranule, 0, memory, 0));
  Invalid("maps-are-in-one-reservation", cu_.cuMemMap(one + kGranule, 2 * kGranule, 0, memory, 0));
  ASSERT_EQ(cu_.cuMemMap(one, 2 * kGranule, 0, memory, 0), CUDA_SUCCESS);
  Invalid("maps-are-where-nothing-is", cu_.cuMemMap(one, 2 * kGranule, 0, memory, 0));
  Invalid("access-is-set-of-whole-maps", SetAccess(one, kGranule));
  Invalid("access-is-a-devices", SetAccess(one, 2 * kGranule, 2));
  Invalid("unmaps-are-of-whole-maps", cu_.cuMemUnmap(one + kGranule, kGranule));
  Invalid("reserved-addresses-are-not-registered", cu_.cuMemHostRegister_v2(reinterpret_cast<void*>(one), kGranule, 0));
  EXPECT_EQ(cu_.cuMemUnmap(one, 2 * kGranule), CUDA_SUCCESS);
}

TEST_F(StrictDriver, HoldsAllocations) {
  CUdeviceptr address = 0;
  Invalid("memory-is-not-empty", cu_.cuMemAlloc_v2(&address, 0));
  ASSERT_EQ(cu_.cuMemAlloc_v2(&address, 4096), CUDA_SUCCESS);
  Invalid("memory-is-freed-as-it-was-taken", cu_.cuMemFree_v2(address + 256));
  Invalid("copies-are-in-one-allocation", cu_.cuMemsetD8Async(address, 0, 8192, stream_));
  Invalid("fills-are-aligned", cu_.cuMemsetD2D32Async(address + 2, 4, 0, 1, 1, stream_));
  Invalid("fills-are-aligned", cu_.cuMemsetD2D16Async(address, 3, 0, 1, 2, stream_));
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = copy.dstDevice = address;
  copy.srcPitch = copy.dstPitch = 1ull << 32;
  copy.WidthInBytes = 16, copy.Height = 1;
  Invalid("pitches-are-what-a-device-may-have", cu_.cuMemcpy2DAsync_v2(&copy, stream_));
  EXPECT_EQ(cu_.cuMemFree_v2(address), CUDA_SUCCESS);
  void* host = nullptr;
  Invalid("host-memory-has-known-flags", cu_.cuMemHostAlloc(&host, 4096, 8));
  Invalid("host-memory-is-freed-as-it-was-taken", cu_.cuMemFreeHost(&host));
}

TEST_F(StrictDriver, HoldsMemoryOfTheProcess) {
  auto* const memory = static_cast<std::byte*>(Shared(4 * kGranule));
  Invalid("registered-memory-has-known-flags", cu_.cuMemHostRegister_v2(memory, kGranule, 16));
  Invalid("what-is-registered-is-memory", cu_.cuMemHostRegister_v2(reinterpret_cast<void*>(kGranule), kGranule, 0));
  ASSERT_EQ(cu_.cuMemHostRegister_v2(memory, kGranule, CU_MEMHOSTREGISTER_DEVICEMAP), CUDA_SUCCESS);
  Refused("memory-is-registered-once", CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
          cu_.cuMemHostRegister_v2(memory + 4096, kGranule, 0));
  ASSERT_EQ(cu_.cuMemHostRegister_v2(memory + kGranule, kGranule, 0), CUDA_SUCCESS);
  CUdeviceptr seen = 0;
  EXPECT_EQ(cu_.cuMemHostGetDevicePointer_v2(&seen, memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(seen, reinterpret_cast<uint64_t>(memory));
  Invalid("host-memory-has-a-device-pointer", cu_.cuMemHostGetDevicePointer_v2(&seen, memory + 3 * kGranule, 0));
  const CUdeviceptr end = seen + kGranule;
  Invalid("copies-are-in-one-allocation", cu_.cuMemcpyAsync(end - 8, seen, 16, stream_));
  Refused("memory-is-unregistered-by-its-base", CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
          cu_.cuMemHostUnregister(memory + 4096));
  EXPECT_EQ(cu_.cuMemHostUnregister(memory + kGranule), CUDA_SUCCESS);
  munmap(memory, kGranule);
  Invalid("memory-is-unregistered-before-it-goes", cu_.cuMemHostUnregister(memory));
}

TEST_F(StrictDriver, HoldsStreamsAndEvents) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  Invalid("streams-have-known-flags", cu_.cuStreamCreateWithPriority(&stream, 2, 0));
  Invalid("events-have-known-flags", cu_.cuEventCreate(&event, CU_EVENT_INTERPROCESS));
  ASSERT_EQ(cu_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  Invalid("waits-have-no-flags", cu_.cuStreamWaitEvent(stream_, event, 1));
  EXPECT_EQ(cu_.cuEventDestroy_v2(event), CUDA_SUCCESS);
  Refused("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, cu_.cuEventQuery(event));
  Refused("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, cu_.cuEventDestroy_v2(event));
  ASSERT_EQ(cu_.cuStreamCreateWithPriority(&stream, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cu_.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  Refused("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, cu_.cuStreamSynchronize(stream));
}

TEST_F(StrictDriver, HoldsTimesOfEvents) {
  CUevent timed = nullptr, behind = nullptr, untimed = nullptr;
  ASSERT_EQ(cu_.cuEventCreate(&timed, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuEventCreate(&behind, 0), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuEventRecord(timed, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuEventRecord(untimed, stream_), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
  float ms = 0;
  Refused("times-are-of-events-that-have-some", CUDA_ERROR_INVALID_HANDLE, cu_.cuEventElapsedTime(&ms, timed, untimed));
  Refused("times-are-of-events-that-have-some", CUDA_ERROR_INVALID_HANDLE, cu_.cuEventElapsedTime(&ms, timed, behind));
  std::atomic<bool> goes_on{false};
  const CUhostFn wait = [](void* flag) {
    while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
  };
  ASSERT_EQ(cu_.cuLaunchHostFunc(stream_, wait, &goes_on), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuEventRecord(behind, stream_), CUDA_SUCCESS);
  Refused("times-are-of-events-that-are-reached", CUDA_ERROR_NOT_READY, cu_.cuEventElapsedTime(&ms, timed, behind));
  goes_on = true;
  ASSERT_EQ(cu_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cu_.cuEventElapsedTime(&ms, timed, behind), CUDA_SUCCESS);
  for (const CUevent event : {timed, behind, untimed}) EXPECT_EQ(cu_.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

TEST_F(StrictDriver, HoldsFunctionsOfTheHost) {
  static std::atomic<int> said{0};
  const CUhostFn calls = [](void*) { said = cu_.cuStreamQuery(stream_); };
  ASSERT_EQ(cu_.cuLaunchHostFunc(stream_, calls, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
  Refused("host-functions-call-nothing-of-it", CUDA_ERROR_NOT_PERMITTED, static_cast<CUresult>(said.load()));
}

TEST_F(StrictDriver, HoldsCompiling) {
  CUmodule module = nullptr;
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  size_t bytes = 4096;
  void* values[] = {&bytes};  // a pointer where the number should be
  Invalid("options-of-jit-are-numbers-or-buffers", cu_.cuModuleLoadDataEx(&module, kText, 1, options, values));
  const char list[] = "ILST\1\0\0\0\0\0\0\0\0\0\0";
  Refused("images-are-of-known-kinds", CUDA_ERROR_INVALID_IMAGE,
          cu_.cuModuleLoadDataEx(&module, list, 0, nullptr, nullptr));
  CUlinkState link = nullptr;
  ASSERT_EQ(cu_.cuLinkCreate_v2(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  char text[] = {'a', 'b'};
  Invalid("linked-text-ends-with-nul",
          cu_.cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, text, sizeof text, "text", 0, nullptr, nullptr));
  EXPECT_EQ(cu_.cuLinkDestroy(link), CUDA_SUCCESS);
  Refused("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, cu_.cuLinkDestroy(link));
}

TEST_F(StrictDriver, HoldsLaunches) {
  CUfunction kernel = nullptr;
  const CUmodule module = Load(&kernel);
  constexpr int kDynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  constexpr unsigned kMost = (48 << 10) - 1024;
  Invalid("grids-are-not-empty", Launch(kernel, {.grid = 0}));
  Invalid("blocks-are-what-a-kernel-may-have", Launch(kernel, {.block = 65}));
  Invalid("dynamic-shared-memory-is-allowed-first", Launch(kernel, {.dynamic_shared = kMost + 1}));
  Invalid("a-kernels-parameters-are-all-there", Launch(kernel, {}, nullptr, 4));
  uint64_t argument = 0;
  void* parameters[] = {&argument};
  Invalid("parameters-come-one-way", Launch(kernel, {}, parameters));
  Invalid("clusters-fit-their-grid", Launch(kernel, {.grid = 3, .cluster = 2}));
  Invalid("clusters-fit-their-grid", Launch(kernel, {.grid = 16, .cluster = 16}));
  Invalid("shared-memory-is-what-a-block-may-have", cu_.cuFuncSetAttribute(kernel, kDynamic, 1 << 30));
  Invalid("attributes-that-are-set-may-be", cu_.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
  EXPECT_EQ(Launch(kernel, {.dynamic_shared = kMost}), CUDA_SUCCESS);
  Invalid("what-prints-has-its-fifo-first", cu_.cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
  EXPECT_EQ(cu_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cu_.cuModuleUnload(module), CUDA_SUCCESS);
  Refused("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, cu_.cuModuleUnload(module));
}

// The driver gives their handles away again.
TEST_F(StrictDriver, KnowsFunctionsAsLongAsTheirModules) {
  constexpr const char* kNoParameters =
      ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() {\n  ret;\n}\n";
  const auto launched = [](const char* text, size_t bytes) {
    constexpr int kModules = 100;  // more than a driver keeps from being given away
    std::set<CUfunction> kernels;
    std::vector<CUmodule> modules;
    for (int i = 0; i < kModules; ++i) {
      CUfunction kernel = nullptr;
      modules.push_back(Load(&kernel, text));
      kernels.insert(kernel);
      EXPECT_EQ(Launch(kernel, {}, nullptr, bytes), CUDA_SUCCESS);
    }
    EXPECT_EQ(cu_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
    for (CUmodule module : modules) EXPECT_EQ(cu_.cuModuleUnload(module), CUDA_SUCCESS);
    return kernels;
  };
  const std::set<CUfunction> gone = launched(kText, 8), next = launched(kNoParameters, 0);
  EXPECT_TRUE(std::ranges::any_of(next, [&](CUfunction kernel) { return gone.contains(kernel); }))
      << "no handle was given away again, so this says nothing";
}

TEST_F(StrictDriver, HoldsArrays) {
  const CUDA_ARRAY3D_DESCRIPTOR shape{
      .Width = 8, .Height = 4, .Depth = 0, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1, .Flags = 0};
  CUarray array = nullptr, level = nullptr;
  CUmipmappedArray mipmapped = nullptr;
  CUdeviceptr memory = 0;
  ASSERT_EQ(cu_.cuArray3DCreate_v2(&array, &shape), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuMipmappedArrayCreate(&mipmapped, &shape, 2), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuMipmappedArrayGetLevel(&level, mipmapped, 1), CUDA_SUCCESS);
  ASSERT_EQ(cu_.cuMemAlloc_v2(&memory, 4096), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = memory;
  copy.srcPitch = 32;
  copy.srcHeight = 4;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 32;
  copy.Height = 4;
  copy.Depth = 1;
  EXPECT_EQ(cu_.cuMemcpy3DAsync_v2(&copy, stream_), CUDA_SUCCESS);
  const auto with = [&copy](auto change) {
    CUDA_MEMCPY3D changed = copy;
    change(changed);
    return cu_.cuMemcpy3DAsync_v2(&changed, stream_);
  };
  Invalid("boxes-are-of-whole-elements", with([](CUDA_MEMCPY3D& c) { c.WidthInBytes = 30; }));
  Invalid("boxes-lie-in-their-arrays", with([](CUDA_MEMCPY3D& c) { c.dstXInBytes = 4; }));
  Invalid("boxes-lie-in-their-arrays", with([&](CUDA_MEMCPY3D& c) { c.dstArray = level; }));
  Invalid("boxes-of-memory-have-a-pitch-and-a-height", with([](CUDA_MEMCPY3D& c) { c.srcPitch = 16; }));
  Invalid("boxes-of-memory-have-a-pitch-and-a-height", with([](CUDA_MEMCPY3D& c) { c.srcHeight = 3; }));
  Refused("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, cu_.cuArrayDestroy(level));

  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  CUsurfObject surface = 0;
  Invalid("surfaces-are-of-arrays-made-for-them", cu_.cuSurfObjectCreate(&surface, &resource));
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {memory + 4, CU_AD_FORMAT_UNSIGNED_INT32, 1, 64};
  CUDA_TEXTURE_DESC sampling{};
  for (int& mode : sampling.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  CUtexObject texture = 0;
  Invalid("textures-of-memory-are-aligned", cu_.cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  Refused("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, cu_.cuTexObjectDestroy(7));
  EXPECT_EQ(cu_.cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(cu_.cuMipmappedArrayDestroy(mipmapped), CUDA_SUCCESS);
  Refused("handles-are-alive", CUDA_ERROR_INVALID_HANDLE, with([](CUDA_MEMCPY3D&) {}));
  EXPECT_EQ(cu_.cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(StrictDriver, HoldsContexts) {
  ASSERT_EQ(cu_.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  CUevent event = nullptr;
  Refused("a-context-is-current", CUDA_ERROR_INVALID_CONTEXT, cu_.cuEventCreate(&event, 0));
  ASSERT_EQ(cu_.cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

// The last: the error stays.
TEST_F(StrictDriver, SaysAnErrorThatTheContextHasAtEachCall) {
  const CUdeviceptr nothing = Reserve(kGranule);
  Refused("copies-reach-mapped-memory", CUDA_ERROR_ILLEGAL_ADDRESS, cu_.cuMemsetD8Async(nothing, 0, 8, stream_));
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  EXPECT_EQ(cu_.cuEventCreate(&event, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu_.cuMemAlloc_v2(&memory, 8), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu_.cuStreamDestroy_v2(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu_.cuMemAddressFree(nothing, kGranule), CUDA_SUCCESS) << "it is of no context";
}

TEST_F(StrictDriver, HasATestForEachRule) {
  static const std::regex kRule(R"((?:Breach|refuse)\("([a-z-]+)\")");
  std::set<std::string> rules;
  for (const auto& file : std::filesystem::directory_iterator(TUTTI_STRICT_SOURCES)) {
    if (file.path().extension() != ".cc" || file.path().stem().string().ends_with("_test")) continue;
    const std::string text = ReadAll(file.path());
    for (std::sregex_iterator at(text.begin(), text.end(), kRule), end; at != end; ++at) rules.insert((*at)[1]);
  }
  rules.erase("the-strict-driver-cannot-show-this");  // a limit of its own, and no rule
  EXPECT_EQ(rules, tested_);
}

}  // namespace
}  // namespace tutti::gpu::strict
