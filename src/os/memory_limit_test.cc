#include "os/memory_limit.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tutti::os {
namespace {

// A tree as the system shows it.
class MemoryLimit : public testing::Test {
 protected:
  MemoryLimit() {
    char name[] = "/tmp/tutti-cgroups.XXXXXX";
    root_ = mkdtemp(name);
  }
  ~MemoryLimit() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& file, const std::string& text) {
    const auto path = root_ + "/" + file;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text << "\n";
  }
  std::string root_;
};

TEST_F(MemoryLimit, IsTheLeastOfTheCgroupAndThoseAboveIt) {
  Write("pods/one/memory.max", "max");
  Write("pods/memory.max", "1073741824");
  EXPECT_EQ(CgroupMemoryLimit("0::/pods/one\n", root_), 1ull << 30);
  Write("pods/one/memory.max", "4096");
  EXPECT_EQ(CgroupMemoryLimit("0::/pods/one\n", root_), 4096u);
}

TEST_F(MemoryLimit, IsThatOfTheRootInAContainer) {
  Write("memory.max", "8192");
  EXPECT_EQ(CgroupMemoryLimit("0::/\n", root_), 8192u);
}

TEST_F(MemoryLimit, IsReadOfTheFirstVersionToo) {
  Write("memory/job/memory.limit_in_bytes", "12288");
  EXPECT_EQ(CgroupMemoryLimit("3:cpu,cpuacct:/other\n4:hugetlb,memory:/job\n0::/\n", root_), 12288u);
}

TEST_F(MemoryLimit, IsNoneWhereNobodySaysOne) {
  EXPECT_EQ(CgroupMemoryLimit("0::/pods/one\n4:memory:/job\nnonsense\n::\n", root_), ~0ull);
  EXPECT_GT(MemoryOfThisProcess(), 0u);
}

}  // namespace
}  // namespace tutti::os
