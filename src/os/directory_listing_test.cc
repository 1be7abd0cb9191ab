#include "os/directory_listing.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "os/fd.h"

namespace tutti::os {
namespace {

class DirectoryListing : public ::testing::Test {
 protected:
  DirectoryListing() {
    char made[] = "/tmp/tutti-listing-XXXXXX";
    path_ = mkdtemp(made);
    fd_ = Fd(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~DirectoryListing() override { std::filesystem::remove_all(path_); }

  void MakeFile(const std::string& name) {
    ASSERT_TRUE(Fd(openat(fd_.get(), name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const DirectoryEntries entries = ListDirectory(fd_.get()).value();
    for (const DirectoryEntry& entry : entries) names.push_back(entry.name);
    return names;
  }

  std::string path_;
  Fd fd_;
};

TEST_F(DirectoryListing, NamesEachEntryEveryTime) {
  EXPECT_THAT(Names(), ::testing::IsEmpty());
  MakeFile("a");
  MakeFile(".b");
  EXPECT_THAT(Names(), ::testing::UnorderedElementsAre("a", ".b"));
  EXPECT_THAT(Names(), ::testing::UnorderedElementsAre("a", ".b"));
}

TEST_F(DirectoryListing, TellsOfALinkNotOfWhatItLeadsTo) {
  ASSERT_EQ(symlinkat("/", fd_.get(), "link"), 0);
  EXPECT_TRUE(S_ISLNK(ListDirectory(fd_.get()).value().at(0).info.st_mode));
}

TEST_F(DirectoryListing, KeepsNoDescriptor) {
  const int next = dup(fd_.get());
  close(next);
  EXPECT_TRUE(ListDirectory(fd_.get()));
  EXPECT_FALSE(ListDirectory(-1));
  MakeFile("file");
  EXPECT_FALSE(ListDirectory(Fd(openat(fd_.get(), "file", O_RDONLY | O_CLOEXEC)).get()));
  const int after = dup(fd_.get());
  EXPECT_EQ(after, next);
  close(after);
}

}  // namespace
}  // namespace tutti::os
