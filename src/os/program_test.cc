#include "os/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace tutti::os {
namespace {

TEST(Program, KnowsItsFileAndDirectory) {
  EXPECT_TRUE(std::filesystem::equivalent(ProgramPath(), "/proc/self/exe"));
  EXPECT_EQ(ProgramDirectory() + "/" + std::filesystem::path(ProgramPath()).filename().string(), ProgramPath());
}

// As after an upgrade: the directory is still the one where the new programs stand.
TEST(Program, KnowsTheNameOfAFileThatIsGone) {
  char folder[] = "/tmp/program_test.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string copy = std::string(folder) + "/copy";
  std::filesystem::copy_file(ProgramPath(), copy);
  const pid_t child = fork();
  if (child == 0) {
    setenv("PROGRAM_TEST_GONE", copy.c_str(), 1);
    execl(copy.c_str(), copy.c_str(), "--gtest_filter=Program.DISABLED_IsGone", "--gtest_also_run_disabled_tests",
          nullptr);
    _exit(127);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(status, 0);
}
// Only of the copy above.
TEST(Program, DISABLED_IsGone) {
  const std::string path = Environment("PROGRAM_TEST_GONE");
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_EQ(ProgramPath(), path);
}

TEST(Program, AVariableThatIsNotSetIsEmpty) {
  setenv("PROGRAM_TEST_VALUE", "x=1", 1);
  EXPECT_EQ(Environment("PROGRAM_TEST_VALUE"), "x=1");
  unsetenv("PROGRAM_TEST_VALUE");
  EXPECT_EQ(Environment("PROGRAM_TEST_VALUE"), "");
}

}  // namespace
}  // namespace tutti::os
