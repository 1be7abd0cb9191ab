#include "nvidia_smi/fields.h"

#include <gtest/gtest.h>

namespace tutti::nvidia_smi {
namespace {

Gpu OneGpu() {
  Gpu gpu{.index = 0, .name = "A device", .uuid = "GPU-1"};
  gpu.memory =
      nvmlMemory_v2_t{.version = 0, .total = 1024ull << 20, .reserved = 0, .free = 924ull << 20, .used = 100ull << 20};
  gpu.processes.push_back({.pid = 42, .mps = true, .name = "./program", .used_bytes = 100ull << 20});
  return gpu;
}

TEST(Fields, AreCsvWithUnitsAndHeaderUnlessUnwanted) {
  const System system{.driver_version = "1.2", .gpus = 1};
  const std::vector<std::string> names{"name", "memory.used", "utilization.gpu"};
  EXPECT_EQ(QueryGpus(names, *ReadFormat("csv"), system, {OneGpu()}),
            "name, memory.used [MiB], utilization.gpu [%]\nA device, 100 MiB, [N/A]\n");
  EXPECT_EQ(QueryGpus(names, *ReadFormat("csv,nounits,noheader"), system, {OneGpu()}), "A device, 100, [N/A]\n");
  EXPECT_EQ(QueryProcesses({"pid", "name", "used_memory"}, *ReadFormat("csv"), {OneGpu()}),
            "pid, name, used_memory [MiB]\n42, ./program, 100 MiB\n");
}

TEST(Fields, ThatNoDeviceHasAreKnown) {
  EXPECT_EQ(QueryGpus({"power.draw", "temperature.gpu"}, *ReadFormat("csv,noheader"), System(), {OneGpu()}),
            "[N/A], [N/A]\n");
}

TEST(Fields, ThatDoNotExistAreNamed) {
  const auto text = QueryGpus({"name", "colour"}, *ReadFormat("csv"), System(), {OneGpu()});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error(), "Field \"colour\" is not a valid field to query.\n");
  EXPECT_FALSE(QueryProcesses({"memory.total"}, *ReadFormat("csv"), {OneGpu()}));
}

TEST(Formats, AreCsvOnly) {
  EXPECT_FALSE(ReadFormat(""));
  EXPECT_FALSE(ReadFormat("xml"));
  EXPECT_FALSE(ReadFormat("noheader"));
  EXPECT_TRUE(ReadFormat("noheader,csv"));
}

}  // namespace
}  // namespace tutti::nvidia_smi
