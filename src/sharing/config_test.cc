#include "sharing/config.h"

#include <gtest/gtest.h>

namespace tutti::sharing {
namespace {

std::string ErrorOf(const std::string& text) {
  const auto config = ReadConfig(text, "config.yaml");
  return config ? "accepted" : config.error().text;
}

std::string ErrorOfResource(const std::string& resource) {
  return ErrorOf("version: v1\nsharing:\n  mps:\n    resources:\n    - {" + resource + "}\n");
}

TEST(Config, NvidiasFileIsTakenVerbatim) {
  const Config config = ReadConfig(R"(
version: v1
flags:
  migStrategy: "none"
  failOnInitError: true
  nvidiaDriverRoot: "/"
  mpsRoot: /run/nvidia/mps
  plugin:
    passDeviceSpecs: false
    deviceListStrategy: envvar
    deviceIDStrategy: uuid
  gfd: {oneshot: false, noTimestamp: false, sleepInterval: 60s}
sharing:
  mps:
    renameByDefault: true
    resources:
    - name: nvidia.com/gpu
      replicas: 10
)",
                                   "config.yaml")
                            .value();
  EXPECT_EQ(config.strategy, Strategy::kMps);
  EXPECT_EQ(config.replication.resources.at(0).rename, "nvidia.com/gpu.shared");
  EXPECT_EQ(config.replication.resources.at(0).replicas, 10);
  EXPECT_TRUE(config.replication.fail_requests_greater_than_one);
  EXPECT_TRUE(CheckConfig(config));
}

TEST(Config, ReplicasAreFromTwoTo48) {
  EXPECT_EQ(ErrorOfResource("name: gpu, replicas: 0"), "config.yaml:5: number of replicas must be >= 2, but is 0");
  EXPECT_EQ(ErrorOfResource("name: gpu, replicas: 1"),
            "config.yaml:5: number of replicas must be >= 2, but is 1; a single replica, not throttled, needs "
            "tutti.singleReplica: true");
  EXPECT_EQ(ErrorOfResource("name: gpu, replicas: 49"),
            "config.yaml:5: invalid device maximum allowed replicas exceeded: 49 > 48");
  EXPECT_EQ(ErrorOfResource("name: gpu, replicas: 48"), "accepted");
}

TEST(Config, NvidiasValidationTexts) {
  EXPECT_EQ(ErrorOf("version: v2"), "config.yaml:1: unknown version: v2 (v1 is the one there is)");
  EXPECT_EQ(ErrorOf("sharing: {mps: {}}"), "config.yaml:1: no resources specified");
  EXPECT_EQ(ErrorOfResource("replicas: 4"), "config.yaml:5: no resource name specified");
  EXPECT_EQ(ErrorOfResource("name: gpu"), "config.yaml:5: no replicas specified");
  EXPECT_EQ(ErrorOfResource("name: gpu, replicas: 2, devices: \"3\""),
            "config.yaml:5: devices set as '3' but the only valid string input is 'all'");
  EXPECT_EQ(ErrorOfResource("name: gpu, replicas: 2, devices: 0"),
            "config.yaml:5: devices set as '0' but a count of devices must be > 0");
  EXPECT_EQ(ErrorOfResource("name: gpu, replicas: 2, devices: {a: 1}"),
            "config.yaml:5: unrecognized type for devices spec: map");
  EXPECT_TRUE(ErrorOfResource("name: gpu, replicas: 2, devices: [0, [1]]")
                  .starts_with("config.yaml:5: unsupported type for device in devices list: "));
  EXPECT_TRUE(ErrorOfResource("name: GPU, replicas: 2")
                  .starts_with("config.yaml:5: incorrect format for resource name 'nvidia.com/GPU'"));
  EXPECT_TRUE(ErrorOf("flags: {migStrategy: double}").starts_with("config.yaml:1: unknown MIG strategy: double"));
  EXPECT_TRUE(ErrorOf("flags: {plugin: {deviceListStrategy: env}}")
                  .starts_with("config.yaml:1: invalid deviceListStrategy: invalid strategy: env"));
  EXPECT_TRUE(ErrorOf("flags: {plugin: {deviceIDStrategy: name}}")
                  .starts_with("config.yaml:1: invalid --device-id-strategy option: name"));
  EXPECT_TRUE(ErrorOf("flags: {plugin: {sharedDevicesAllocationPolicy: x}}")
                  .starts_with("config.yaml:1: invalid --shared-devices-allocation-policy option"));
}

TEST(Config, MpsNeedsARootAndNoMixedMig) {
  Config config = ReadConfig("sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}", "f").value();
  EXPECT_EQ(CheckConfig(config).error().text, "using MPS requires --mps-root to be specified");
  config.flags.mps_root = "/run/nvidia/mps";
  config.flags.mig_strategy = "mixed";
  EXPECT_EQ(CheckConfig(config).error().text, "using --mig-strategy=mixed is not supported with MPS");
  EXPECT_TRUE(CheckConfig(ReadConfig("gpu: {sharingStrategy: mps, defaultSharedClientsPerGpu: 2}", "f").value()))
      << "a node template cannot say its root";
}

TEST(Config, WhatNvidiaIgnoresIsIgnoredWithItsWarning) {
  const Config config =
      ReadConfig("sharing: {mps: {resources: [{name: gpu, replicas: 2, devices: [0], rename: a}]}}", "f").value();
  ASSERT_EQ(config.warnings.size(), 2u);
  EXPECT_EQ(config.warnings[0],
            "Customizing the 'devices' field in sharing.mps.resources is not yet supported in the config. Ignoring...");
}

TEST(Config, ADeviceIsNotOfferedASecondTimeUnderAnotherName) {
  EXPECT_EQ(ErrorOfResource("name: nvidia.com/gpux, replicas: 4"),
            "config.yaml:5: no device is called nvidia.com/gpux: devices are nvidia.com/gpu; further names for parts "
            "of them are tutti.shares");
  // As in the examples of NVIDIA's documentation, for nodes with MIG.
  const Config mixed =
      ReadConfig(
          "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}, {name: nvidia.com/mig-1g.5gb, replicas: 2}]}}",
          "f")
          .value();
  ASSERT_EQ(mixed.replication.resources.size(), 1u);
  EXPECT_EQ(mixed.warnings,
            std::vector<std::string>{
                "no device of this node is nvidia.com/mig-1g.5gb: its settings in the file are ignored"});
  EXPECT_EQ(ReadConfig("sharing: {mps: {resources: [{name: mig-1g.5gb, replicas: 2}]}}", "f").value().strategy,
            Strategy::kNone);
}

TEST(Config, PathsAndAddressesOfOursAreChecked) {
  EXPECT_EQ(ErrorOf("tutti: {clientLibrary: {hostPath: lib}}"),
            "config.yaml:1: tutti.clientLibrary.hostPath must be an absolute path, but is lib");
  EXPECT_EQ(ErrorOf("tutti: {clientLibrary: {hostPath: /lib, containerPath: x}}"),
            "config.yaml:1: tutti.clientLibrary.containerPath must be an absolute path, but is x");
  EXPECT_EQ(ErrorOf("tutti: {featureFile: x}"), "config.yaml:1: tutti.featureFile must be an absolute path, but is x");
  EXPECT_EQ(ErrorOf("tutti: {metricsAddress: 9400}"),
            "config.yaml:1: tutti.metricsAddress must be ADDRESS:PORT, as in 0.0.0.0:9400, but is 9400");
  EXPECT_EQ(ErrorOf("tutti: {metricsAddress: \"localhost:94000\"}"),
            "config.yaml:1: tutti.metricsAddress must be ADDRESS:PORT, as in 0.0.0.0:9400, but is localhost:94000");
  EXPECT_EQ(ErrorOf("tutti: {metricsAddress: \"[::]:9400\"}"), "accepted");
}

TEST(Config, TwoStrategiesAtOnceAreRefused) {
  EXPECT_EQ(ErrorOf("sharing:\n  timeSlicing: {resources: [{name: gpu, replicas: 2}]}\n  mps: {resources: [{name: gpu, "
                    "replicas: 2}]}\n"),
            "config.yaml:3: sharing.mps and sharing.timeSlicing exclude each other: keep one");
}

TEST(Config, UnknownKeysAreNamed) {
  EXPECT_EQ(ErrorOf("sharing:\n  mpps: {}\n"), "config.yaml:2: unknown key \"mpps\" in sharing; did you mean mps?");
  EXPECT_EQ(ErrorOfResource("name: gpu, replica: 2"),
            "config.yaml:5: unknown key \"replica\" in sharing.mps.resources[0]; did you mean replicas?");
  EXPECT_EQ(ErrorOf("tutti:\n  throtle: no\n"),
            "config.yaml:2: unknown key \"throtle\" in tutti; did you mean throttle?");
}

TEST(Config, OurSectionAddsWhatNvidiaCannotDo) {
  const Config config = ReadConfig(R"(
sharing: {mps: {failRequestsGreaterThanOne: false, resources: [{name: gpu, replicas: 1}]}}
tutti:
  singleReplica: true
  oversubscription: {threads: 2, memory: 1.5}
  limitScope: container
  shares:
  - {resource: nvidia.com/gpu.small, replicas: 4, threads: 10, memory: 1Gi}
)",
                                   "f")
                            .value();
  EXPECT_FALSE(config.replication.fail_requests_greater_than_one);
  EXPECT_EQ(config.replication.resources.at(0).replicas, 1);
  EXPECT_TRUE(config.extension.limit_per_container);
  EXPECT_EQ(config.extension.shares.at(0).memory_bytes, 1ull << 30);
}

TEST(Config, SharesThatCannotBeAreRefused) {
  EXPECT_EQ(ErrorOf("tutti: {shares: [{resource: gpu.a, threads: 101}]}"),
            "config.yaml:1: threads must be above 0 and at most 100 (percent), but is 101");
  EXPECT_EQ(ErrorOf("tutti: {shares: [{resource: gpu.a, threads: 1}, {resource: gpu.a, threads: 1}]}"),
            "config.yaml:1: resource nvidia.com/gpu.a stands twice in tutti.shares: keep one");
  EXPECT_EQ(ErrorOf("tutti: {oversubscription: {memory: 0.5}}"),
            "config.yaml:1: tutti.oversubscription.memory must be from 1 to 48, but is 0.5");
}

}  // namespace
}  // namespace tutti::sharing
