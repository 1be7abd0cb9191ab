#include <fstream>
#include <map>
#include <sstream>

#include "cuda/device_attribute.h"
#include "driver/fixture.h"

namespace tutti::compat {
namespace {

using InitTest = DriverTest;

using Probe = CUresult (*)();

void* Find(const char* name, int version, uint64_t flags, CUdriverProcAddressQueryResult* status = nullptr) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult ignored;
  CU_EXPECT(cuGetProcAddress_v2(name, &function, version, flags, status != nullptr ? status : &ignored));
  return function;
}

TEST_F(InitTest, DriverIsOfVersion13) {
  int version = 0;
  CU_ASSERT(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
}

TEST_F(InitTest, FlagsOtherThanZeroAreRefused) { EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE); }

// What cudart 13.0 asks for at its start: each name at a version and with flags.
TEST_F(InitTest, EverythingTheRuntimeAsksForIsFound) {
  std::ifstream list(TUTTI_RUNTIME_REQUESTS);
  std::string name;
  int version, count = 0;
  uint64_t flags;
  while (list >> name >> version >> flags) {
    CUdriverProcAddressQueryResult status = -1;
    EXPECT_NE(Find(name.c_str(), version, flags, &status), nullptr) << name << " " << version;
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS) << name;
    ++count;
  }
  EXPECT_EQ(count, 439);
}

TEST_F(InitTest, AnOlderVersionGetsTheOlderAbi) {
  EXPECT_EQ(Find("cuMemAlloc", 3020, 0), reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(Find("cuMemAlloc", 13000, 0), reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(Find("cuCtxGetDevice", 12090, 0), reinterpret_cast<void*>(&cuCtxGetDevice));
  EXPECT_EQ(Find("cuCtxGetDevice", 13000, 0), reinterpret_cast<void*>(&cuCtxGetDevice_v2));
  EXPECT_EQ(Find("cuGetProcAddress", 11030, 0), reinterpret_cast<void*>(&cuGetProcAddress));
  EXPECT_EQ(Find("cuGetProcAddress", 12000, 0), reinterpret_cast<void*>(&cuGetProcAddress_v2));
}

TEST_F(InitTest, ThePerThreadEntryIsTakenWhereThereIsOne) {
  const uint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  EXPECT_EQ(Find("cuLaunchKernel", 13000, per_thread), reinterpret_cast<void*>(&cuLaunchKernel_ptsz));
  EXPECT_EQ(Find("cuMemcpyHtoD", 13000, per_thread), reinterpret_cast<void*>(&cuMemcpyHtoD_v2_ptds));
  EXPECT_EQ(Find("cuMemAlloc", 13000, per_thread), reinterpret_cast<void*>(&cuMemAlloc_v2));
}

TEST_F(InitTest, WhatIsNotThereIsSaid) {
  CUdriverProcAddressQueryResult status = -1;
  EXPECT_EQ(Find("cuNoSuchFunction", 13000, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(Find("cuLibraryLoadData", 11000, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(cuGetProcAddress_v2("", nullptr, 0, 0, nullptr), CUDA_ERROR_NOT_FOUND);
}

TEST_F(InitTest, AnUnsupportedFunctionSaysSo) {
  const auto unsupported = reinterpret_cast<Probe>(Find("cuMemMapArrayAsync", 13000, 0));
  ASSERT_NE(unsupported, nullptr);
  EXPECT_EQ(unsupported(), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(InitTest, ARefusedFunctionSaysWhy) {
  const std::pair<const char*, const char*> reasons[] = {
      {"cuCheckpointProcessCheckpoint", "checkpoints of their own"},
      {"cuLaunchCooperativeKernelMultiDevice", "one cooperative kernel per device"},
  };
  for (const auto& [name, reason] : reasons) {
    CUlogIterator from = 0;
    CU_ASSERT(cuLogsCurrent(&from, 0));
    const auto refused = reinterpret_cast<Probe>(Find(name, 13000, 0));
    ASSERT_NE(refused, nullptr) << name;
    EXPECT_EQ(refused(), CUDA_ERROR_NOT_SUPPORTED) << name;
    char said[2000];
    size_t size = sizeof said;
    CU_ASSERT(cuLogsDumpToMemory(&from, said, &size, 0));
    EXPECT_NE(std::string(said).find(reason), std::string::npos) << name << ": " << said;
  }
}

TEST_F(InitTest, ErrorsHaveNamesAndTexts) {
  const char* text = nullptr;
  CU_ASSERT(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  CU_ASSERT(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "not enough memory");
  EXPECT_EQ(cuGetErrorName(12345, &text), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(InitTest, HintsAboutCachesAndCompressionHaveSomethingToAimAt) {
  for (const int attribute :
       {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE,
        CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED}) {
    int value = 0;
    CU_EXPECT(cuDeviceGetAttribute(&value, attribute, 0));
    EXPECT_GT(value, 0) << attribute;
  }
  size_t limit = 0;
  CU_EXPECT(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 1 << 16));
  CU_EXPECT(cuCtxGetLimit(&limit, CU_LIMIT_PERSISTING_L2_CACHE_SIZE));
  EXPECT_EQ(limit, size_t{1} << 16);
}

TEST_F(InitTest, ADeviceTellsItsNameUuidAndBusId) {
  char name[64] = "", bus[32] = "";
  CUuuid uuid{};
  CUdevice found = -1;
  CU_ASSERT(cuDeviceGetName(name, sizeof name, 0));
  EXPECT_NE(name[0], '\0');
  CU_ASSERT(cuDeviceGetUuid_v2(&uuid, 0));
  CU_ASSERT(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
  CU_ASSERT(cuDeviceGetByPCIBusId(&found, bus));
  EXPECT_EQ(found, 0);
  EXPECT_EQ(cuDeviceGetName(name, sizeof name, 99), CUDA_ERROR_INVALID_DEVICE);
}

}  // namespace
}  // namespace tutti::compat
