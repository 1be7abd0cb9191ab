#include "sharing/packing.h"

#include <gtest/gtest.h>

namespace tutti::sharing {
namespace {

const NodeTemplate kFour = {
    .name = "t", .strategy = Strategy::kMps, .default_clients = 4, .clients_by_gpu = {{"a100", 8}}, .taint = false};
const NodeType kT4 = {.name = "g4",
                      .gpu = "t4",
                      .gpus = 1,
                      .gpu_memory_bytes = 16ull << 30,
                      .compute_capability = 7.5,
                      .cpus = 4,
                      .memory_bytes = 0,
                      .price = 0.5};
const NodeType kA100 = {.name = "a2",
                        .gpu = "a100",
                        .gpus = 2,
                        .gpu_memory_bytes = 40ull << 30,
                        .compute_capability = 8.0,
                        .cpus = 0,
                        .memory_bytes = 0,
                        .price = 3};

PodDemand Pods(int64_t count) { return {.name = "p", .count = count, .gpus = 1}; }

TEST(Packing, CapacityIsGpusTimesClients) {
  const PodDemand four[] = {Pods(4)};
  EXPECT_EQ(Pack(kFour, kT4, four)->nodes.size(), 1u);
  const PodDemand five[] = {Pods(5)};
  const Packing packing = Pack(kFour, kT4, five).value();
  EXPECT_EQ(packing.nodes.size(), 2u);
  EXPECT_EQ(packing.free_places, 3);
  const PodDemand sixteen[] = {Pods(16)};
  EXPECT_EQ(Pack(kFour, kA100, sixteen)->nodes.size(), 1u) << "two GPUs of eight clients";
}

TEST(Packing, WasteIsWhatNobodyUses) {
  PodDemand pod = Pods(2);
  pod.gpu_memory_bytes = 1ull << 30;
  pod.gpu_percentage = 10;
  const Packing packing = Pack(kFour, kT4, {{pod}}).value();
  EXPECT_DOUBLE_EQ(packing.wasted_memory_bytes, static_cast<double>(14ull << 30));
  EXPECT_DOUBLE_EQ(packing.wasted_compute_gpus, 0.8);
}

TEST(Packing, CpusLimitANodeAsWell) {
  PodDemand pod = Pods(4);
  pod.cpus = 2;
  EXPECT_EQ(Pack(kFour, kT4, {{pod}})->nodes.size(), 2u);
}

TEST(Packing, TheCheapestTypeComesFirst) {
  const NodeType types[] = {kA100, kT4};
  const PodDemand pods[] = {Pods(5)};
  EXPECT_EQ(PackAll(kFour, types, pods)->packings.front().type.name, "g4");
}

TEST(Packing, ATypeThatCannotRunThePodsIsLeftOutAndSaysWhy) {
  PodDemand pod = Pods(1);
  pod.gpu_memory_bytes = 5ull << 30;  // a share of the T4 has 4 GiB, of the A100 5 GiB
  const NodeType types[] = {kT4, kA100};
  const Plan plan = PackAll(kFour, types, {{pod}}).value();
  ASSERT_EQ(plan.packings.size(), 1u);
  EXPECT_EQ(plan.packings.front().type.name, "a2");
  ASSERT_EQ(plan.refused.size(), 1u);
  EXPECT_EQ(plan.refused.front().substr(0, 26), "pod p cannot run on g4: it");
}

TEST(Packing, PodsThatCannotRunSayWhy) {
  PodDemand pod = Pods(1);
  pod.gpu_memory_bytes = 6ull << 30;
  EXPECT_EQ(Pack(kFour, kT4, {{pod}}).error().text,
            "pod p cannot run on g4: it needs 6144 MiB of GPU memory, a share has 4096 MiB: use fewer clients per GPU");
  NodeType p100 = kT4;
  p100.compute_capability = 6.0;
  const PodDemand plain[] = {Pods(1)};
  EXPECT_EQ(Pack(kFour, p100, plain).error().text,
            "pod p cannot run on g4: its GPU is older than Volta (compute capability 6.0), where a pod needs hostIPC: "
            "true to reach the daemon");
  NodeTemplate tainted = kFour;
  tainted.taint = true;
  EXPECT_EQ(Pack(tainted, kT4, plain).error().text,
            "pod p cannot run on g4: the template taints its nodes: add a toleration of key "
            "scheduling.cast.ai/node-template");
  PodDemand two = Pods(1);
  two.gpus = 2;
  EXPECT_FALSE(Pack(kFour, kT4, {{two}}));
}

}  // namespace
}  // namespace tutti::sharing
