#include "kubernetes/allocation.h"

#include <gtest/gtest.h>

namespace tutti::kubernetes {
namespace {

const std::vector<sharing::DeviceFacts> kDevices = {{"GPU-a", "CPU", 8ull << 30, 2, "8.0"},
                                                    {"GPU-b", "CPU", 8ull << 30, 2, "8.0"}};

class Node {
 public:
  explicit Node(const std::string& yaml)
      : config_(sharing::ReadConfig(yaml, "f").value()), offers_(sharing::MakeOffers(config_, kDevices).value()) {
    config_.flags.mps_root = "/run/nvidia/mps";
  }
  Result<v1beta1::ContainerAllocateResponse> Give(const std::vector<std::string>& ids, size_t offer = 0) {
    return Allocate({&config_, &offers_.at(offer), kDevices, "/run/nvidia/mps/nvidia.com/gpu/pipe"}, ids);
  }

 private:
  sharing::Config config_;
  std::vector<sharing::Offer> offers_;
};

constexpr const char* kFour = "sharing: {mps: {resources: [{name: gpu, replicas: 4}]}}";

TEST(Allocate, EnvironmentAndMountsAreNvidias) {
  const auto response = Node(kFour).Give({"GPU-a::3"}).value();
  EXPECT_EQ(response.envs().size(), 2u);
  EXPECT_EQ(response.envs().at("NVIDIA_VISIBLE_DEVICES"), "GPU-a");
  EXPECT_EQ(response.envs().at("CUDA_MPS_PIPE_DIRECTORY"), "/mps/nvidia.com/gpu/pipe");
  ASSERT_EQ(response.mounts_size(), 2);
  EXPECT_EQ(response.mounts(0).container_path(), "/mps/nvidia.com/gpu/pipe");
  EXPECT_EQ(response.mounts(0).host_path(), "/run/nvidia/mps/nvidia.com/gpu/pipe");
  EXPECT_TRUE(response.mounts(0).read_only());  // nobody in the container replaces the socket
  EXPECT_EQ(response.mounts(1).container_path(), "/dev/shm");
  EXPECT_EQ(response.mounts(1).host_path(), "/run/nvidia/mps/shm");
  EXPECT_EQ(response.devices_size(), 0);
}

TEST(Allocate, RefusalsAreInNvidiasWords) {
  Node node(kFour);
  EXPECT_EQ(node.Give({"GPU-x::0"}).error().text,
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: GPU-x::0");
  EXPECT_EQ(node.Give({"GPU-a::4"}).error().text,
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: GPU-a::4");
  EXPECT_EQ(node.Give({"GPU-a"}).error().text,
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: GPU-a");
  EXPECT_EQ(node.Give({"GPU-a::0", "GPU-a::1"}).error().text,
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: maximum request size for shared "
            "resources is 1; found 2");
}

TEST(Allocate, SeveralReplicasAddUpWhereAllowed) {
  Node node("sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: gpu, replicas: 4}]}}");
  const auto response = node.Give({"GPU-a::0", "GPU-a::2"}).value();
  EXPECT_EQ(response.envs().at("NVIDIA_VISIBLE_DEVICES"), "GPU-a");
  EXPECT_EQ(response.envs().at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "50");
  EXPECT_EQ(response.envs().at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "GPU-a=4096M");
}

TEST(Allocate, UnequalSharesAreToldTheirSize) {
  Node node(
      "tutti: {shares: [{resource: gpu.big, threads: 60}, {resource: gpu.small, replicas: 4, threads: 10, memory: "
      "512Mi}]}");
  EXPECT_EQ(node.Give({"GPU-b::0"}).value().envs().at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "60");
  const auto small = node.Give({"GPU-b::3"}, 1).value();
  EXPECT_EQ(small.envs().at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "10");
  EXPECT_EQ(small.envs().at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "GPU-b=512M");
  EXPECT_EQ(small.envs().at("CUDA_MPS_PIPE_DIRECTORY"), "/mps/nvidia.com/gpu.small/pipe");
}

TEST(Allocate, TheClientLibraryComesWithTheContainerWhereNoDriverBringsIt) {
  const auto response =
      Node("tutti: {mountShm: false, clientLibrary: {hostPath: /opt/tutti/lib}}").Give({"GPU-b"}).value();
  EXPECT_EQ(response.envs().at("LD_LIBRARY_PATH"), "/usr/local/nvidia/lib64");
  EXPECT_EQ(response.envs().at("CUDA_VISIBLE_DEVICES"), "GPU-b");
  ASSERT_EQ(response.mounts_size(), 2);
  EXPECT_TRUE(response.mounts(1).read_only());
}

TEST(Allocate, AContainerKeepsItsOwnSharedMemoryWhereAskedFor) {
  const auto response = Node("{sharing: {mps: {resources: [{name: gpu, replicas: 4}]}}, tutti: {mountShm: false}}")
                            .Give({"GPU-a::0"})
                            .value();
  ASSERT_EQ(response.mounts_size(), 1);
  EXPECT_EQ(response.mounts(0).container_path(), "/mps/nvidia.com/gpu/pipe");
}

TEST(Allocate, OtherListStrategiesNameTheDevicesTheirWay) {
  const auto mounts =
      Node("flags: {plugin: {deviceListStrategy: volume-mounts, deviceIDStrategy: index}}").Give({"GPU-b"}).value();
  EXPECT_EQ(mounts.envs().at("NVIDIA_VISIBLE_DEVICES"), "/var/run/nvidia-container-devices");
  EXPECT_EQ(mounts.mounts(0).container_path(), "/var/run/nvidia-container-devices/1");
  EXPECT_EQ(mounts.mounts(0).host_path(), "/dev/null");
  const auto cdi = Node("flags: {plugin: {deviceListStrategy: [cdi-annotations, cdi-cri]}}").Give({"GPU-a"}).value();
  EXPECT_EQ(cdi.annotations().at("cdi.k8s.io/nvidia-device-plugin_GPU-a"), "nvidia.com/gpu=GPU-a");
  EXPECT_EQ(cdi.cdi_devices(0).name(), "nvidia.com/gpu=GPU-a");
  EXPECT_FALSE(cdi.envs().contains("NVIDIA_VISIBLE_DEVICES"));
}

}  // namespace
}  // namespace tutti::kubernetes
