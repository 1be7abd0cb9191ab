#include "device/cpu/memory/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "device/cpu/memory/window_extent.h"
#include "os/memory.h"
#include "wire/limits.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kMiB = 1 << 20, kWindowBytes = 1024 * kMiB;
constexpr uint64_t kWindow = wire::kWindowArenaEnd - 2 * kWindowBytes;

// Of the mapping that begins there, in bytes.
uint64_t HugeBytesAt(uint64_t address) {
  std::ifstream file("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(file, line);) {
    uint64_t begin = 0, kib = 0;
    char dash = 0;
    if (sscanf(line.c_str(), "%lx%c", &begin, &dash) == 2 && dash == '-') is_here = begin == address;
    if (is_here && sscanf(line.c_str(), "ShmemPmdMapped: %lu kB", &kib) == 1) return kib << 10;
  }
  return 0;
}

class HugePagesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WindowExtent::Close(kWindow, kWindowBytes));
    ASSERT_TRUE(extent_.Open(kWindow, kWindow + 256 * kMiB));
  }
  static uint8_t* At(uint64_t offset) { return reinterpret_cast<uint8_t*>(kWindow + offset); }
  uint64_t UsedBytes() const {
    struct stat info{};
    fstat(fd_.get(), &info);
    return static_cast<uint64_t>(info.st_blocks) * 512;
  }

  os::Fd fd_ = os::CreateMemory("window", kWindowBytes).value();
  os::Mapping mapping_ = os::Mapping::SharedAt(kWindow, fd_.get(), kWindowBytes).value();
  WindowExtent extent_{kWindow, kWindowBytes, fd_.get(), kWindow};
};

TEST_F(HugePagesTest, HoldWhatWasThereAndZeros) {
  std::memset(At(3 * kMiB), 7, kMiB / 2);
  // Under load the time may be up before the first is made.
  for (const uint64_t until_ns = NowNs() + 10'000'000'000; HugeBytesAt(kWindow) == 0 && NowNs() < until_ns;)
    MakeHugePages(kWindow, kWindow + 8 * kMiB);
  if (HugeBytesAt(kWindow) == 0) GTEST_SKIP() << "this system makes no huge pages of memory files when asked to";
  for (uint64_t i = 0; i < 8 * kMiB; ++i) {
    const bool written = i >= 3 * kMiB && i < 3 * kMiB + kMiB / 2;
    ASSERT_EQ(*At(i), written ? 7 : 0) << i;
  }
  EXPECT_LE(UsedBytes(), 8 * kMiB);
}

TEST_F(HugePagesTest, AreMadeOnlyOfWhatIsInTheRange) {
  MakeHugePages(kWindow + 4096, kWindow + 4 * kMiB - 4096);
  EXPECT_LE(UsedBytes(), 2 * kMiB);
  EXPECT_EQ(HugeBytesAt(kWindow) % (2 * kMiB), 0u);
}

TEST_F(HugePagesTest, TakeNoMoreMemoryThanSome) {
  MakeHugePages(kWindow, kWindow + 256 * kMiB);
  EXPECT_LE(UsedBytes(), 64 * kMiB);
}

}  // namespace
}  // namespace tutti::device::cpu
