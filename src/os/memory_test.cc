#include "os/memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tutti::os {
namespace {

Fd Unsealed(off_t bytes) {
  Fd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), bytes), 0);
  return fd;
}

TEST(ConstantMemory, IsWhatCreateMemoryOfMakes) {
  const std::vector<uint8_t> bytes(10'000, 7);
  const auto file = CreateMemoryOf("test", bytes);
  ASSERT_TRUE(file);
  const auto mapping = Mapping::Constant(file->get(), bytes.size());
  ASSERT_TRUE(mapping) << mapping.error().text;
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), mapping->data(), mapping->data() + mapping->size()));
  EXPECT_FALSE(Mapping::Constant(file->get(), bytes.size() - 1)) << "above what is allowed";
}

TEST(ConstantMemory, IsNothingThatCanStillBeWritten) {
  const auto file = CreateMemory("test", 4096);
  ASSERT_TRUE(file);
  EXPECT_FALSE(Mapping::Constant(file->get(), ~0ull));
}

TEST(ConstantMemory, HasNoHoles) {
  const Fd file = Unsealed(512ll << 20);
  ASSERT_EQ(pwrite(file.get(), "x", 1, 0), 1);
  ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
  EXPECT_FALSE(Mapping::Constant(file.get(), ~0ull));
}

TEST(ConstantMemory, IsNoPipeAndNoOtherFile) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(Mapping::Constant(ends[0], ~0ull));
  close(ends[0]);
  close(ends[1]);
  const Fd zeros(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(Mapping::Constant(zeros.get(), ~0ull));
}

// What a peer with the descriptor may try.
TEST(ReadableMemory, IsReadByOthersAndWrittenByItsMakerAlone) {
  Mapping mine;
  const auto file = CreateReadableMemory("test", 8192, &mine);
  ASSERT_TRUE(file) << file.error().text;
  const auto theirs = Mapping::Shared(file->get(), 8192, false);
  ASSERT_TRUE(theirs) << theirs.error().text;
  mine.data()[5000] = 7;
  EXPECT_EQ(theirs->data()[5000], 7);

  EXPECT_FALSE(Mapping::Shared(file->get(), 8192));
  EXPECT_NE(mprotect(theirs->data(), 8192, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(madvise(theirs->data(), 8192, MADV_REMOVE), 0);
  EXPECT_EQ(pwrite(file->get(), "x", 1, 5000), -1);
  EXPECT_NE(fallocate(file->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096), 0);
  EXPECT_NE(ftruncate(file->get(), 0), 0);
  const Fd again(open(("/proc/self/fd/" + std::to_string(file->get())).c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(again && Mapping::Shared(again.get(), 8192));
  EXPECT_EQ(theirs->data()[5000], 7);
}

}  // namespace
}  // namespace tutti::os
