#include "sharing/cdi_spec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tutti::sharing {
namespace {

const std::vector<DeviceFacts> kDevices = {{"GPU-a", "CPU", 8ull << 30, 2, "8.0"},
                                           {"GPU-b", "CPU", 8ull << 30, 2, "8.0"}};

TEST(CdiSpec, NamesEachDeviceTwiceAndAllOfThem) {
  const auto spec = nlohmann::json::parse(CdiSpec({.host_pipe_directory = "/run/mps/pipe"}, kDevices));
  EXPECT_EQ(spec["cdiVersion"], "0.5.0");
  EXPECT_EQ(spec["kind"], "nvidia.com/gpu");
  std::vector<std::string> names;
  for (const auto& device : spec["devices"]) names.push_back(device["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"0", "GPU-a", "1", "GPU-b", "all"}));
  EXPECT_EQ(spec["devices"][4]["containerEdits"]["env"][1], "CUDA_VISIBLE_DEVICES=GPU-a,GPU-b");
  EXPECT_EQ(spec["containerEdits"]["mounts"][0]["hostPath"], "/run/mps/pipe");
  EXPECT_EQ(spec["containerEdits"]["env"][0], "CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps");
}

TEST(CdiSpec, LimitsAreInTheEnvironment) {
  const auto spec = nlohmann::json::parse(CdiSpec(
      {.host_pipe_directory = "/p", .host_library_directory = "/l", .percentage = 25, .memory_bytes = 2ull << 30},
      kDevices));
  EXPECT_EQ(spec["containerEdits"]["env"][1], "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25");
  EXPECT_EQ(spec["devices"][0]["containerEdits"]["env"][2], "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=GPU-a=2048M");
  EXPECT_EQ(spec["containerEdits"]["mounts"][1]["options"], (nlohmann::json{"rbind", "nosuid", "nodev", "ro"}));
}

TEST(CdiSpec, AKindIsVendorAndClass) {
  EXPECT_TRUE(CheckCdiKind("tutti.dev/gpu"));
  for (const char* kind : {"gpu", "/gpu", "nvidia.com/", "a b/c", "a/b/c"}) EXPECT_FALSE(CheckCdiKind(kind)) << kind;
}

}  // namespace
}  // namespace tutti::sharing
