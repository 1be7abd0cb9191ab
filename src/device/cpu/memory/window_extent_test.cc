#include "device/cpu/memory/window_extent.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "os/memory.h"
#include "wire/limits.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kBytes = 1ull << 30;
// Far from the slots that the other tests of this program use.
constexpr uint64_t kBase = wire::kWindowArenaEnd - kBytes;

class WindowExtentTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(WindowExtent::Close(kBase, kBytes)); }
  uint8_t& At(uint64_t offset) { return *reinterpret_cast<uint8_t*>(kBase + offset); }
  // Whether the system can write a byte there.
  bool CanWrite(uint64_t offset) {
    const os::Fd zero(open("/dev/zero", O_RDONLY | O_CLOEXEC));
    return read(zero.get(), &At(offset), 1) == 1;
  }
  uint64_t UsedBytes() const {
    struct stat info{};
    fstat(fd_.get(), &info);
    return static_cast<uint64_t>(info.st_blocks) * 512;
  }

  os::Fd fd_ = os::CreateMemory("window", kBytes).value();
  os::Mapping mapping_ = os::Mapping::SharedAt(kBase, fd_.get(), kBytes).value();
  WindowExtent extent_{kBase, kBytes, fd_.get(), kBase};
};

TEST_F(WindowExtentTest, WhatWasNeverAllocatedIsZeroAndCannotBeWritten) {
  EXPECT_EQ(At(kBytes / 2), 0);
  EXPECT_FALSE(CanWrite(kBytes / 2));
}

TEST_F(WindowExtentTest, ReadingAllOfItUsesNoMemory) {
  uint64_t sum = 0;
  for (uint64_t offset = 8 << 20; offset < kBytes; offset += 4096) sum += At(offset);
  EXPECT_EQ(sum, 0u);
  EXPECT_EQ(UsedBytes(), 0u);
}

TEST_F(WindowExtentTest, WhatIsOpenedIsTheFile) {
  ASSERT_TRUE(extent_.Open(kBase, kBase + (64 << 20)));
  EXPECT_TRUE(extent_.Holds(kBase, 64u << 20));
  EXPECT_TRUE(CanWrite((64 << 20) - 1));
  At(5 << 20) = 77;
  uint8_t seen = 0;
  ASSERT_EQ(pread(fd_.get(), &seen, 1, 5 << 20), 1);
  EXPECT_EQ(seen, 77);
  EXPECT_FALSE(CanWrite(128 << 20));
}

TEST_F(WindowExtentTest, OpeningMoreKeepsWhatIsThere) {
  ASSERT_TRUE(extent_.Open(kBase, kBase + 4096));
  At(100) = 5;
  ASSERT_TRUE(extent_.Open(kBase + 4096, kBase + (512 << 20)));
  EXPECT_EQ(At(100), 5);
  ASSERT_TRUE(extent_.Open(kBase + kBytes - 1, kBase + kBytes));
  EXPECT_TRUE(extent_.Holds(kBase, kBytes));
  EXPECT_TRUE(CanWrite(kBytes - 1));
}

TEST_F(WindowExtentTest, APartForReadingIsThatPartOfTheFile) {
  constexpr uint64_t kPart = 768 << 20;
  WindowExtent part = WindowExtent::ReadOnly(kBase + kPart, kBytes - kPart, fd_.get(), kPart);
  ASSERT_TRUE(part.Open(kBase + kPart, kBase + kPart + 4096));
  const uint8_t value = 9;
  ASSERT_EQ(pwrite(fd_.get(), &value, 1, kPart + 5), 1);
  EXPECT_EQ(At(kPart + 5), 9);
  EXPECT_FALSE(CanWrite(kPart + 5));
  EXPECT_TRUE(part.Holds(kBase + kPart, 4096));
}

TEST_F(WindowExtentTest, MemoryGrowsFromItsOriginToBothSides) {
  constexpr uint64_t kOrigin = kBase + (512 << 20);
  WindowExtent extent{kBase, kBytes, fd_.get(), kOrigin};
  EXPECT_FALSE(extent.Holds(kOrigin, 1));
  ASSERT_TRUE(extent.Open(kOrigin - 4096, kOrigin));
  EXPECT_TRUE(extent.Holds(kOrigin - 4096, 4096));
  EXPECT_FALSE(extent.Holds(kOrigin - 4096, 4097));
  At((512 << 20) - 1) = 3;
  ASSERT_TRUE(extent.Open(kOrigin + (16 << 20), kOrigin + (17 << 20)));
  ASSERT_TRUE(extent.Open(kBase + (100 << 20), kBase + (101 << 20)));
  EXPECT_TRUE(extent.Holds(kBase + (100 << 20), 429u << 20)) << "one range";
  EXPECT_EQ(At((512 << 20) - 1), 3);
  uint8_t seen = 0;
  ASSERT_EQ(pread(fd_.get(), &seen, 1, (512 << 20) - 1), 1);
  EXPECT_EQ(seen, 3);
  EXPECT_FALSE(CanWrite(50 << 20));
  EXPECT_FALSE(CanWrite(600 << 20));
}

}  // namespace
}  // namespace tutti::device::cpu
