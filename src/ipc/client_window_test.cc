#include "ipc/client_window.h"

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
  ClientWindow window_ = ClientWindow::Map(kBase, os::CreateMemory("window", kBytes).value(), kBytes).value();
};

TEST_F(ClientWindowTest, WhatIsOpenedCanBeAccessed) {
  ASSERT_TRUE(window_.Open(kBase, 100));
  *reinterpret_cast<volatile uint8_t*>(kBase + 99) = 1;
  ASSERT_TRUE(window_.Open(kBase + (512ull << 20), 1 << 20));
  *reinterpret_cast<volatile uint8_t*>(kBase + (513ull << 20) - 1) = 1;
}

TEST_F(ClientWindowTest, WhatLiesApartIsOpenedAlone) {
  ASSERT_TRUE(window_.Open(kBase, 100));
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
  ASSERT_TRUE(window_.Open(kBase, 1 << 20));
  EXPECT_FALSE(ChildReads(kBase + 40'000));
  window_.Share(kBase + 40'000, 10'000);
  EXPECT_TRUE(ChildReads(kBase + 40'000));
  EXPECT_FALSE(ChildReads(kBase + 60'000));
  window_.Hide(kBase + 40'000, 10'000);
  EXPECT_FALSE(ChildReads(kBase + 45'000));
}

TEST(ClientWindow, LockingAllMemoryMakesNoPagesOfWhatIsClosed) {
  constexpr uint64_t kFew = 256ull << 20;
  ClientWindow window = ClientWindow::Map(kBase, os::CreateMemory("window", kFew).value(), kFew).value();
  ASSERT_TRUE(window.Open(kBase, 4096));
  if (mlockall(MCL_CURRENT) != 0) GTEST_SKIP() << "may not lock memory";
  munlockall();
  struct stat info;
  ASSERT_EQ(fstat(window.fd(), &info), 0);
  EXPECT_LE(info.st_blocks * 512, 16 << 20);
}

}  // namespace
}  // namespace tutti::ipc
