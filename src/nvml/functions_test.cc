#include "nvml/functions.h"

#include <gtest/gtest.h>

#include <string>

namespace {

TEST(Functions, SayThatTheLibraryIsNotInitialised) {
  unsigned count = 7;
  nvmlDevice_t device = nullptr;
  nvmlMemory_t memory{};
  char text[80] = "";
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlDeviceGetCount_v2(nullptr), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(device, &memory), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlSystemGetDriverVersion(text, sizeof text), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(count, 7u);
}

TEST(Functions, VersionsNeedABufferThatHoldsThem) {
  char text[80] = "";
  EXPECT_EQ(nvmlSystemGetNVMLVersion(text, sizeof text), NVML_SUCCESS);
  EXPECT_EQ(std::string(text), "13.580.0");
  char small[3] = {'x', 'x', 'x'};
  EXPECT_EQ(nvmlSystemGetNVMLVersion(small, sizeof small), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(small[0], 'x');
  EXPECT_EQ(nvmlSystemGetNVMLVersion(nullptr, 80), NVML_ERROR_INVALID_ARGUMENT);
  int version = 0;
  EXPECT_EQ(nvmlSystemGetCudaDriverVersion_v2(&version), NVML_SUCCESS);
  EXPECT_EQ(version, 13000);
  EXPECT_EQ(nvmlSystemGetCudaDriverVersion_v2(nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST(Functions, EveryErrorHasAText) {
  for (int error = 0; error <= 30; ++error)
    EXPECT_STRNE(nvmlErrorString(static_cast<nvmlReturn_t>(error)), "Unknown Error") << error;
  EXPECT_STREQ(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported");
  for (const int error : {-1, 31, 999, 1 << 30})
    EXPECT_STREQ(nvmlErrorString(static_cast<nvmlReturn_t>(error)), "Unknown Error") << error;
}

}  // namespace
