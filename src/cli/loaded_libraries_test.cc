#include "cli/loaded_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "os/program.h"

namespace tutti::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LoadedLibrariesTest, PathsAreReadFromTheLoadersList) {
  EXPECT_THAT(PathsInListing("\tlinux-vdso.so.1 (0x00007ffd)\n"
                             "\tlibx.so.1 => /opt/with space/libx.so.1 (0x00007f50)\n"
                             "\tlibgone.so.2 => not found\n"
                             "\t/lib64/ld-linux-x86-64.so.2 (0x00007f51)\n"),
              ElementsAre("/opt/with space/libx.so.1", "/lib64/ld-linux-x86-64.so.2"));
  EXPECT_THAT(PathsInListing(""), IsEmpty());
  EXPECT_THAT(PathsInListing("\tstatically linked\n"), IsEmpty());
}

TEST(LoadedLibrariesTest, AProgramsLibrariesAreFound) {
  const auto libraries = LoadedLibraries(os::ProgramPath());
  ASSERT_TRUE(libraries) << libraries.error().text;
  EXPECT_THAT(*libraries, Contains(HasSubstr("libc.so.6")));
}

TEST(LoadedLibrariesTest, WhatIsNoProgramHasNone) {
  EXPECT_FALSE(LoadedLibraries("/etc/passwd"));
  EXPECT_FALSE(LoadedLibraries("/no/such/file"));
}

// The loader checks nothing, so a file may run as whoever lists its libraries.
TEST(LoadedLibraries, AFileOfAnotherUserIsNotLoadedAsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  char path[] = "/tmp/tutti-program.XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  close(fd);
  std::filesystem::copy_file(os::ProgramPath(), path, std::filesystem::copy_options::overwrite_existing);
  chmod(path, 0755);
  EXPECT_TRUE(LoadedLibraries(path));
  ASSERT_EQ(chown(path, 4711, 4711), 0);
  const auto refused = LoadedLibraries(path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EPERM);
  unlink(path);
}

}  // namespace
}  // namespace tutti::cli
