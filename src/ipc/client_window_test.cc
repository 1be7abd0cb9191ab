#include "ipc/client_window.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/limits.h"

namespace tutti::ipc {
namespace {

constexpr uint64_t kBase = wire::kWindowArenaBase;
constexpr uint64_t kBytes = 8ull << 30;
constexpr uint64_t kHostBytes = 2ull << 30;
constexpr uint64_t kBorder = kBase + kHostBytes;

// Whether a child process can read there.
bool ChildReads(uint64_t address) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    static_cast<void>(*reinterpret_cast<volatile uint8_t*>(address));
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status);
}

class ClientWindowTest : public testing::Test {
 protected:
  static ClientWindow Map(bool reachable) {
    const wire::WindowShape shape{.bytes = kBytes,
                                  .host_bytes = kHostBytes,
                                  .device_bytes = kBytes - kHostBytes,
                                  .device_part_reachable = reachable};
    return ClientWindow::Map(kBase, os::CreateMemory("window", kBytes).value(), shape).value();
  }
  ClientWindow window_ = Map(true);
};

TEST_F(ClientWindowTest, WhatIsOpenedCanBeAccessed) {
  ASSERT_TRUE(window_.Open(kBorder, 100));
  *reinterpret_cast<volatile uint8_t*>(kBorder + 99) = 1;
  ASSERT_TRUE(window_.Open(kBorder + (512ull << 20), 1 << 20));
  *reinterpret_cast<volatile uint8_t*>(kBorder + (513ull << 20) - 1) = 1;
}

TEST_F(ClientWindowTest, TheHostPartIsOpenedDownwards) {
  ASSERT_TRUE(window_.Open(kBorder - 4096, 100));
  *reinterpret_cast<volatile uint8_t*>(kBorder - 1) = 1;
  ASSERT_TRUE(window_.Open(kBase, 4096));
  *reinterpret_cast<volatile uint8_t*>(kBase) = 1;
  EXPECT_FALSE(ChildReads(kBorder)) << "a child has no part of it";
}

class UnreachedWindowTest : public ClientWindowTest {
 protected:
  // Whether the system can write a byte there.
  static bool CanWrite(uint64_t address) {
    const os::Fd zero(open("/dev/zero", O_RDONLY | O_CLOEXEC));
    return read(zero.get(), reinterpret_cast<void*>(address), 1) == 1;
  }
};

TEST_F(UnreachedWindowTest, ADevicePartThatIsNotReachedStaysClosed) {
  window_.Unmap();
  ClientWindow window = Map(false);
  ASSERT_TRUE(window.Open(kBorder, 4096));
  ASSERT_TRUE(window.Open(kBorder - 4096, 4096));
  EXPECT_FALSE(CanWrite(kBorder));
  EXPECT_TRUE(CanWrite(kBorder - 1));
}

TEST_F(ClientWindowTest, WhatLiesApartIsOpenedAlone) {
  ASSERT_TRUE(window_.Open(kBorder, 100));
  ASSERT_TRUE(window_.Open(kBase + kBytes - 5000, 5000));
  *reinterpret_cast<volatile uint8_t*>(kBase + kBytes - 1) = 1;
  window_.Share(kBase + (4ull << 30), 4096);
  EXPECT_FALSE(ChildReads(kBase + (4ull << 30)));
}

TEST_F(ClientWindowTest, NothingOutsideIsOpened) {
  EXPECT_FALSE(window_.Open(kBase - 4096, 4096));
  EXPECT_FALSE(window_.Open(kBase + kBytes - 4096, 8192));
  EXPECT_FALSE(window_.Open(0, 4096));
  EXPECT_TRUE(window_.Open(0, 0));
}

TEST_F(ClientWindowTest, AChildHasWhatIsSharedUntilItIsHidden) {
  constexpr uint64_t kShared = kBorder - (1 << 20);
  ASSERT_TRUE(window_.Open(kShared, 1 << 20));
  EXPECT_FALSE(ChildReads(kShared + 40'000));
  window_.Share(kShared + 40'000, 10'000);
  EXPECT_TRUE(ChildReads(kShared + 40'000));
  EXPECT_FALSE(ChildReads(kShared + 60'000));
  window_.Hide(kShared + 40'000, 10'000);
  EXPECT_FALSE(ChildReads(kShared + 45'000));
}

TEST(ClientWindow, LockingAllMemoryMakesNoPagesOfWhatIsClosed) {
  constexpr uint64_t kFew = 256ull << 20;
  const wire::WindowShape shape{.bytes = kFew, .host_bytes = kFew / 2, .device_bytes = kFew / 2};
  ClientWindow window = ClientWindow::Map(kBase, os::CreateMemory("window", kFew).value(), shape).value();
  ASSERT_TRUE(window.Open(kBase + kFew / 2, 4096));
  if (mlockall(MCL_CURRENT) != 0) GTEST_SKIP() << "may not lock memory";
  munlockall();
  struct stat info;
  ASSERT_EQ(fstat(window.fd(), &info), 0);
  EXPECT_LE(info.st_blocks * 512, 16 << 20);
}

}  // namespace
}  // namespace tutti::ipc
