#include "daemon/files/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace tutti::daemon {
namespace {

using testing::HasSubstr;

class DirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to give directories away";
    char name[] = "/tmp/tutti-directory-XXXXXX";
    root_ = mkdtemp(name);
    chmod(root_.c_str(), 0755);
    ASSERT_TRUE(MakeDirectory(root_ + "/above/mine"));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string Objection(const std::string& path) {
    const Status safe = CheckDirectory(root_ + path, "CUDA_MPS_PIPE_DIRECTORY");
    return safe ? "" : safe.error().text;
  }

  std::string root_;
};

TEST_F(DirectoryTest, OursBelowAStickyDirectoryIsTrusted) {
  EXPECT_EQ(Objection("/above/mine"), "");
  EXPECT_EQ(Objection("/above/not/there/yet"), "");
  chmod((root_ + "/above").c_str(), 01777);
  EXPECT_EQ(Objection("/above/mine"), "");
}

TEST_F(DirectoryTest, OneThatOthersMayWriteToIsNot) {
  for (const mode_t mode : {0777, 01777, 0775}) {
    chmod((root_ + "/above/mine").c_str(), mode);
    EXPECT_THAT(Objection("/above/mine"),
                HasSubstr("`chmod go-w " + root_ + "/above/mine`, or set CUDA_MPS_PIPE_DIRECTORY to another directory"))
        << mode;
  }
}

TEST_F(DirectoryTest, OneOfAnotherUserIsNot) {
  ASSERT_EQ(chown((root_ + "/above/mine").c_str(), 65534, 65534), 0);
  EXPECT_THAT(Objection("/above/mine"), HasSubstr("belongs to user 65534, not to user 0: remove it, or `chown 0 "));
}

TEST_F(DirectoryTest, NorIsOneThatCanBeReplaced) {
  chmod((root_ + "/above").c_str(), 0777);
  EXPECT_THAT(Objection("/above/mine"), HasSubstr("everybody may replace what is in " + root_ + "/above: `chmod o-w"));
  chmod((root_ + "/above").c_str(), 0755);
  ASSERT_EQ(chown((root_ + "/above").c_str(), 65534, 65534), 0);
  EXPECT_THAT(Objection("/above/mine"), HasSubstr("/above belongs to user 65534, who could replace what is in it"));
}

TEST_F(DirectoryTest, ALinkIsTrustedAsFarAsItsMakerAndItsTarget) {
  const std::string link = root_ + "/link";
  std::filesystem::create_symlink(root_ + "/above", link);
  EXPECT_EQ(Objection("/link/mine"), "");
  ASSERT_EQ(lchown(link.c_str(), 65534, 65534), 0);
  EXPECT_THAT(Objection("/link/mine"), HasSubstr("link is a link that user 65534 has made"));
  ASSERT_EQ(lchown(link.c_str(), 0, 0), 0);
  chmod((root_ + "/above").c_str(), 0777);
  EXPECT_THAT(Objection("/link/mine"), HasSubstr("everybody may replace"));
}

// Somebody who may write to the directory above makes it between our look and our making it.
TEST_F(DirectoryTest, WhoIsFasterThanUsIsNotTrusted) {
  constexpr uid_t kSomebody = 54321;
  const std::string path = root_ + "/above/contended";
  chmod((root_ + "/above").c_str(), 01777);
  const pid_t somebody = fork();
  if (somebody == 0) {
    if (setresuid(kSomebody, kSomebody, kSomebody) != 0) _exit(1);
    for (;;) {
      mkdir(path.c_str(), 0777);
      rmdir(path.c_str());
    }
  }
  for (int i = 0; i < 20'000; ++i) {
    if (!MakeTrustedDirectory(path, "CUDA_MPS_PIPE_DIRECTORY")) continue;
    struct stat info{};
    EXPECT_TRUE(lstat(path.c_str(), &info) == 0 && info.st_uid == geteuid()) << "in round " << i;
    rmdir(path.c_str());
  }
  kill(somebody, SIGKILL);
  waitpid(somebody, nullptr, 0);
}

}  // namespace
}  // namespace tutti::daemon
