#include "daemon/files/instance.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemon/files/directory.h"
#include "os/socket.h"

namespace tutti::daemon {
namespace {

class InstanceTest : public testing::Test {
 protected:
  InstanceTest() {
    char name[] = "/tmp/tutti-instance-XXXXXX";
    root_ = mkdtemp(name);
    places_.pipe_directory = root_ + "/pipe";
  }
  ~InstanceTest() override { std::filesystem::remove_all(root_); }

  mode_t ModeOf(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info.st_mode;
  }

  std::string root_;
  control::Places places_;
};

TEST_F(InstanceTest, CreatesItsFilesWithTheModesOthersExpectWhateverTheUmask) {
  const mode_t before = umask(0077);
  const auto instance = Instance::Claim(places_);
  umask(before);
  ASSERT_TRUE(instance) << instance.error().text;
  EXPECT_EQ(ModeOf(places_.pipe_directory), S_IFDIR | 0755u);
  EXPECT_EQ(ModeOf(places_.control_socket()), S_IFSOCK | 0666u);
  EXPECT_EQ(ModeOf(places_.privileged_socket()), S_IFSOCK | 0755u);
  EXPECT_EQ(ModeOf(places_.lock_file()), S_IFREG | 0600u);  // who can open it can lock it
  EXPECT_EQ(ModeOf(places_.log_fifo()), S_IFIFO | 0777u);
  EXPECT_EQ(ModeOf(places_.pid_file()), S_IFREG | 0644u);
}

TEST_F(InstanceTest, ASecondOneIsRefusedAndLeavesTheFirstAlone) {
  const auto first = Instance::Claim(places_);
  ASSERT_TRUE(first);
  {
    const auto second = Instance::Claim(places_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().text, kAlreadyRunning);
  }
  EXPECT_TRUE(os::Connect(places_.control_socket()));
}

TEST_F(InstanceTest, LeavesOnlyTheLockFileBehind) {
  {
    ASSERT_TRUE(Instance::Claim(places_));
  }
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(places_.pipe_directory)) left.push_back(entry.path());
  EXPECT_EQ(left, std::vector<std::string>{places_.lock_file()});
}

TEST_F(InstanceTest, TakesOverTheFilesOfAKilledDaemon) {
  ASSERT_TRUE(MakeDirectory(places_.pipe_directory));
  for (const auto& path : {places_.control_socket(), places_.lock_file(), places_.log_fifo(), places_.pid_file()}) {
    std::ofstream(path) << "stale";
  }
  const auto instance = Instance::Claim(places_);
  ASSERT_TRUE(instance) << instance.error().text;
  EXPECT_TRUE(os::Connect(places_.control_socket()));
}

TEST_F(InstanceTest, ALinkInThePlaceOfTheLockIsNotFollowed) {
  ASSERT_TRUE(MakeDirectory(places_.pipe_directory));
  std::ofstream(root_ + "/victim") << "precious";
  std::filesystem::create_symlink(root_ + "/victim", places_.lock_file());
  EXPECT_FALSE(Instance::Claim(places_));
  EXPECT_EQ(std::filesystem::file_size(root_ + "/victim"), 8u);
}

// As where one service has followed another in the directory (packaging/systemd).
TEST_F(InstanceTest, ALockThatAnotherUserHasLeftInOurDirectoryIsMadeAnew) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  constexpr uid_t kOther = 65534;
  {
    ASSERT_TRUE(Instance::Claim(places_));
  }
  ASSERT_EQ(ModeOf(places_.lock_file()), S_IFREG | 0600u);
  ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
  ASSERT_EQ(chown(places_.pipe_directory.c_str(), kOther, kOther), 0);
  const auto claims_as_other = [&] {
    const pid_t child = fork();
    if (child == 0) _exit(setgid(kOther) == 0 && setuid(kOther) == 0 && Instance::Claim(places_) ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status == 0;
  };
  {
    const auto listening = os::Listen(places_.control_socket(), 0666);
    ASSERT_TRUE(listening);
    EXPECT_FALSE(claims_as_other()) << "although a daemon listens there";
  }
  EXPECT_TRUE(claims_as_other());
  struct stat info{};
  ASSERT_EQ(lstat(places_.lock_file().c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kOther);
}

TEST_F(InstanceTest, ADirectoryThatIsAFileIsNamed) {
  std::ofstream(places_.pipe_directory) << "x";
  const auto instance = Instance::Claim(places_);
  ASSERT_FALSE(instance);
  EXPECT_EQ(instance.error().text, places_.pipe_directory + " is not a directory: remove it or choose another one");
}

TEST_F(InstanceTest, APathTooLongForASocketIsNamedWithItsLength) {
  places_.pipe_directory = root_ + "/" + std::string(120, 'x');
  const auto instance = Instance::Claim(places_);
  ASSERT_FALSE(instance);
  EXPECT_NE(instance.error().text.find("use a shorter directory"), std::string::npos) << instance.error().text;
}

}  // namespace
}  // namespace tutti::daemon
