// Each claim is tried in a child that has entered a domain; the child's exit status is the answer.
#include "os/confinement/domain.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "os/confinement/sanitized.h"

namespace tutti::os {
namespace {

constexpr int kNotEntered = 77;

template <typename Body>
bool HoldsInside(const Domain& domain, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    if (!EnterDomain(domain)) _exit(kNotEntered);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
bool Refused(long result) { return result == -1 && errno == EACCES; }

class DomainTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "no domain in a build with a sanitizer";
    if (syscall(SYS_landlock_create_ruleset, nullptr, 0, 1) < 0) GTEST_SKIP() << "this system has no Landlock";
    std::string pattern = testing::TempDir() + "/domainXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    for (const char* folder : {"may", "not"}) {
      std::filesystem::create_directory(root_ / folder);
      std::ofstream(root_ / folder / "file") << "bytes";
    }
  }
  void TearDown() override {
    if (!root_.empty()) std::filesystem::remove_all(root_);
  }
  std::string Of(const char* name) const { return root_ / name; }

  std::filesystem::path root_;
};

TEST_F(DomainTest, WritesFilesBelowItsFoldersAlone) {
  const Domain domain{.starts_programs = false, .written_below = {{Of("may"), Of("missing")}}};
  const auto opens = [&](const char* name, int flags) { return open(Of(name).c_str(), flags | O_CLOEXEC, 0600); };
  EXPECT_TRUE(HoldsInside(domain, [&] { return opens("may/new", O_CREAT | O_WRONLY) >= 0; }));
  EXPECT_TRUE(HoldsInside(domain, [&] { return opens("may/file", O_RDWR) >= 0; }));
  EXPECT_TRUE(HoldsInside(domain, [&] { return rename(Of("may/file").c_str(), Of("may/other").c_str()) == 0; }));
  EXPECT_TRUE(HoldsInside(domain, [&] { return unlink(Of("may/other").c_str()) == 0; }));
  EXPECT_TRUE(HoldsInside(domain, [&] { return opens("not/file", O_RDONLY) >= 0; }));
  EXPECT_TRUE(HoldsInside(domain, [&] { return Refused(opens("not/file", O_WRONLY)); }));
  EXPECT_TRUE(HoldsInside(domain, [&] { return Refused(opens("not/new", O_CREAT | O_WRONLY)); }));
  EXPECT_TRUE(HoldsInside(domain, [&] { return Refused(mkdir(Of("not/folder").c_str(), 0700)); }));
  EXPECT_TRUE(HoldsInside(domain, [&] { return Refused(symlink("file", Of("not/link").c_str())); }));
  EXPECT_TRUE(HoldsInside(domain, [&] { return Refused(unlink(Of("not/file").c_str())); }));
  EXPECT_TRUE(HoldsInside({.starts_programs = false, .written_below = {}}, [&] {
    return opens("not/new", O_CREAT | O_WRONLY) >= 0;
  })) << "one that says nothing of it";
}

TEST_F(DomainTest, StartsProgramsIfItMay) {
  const auto starts = [] {
    char name[] = "/bin/true";
    char* const arguments[] = {name, nullptr};
    char* const environment[] = {nullptr};
    return execve(name, arguments, environment);
  };
  EXPECT_TRUE(HoldsInside({.starts_programs = false, .written_below = {}}, [&] { return Refused(starts()); }));
  EXPECT_TRUE(HoldsInside({.starts_programs = true, .written_below = {}}, [&] { return starts() == 0; }));
}

TEST_F(DomainTest, LooksIntoNoProcessOutside) {
  const std::string memory = "/proc/" + std::to_string(getpid()) + "/mem";
  ASSERT_EQ(access(memory.c_str(), R_OK | W_OK), 0);
  EXPECT_TRUE(HoldsInside({.starts_programs = true, .written_below = {}},
                          [&] { return open(memory.c_str(), O_RDWR | O_CLOEXEC) < 0; }));
}

}  // namespace
}  // namespace tutti::os
