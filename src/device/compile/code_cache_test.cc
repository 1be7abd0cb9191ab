#include "device/compile/code_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "device/compile/cache_folder.h"

namespace tutti::device {
namespace {

namespace fs = std::filesystem;

class CodeCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cache-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::vector<uint8_t> Bytes(size_t count, uint8_t value) { return std::vector<uint8_t>(count, value); }
  static CacheKey Key(uint64_t number) { return KeyBuilder().Add(number).Finish(); }
  fs::path EntryPath(uint64_t number) const { return folder_ / "c" / Key(number).Hex(); }

  fs::path folder_;
};

TEST_F(CodeCacheTest, WhatWasStoredIsFoundByAnotherProcessToo) {
  CodeCache first((folder_ / "c").string(), 1 << 20);
  ASSERT_TRUE(first.Store(Key(1), Bytes(1000, 7)));
  CodeCache second((folder_ / "c").string(), 1 << 20);
  const auto entry = second.Find(Key(1));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->bytes, Bytes(1000, 7));
  EXPECT_FALSE(second.Find(Key(2)));
}

TEST_F(CodeCacheTest, TheFolderAndEntriesAreOurs) {
  CodeCache cache((folder_ / "a" / "b" / "c").string(), 1 << 20);
  ASSERT_TRUE(cache.Store(Key(1), Bytes(10, 1)));
  struct stat info;
  ASSERT_EQ(stat(cache.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_EQ(stat((fs::path(cache.path()) / Key(1).Hex()).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(CodeCacheTest, ADamagedEntryIsMissingAndRemoved) {
  CodeCache cache((folder_ / "c").string(), 1 << 20);
  for (const size_t at : {size_t{0}, size_t{500}, size_t{1000}, size_t{1047}}) {
    ASSERT_TRUE(cache.Store(Key(1), Bytes(1000, 7)));
    std::fstream file(EntryPath(1), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<long>(at));
    file.put(static_cast<char>(0x55));
    file.close();
    EXPECT_FALSE(cache.Find(Key(1))) << at;
    EXPECT_FALSE(fs::exists(EntryPath(1)));
  }
}

TEST_F(CodeCacheTest, ATruncatedEntryIsMissing) {
  CodeCache cache((folder_ / "c").string(), 1 << 20);
  for (const uint64_t size : {0, 10, 48, 1000, 1047}) {
    ASSERT_TRUE(cache.Store(Key(1), Bytes(1000, 7)));
    fs::resize_file(EntryPath(1), size);
    EXPECT_FALSE(cache.Find(Key(1))) << size;
  }
}

TEST_F(CodeCacheTest, AnEntryThatOthersCanWriteToIsNotTaken) {
  CodeCache cache((folder_ / "c").string(), 1 << 20);
  ASSERT_TRUE(cache.Store(Key(1), Bytes(10, 1)));
  ASSERT_EQ(chmod(EntryPath(1).c_str(), 0666), 0);
  EXPECT_FALSE(cache.Find(Key(1)));
}

TEST_F(CodeCacheTest, ALinkInPlaceOfAnEntryIsNotFollowed) {
  CodeCache cache((folder_ / "c").string(), 1 << 20);
  ASSERT_TRUE(cache.Store(Key(1), Bytes(10, 1)));
  fs::rename(EntryPath(1), folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", EntryPath(1));
  EXPECT_FALSE(cache.Find(Key(1)));
}

TEST_F(CodeCacheTest, AFolderThatOthersCanWriteToIsNotUsed) {
  fs::create_directory(folder_ / "c");
  ASSERT_EQ(chmod((folder_ / "c").c_str(), 0777), 0);
  std::string used;
  {
    CodeCache cache((folder_ / "c").string(), 1 << 20);
    used = cache.path();
    EXPECT_NE(used, (folder_ / "c").string());
    ASSERT_TRUE(cache.Store(Key(1), Bytes(10, 1)));  // it has a temporary folder instead
    EXPECT_TRUE(cache.Find(Key(1)));
  }
  EXPECT_FALSE(fs::exists(used));
  EXPECT_TRUE(fs::is_empty(folder_ / "c"));
}

TEST_F(CodeCacheTest, AFolderOfAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to make one";
  fs::create_directory(folder_ / "c");
  ASSERT_EQ(chown((folder_ / "c").c_str(), 12345, 12345), 0);
  ASSERT_EQ(chmod((folder_ / "c").c_str(), 0700), 0);
  EXPECT_FALSE(OpenCacheFolder((folder_ / "c").string()));
}

TEST_F(CodeCacheTest, ALinkInPlaceOfTheFolderIsNotFollowed) {
  fs::create_directory(folder_ / "real");
  fs::create_directory_symlink(folder_ / "real", folder_ / "c");
  EXPECT_FALSE(OpenCacheFolder((folder_ / "c").string()));
}

TEST_F(CodeCacheTest, TheOldestGoWhenTheLimitIsExceeded) {
  CodeCache cache((folder_ / "c").string(), 10'000);
  for (uint64_t i = 0; i < 9; ++i) {
    ASSERT_TRUE(cache.Store(Key(i), Bytes(1000, 1)));
    const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(10 - i);
    fs::last_write_time(EntryPath(i), hour_ago);
  }
  ASSERT_TRUE(cache.Find(Key(0)));  // used just now
  ASSERT_TRUE(cache.Store(Key(9), Bytes(1000, 1)));
  EXPECT_TRUE(cache.Find(Key(0)));
  EXPECT_FALSE(cache.Find(Key(1)));
  EXPECT_TRUE(cache.Find(Key(9)));
  uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(cache.path())) total += entry.file_size();
  EXPECT_LE(total, 10'000u);
}

TEST_F(CodeCacheTest, TheLimitHoldsForAllWhoShareTheFolder) {
  constexpr uint64_t kLimit = 100'000, kEntry = 1000;
  std::vector<std::unique_ptr<CodeCache>> servers;
  for (int i = 0; i < 4; ++i) servers.push_back(std::make_unique<CodeCache>((folder_ / "c").string(), kLimit));
  for (uint64_t i = 0; i < 600; ++i) {
    ASSERT_TRUE(servers[i % servers.size()]->Store(Key(i), Bytes(kEntry, 1)));
    uint64_t total = 0;
    for (const auto& entry : fs::directory_iterator(folder_ / "c")) total += entry.file_size();
    ASSERT_LE(total, kLimit + servers.size() * (kLimit / 16 + 2 * kEntry)) << i;
  }
}

// They store the same entries, find each other's, and evict old ones, all at once.
TEST_F(CodeCacheTest, ProcessesThatShareAFolderNeverSeeAPartOfAnEntry) {
  constexpr uint64_t kKeys = 20;
  const auto expected = [](uint64_t key) { return Bytes(100 + 3000 * key, static_cast<uint8_t>(key)); };
  std::vector<pid_t> children;
  for (uint32_t child = 0; child < 3; ++child) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    CodeCache cache((folder_ / "c").string(), 200'000);
    int found = 0;
    for (uint64_t i = 0; i < 600; ++i) {
      const uint64_t key = (i * 7 + child * 3) % kKeys;
      if (const auto entry = cache.Find(Key(key))) {
        ++found;
        if (entry->bytes != expected(key)) _exit(1);
      } else if (!cache.Store(Key(key), expected(key))) {
        _exit(2);
      }
    }
    _exit(found > 0 ? 0 : 3);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const auto& entry : fs::directory_iterator(folder_ / "c"))
    EXPECT_FALSE(entry.path().filename().string().starts_with("new-"));
}

// Temporary files of a process that died while writing go, once they are old.
TEST_F(CodeCacheTest, HalvesOfTheDeadAreRemoved) {
  CodeCache cache((folder_ / "c").string(), 10'000);
  const fs::path old = folder_ / "c" / "new-1-1", young = folder_ / "c" / "new-2-1";
  for (const fs::path& half : {old, young}) std::ofstream(half) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  for (uint64_t i = 0; i < 12; ++i) ASSERT_TRUE(cache.Store(Key(i), Bytes(1000, 1)));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(CodeCacheTest, AFailedStoreLeavesNothingBehind) {
  CodeCache cache((folder_ / "c").string(), 1 << 20);
  fs::create_directory(EntryPath(1));  // the rename will fail
  EXPECT_FALSE(cache.Store(Key(1), Bytes(10, 1)));
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(cache.path())) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 0u);
}

TEST_F(CodeCacheTest, WithoutAFolderNothingIsKept) {
  CodeCache cache("", 1 << 20);
  EXPECT_FALSE(cache.Store(Key(1), Bytes(10, 1)));
  EXPECT_FALSE(cache.Find(Key(1)));
}

TEST_F(CodeCacheTest, AWriteThatFailsIsAnErrorAndLeavesNothingBehind) {
  CodeCache cache((folder_ / "c").string(), 1 << 20);
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{100, before.rlim_max};  // writes fail in the middle, as on a full disk
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto stored = cache.Store(Key(1), Bytes(1000, 1));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(stored);
  EXPECT_TRUE(fs::is_empty(cache.path()));
}

TEST(CacheKeyTest, PartsDoNotRunTogether) {
  EXPECT_NE(KeyBuilder().Add("ab").Add("c").Finish(), KeyBuilder().Add("a").Add("bc").Finish());
  EXPECT_EQ(KeyBuilder().Add("ab").Finish(), KeyBuilder().Add("ab").Finish());
  EXPECT_EQ(CacheKey{}.Hex(), std::string(64, '0'));
}

TEST_F(CodeCacheTest, ATemporaryFolderOfAKilledServerIsRemovedByTheNext) {
  setenv("TMPDIR", folder_.c_str(), 1);
  const auto folders = [&] { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); };
  const auto living = MakeTemporaryCacheFolder();
  ASSERT_TRUE(living) << living.error().text;
  const pid_t killed = fork();
  if (killed == 0) {
    const auto left = MakeTemporaryCacheFolder();
    if (!left || openat(left->fd.get(), "entry", O_CREAT | O_WRONLY, 0600) < 0) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(killed, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(folders(), 2);
  {
    const auto next = MakeTemporaryCacheFolder();
    ASSERT_TRUE(next) << next.error().text;
    EXPECT_EQ(folders(), 2) << "the one that was left has gone, the new one has come";
    EXPECT_TRUE(fs::exists(living->path)) << "another server uses it";
    RemoveCacheFolder(*next);
  }
  EXPECT_EQ(folders(), 1);
  unsetenv("TMPDIR");
}

}  // namespace
}  // namespace tutti::device
