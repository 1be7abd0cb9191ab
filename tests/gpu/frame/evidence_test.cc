#include "frame/evidence.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "frame/files.h"
#include "frame/page.h"
#include "frame/probe.h"
#include "frame/record.h"

namespace tutti::gpu {
namespace {

class Results : public testing::Test {
 protected:
  Results() : path_(testing::TempDir() + "/results." + std::to_string(getpid()) + ".jsonl") {}
  ~Results() override { unlink(path_.c_str()); }

  Evidence Read(const std::string& text) {
    WriteFile(path_, text);
    return Evidence::Read(path_);
  }
  std::string path_;
};

TEST_F(Results, WhatIsWrittenIsRead) {
  const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  Record("probes", "P1", "exit")
      .Set("ms", 1.5)
      .Set("there", true)
      .Set("text", "a \"quoted\"\nline\x01")
      .Set("count", 3u)
      .Write(fd);
  close(fd);
  const Evidence evidence = Evidence::Read(path_);
  EXPECT_EQ(evidence.Number("P1", "exit", "ms"), 1.5);
  EXPECT_EQ(evidence.Truth("P1", "exit", "there"), true);
  EXPECT_EQ(evidence.Text("P1", "exit", "text"), "a \"quoted\"\nline\x01");
  EXPECT_EQ(evidence.Number("P1", "exit", "count"), 3);
}

TEST_F(Results, ALineThatIsCutShortIsLeftOut) {
  const Evidence evidence = Read("{\"probe\":\"P1\",\"step\":\"a\",\"ms\":1}\n{\"probe\":\"P1\",\"step\":\"b\",\"m");
  EXPECT_EQ(evidence.rows().size(), 1u);
}

TEST_F(Results, LinesThatAreNoRecordsAreLeftOut) {
  const Evidence evidence = Read("null\n[1]\n{}\n{\"probe\":7}\n\n{\"probe\":\"P1\",\"step\":\"a\"}\n");
  EXPECT_EQ(evidence.rows().size(), 1u);
}

TEST_F(Results, StepsAreFoundByTheirBeginning) {
  const Evidence evidence = Read(
      "{\"probe\":\"P8\",\"step\":\"far_read\",\"ms\":3}\n{\"probe\":\"P8\",\"step\":\"far_write\",\"ms\":7}\n{"
      "\"probe\":\"P8\",\"step\":\"trap\",\"ms\":9}\n");
  EXPECT_EQ(evidence.Most("P8", "far_*", "ms"), 7);
  EXPECT_EQ(evidence.Least("P8", "*", "ms"), 3);
  EXPECT_EQ(evidence.Number("P8", "trap", "ms"), 9);
  EXPECT_FALSE(evidence.Number("P8", "tra", "ms"));
}

TEST_F(Results, WhatGaveNoAnswerSaysWhy) {
  const Evidence evidence = Read(
      "{\"probe\":\"P8\",\"step\":\"trap\",\"outcome\":\"killed\",\"reason\":\"ended after 8 s, inside cuMemMap\"}\n");
  EXPECT_EQ(evidence.Undecided("P8"), "undecided: trap: ended after 8 s, inside cuMemMap");
}

TEST(Show, KeepsThreeDigitsThatMatter) {
  EXPECT_EQ(Show(0.012345), "0.0123");
  EXPECT_EQ(Show(12.345), "12.3");
  EXPECT_EQ(Show(1234567), "1,234,567");
  EXPECT_EQ(Show(-1234), "-1,234");
  EXPECT_EQ(Show(7), "7");
}

TEST(Files, AnArchiveIsOneThatTarReads) {
  const std::string folder = testing::TempDir() + "/archive." + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  WriteFile(folder + "/a.txt", "first");
  WriteFile(folder + "/b.txt", std::string(2000, 'x') + "end");
  ASSERT_TRUE(WriteArchive(folder + ".tar", folder, 1000));
  EXPECT_EQ(std::system(("test \"$(tar -xOf " + folder + ".tar log/a.txt)\" = first").c_str()), 0);
  EXPECT_EQ(std::system(("test \"$(tar -xOf " + folder + ".tar log/b.txt | tail -c 3)\" = end").c_str()), 0);
  RemoveTree(folder);
  RemoveTree(folder + ".tar");
}

TEST_F(Results, ThePageHasATableForRowsOfTheSameKind) {
  const std::string page =
      Page(Read("{\"section\":\"probes\",\"probe\":\"P5\",\"step\":\"before\",\"wish\":\"a|b\",\"exact\":3}\n"
                "{\"section\":\"probes\",\"probe\":\"P5\",\"step\":\"after\",\"wish\":\"c\",\"exact\":4}\n"
                "{\"section\":\"probes\",\"probe\":\"P5\",\"step\":\"after\",\"outcome\":\"done\",\"seconds\":1}\n"));
  EXPECT_NE(page.find("| step | wish | exact |\n|---|---|---|\n| before | a\\|b | 3 |\n| after | c | 4 |\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("**Decision:**"), std::string::npos);
}

}  // namespace
}  // namespace tutti::gpu
