#include "cli/elf_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tutti::cli {
namespace {

TEST(ElfFileTest, FindsSectionsOfAProgram) {
  const auto program = ElfFile::Read("/proc/self/exe");
  ASSERT_TRUE(program) << program.error().text;
  EXPECT_TRUE(program->dynamic());
  EXPECT_FALSE(program->Section(".text").empty());
  EXPECT_TRUE(program->Section(".no_such_section").empty());
}

TEST(ElfFileTest, SaysWhatIsNoProgram) {
  const auto text = ElfFile::Read("/etc/passwd");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().text.find("/etc/passwd"), std::string::npos);
  EXPECT_FALSE(ElfFile::Read("/nowhere"));
}

// Cut short anywhere, and with any byte of its header wrong, a file is read as far as it makes sense.
TEST(ElfFileTest, BrokenFilesAreNotBelieved) {
  std::ifstream in("/bin/true", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  ASSERT_GT(whole.size(), 4096u);
  char name[] = "/tmp/tutti-elf.XXXXXX";
  const std::string directory = mkdtemp(name);
  const std::string path = directory + "/program";
  const auto read = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    if (const auto file = ElfFile::Read(path)) {
      (void)file->Section(".dynstr");
      (void)file->runpath();
    }
  };
  for (size_t size = 0; size < whole.size(); size += whole.size() / 40) read(whole.substr(0, size));
  for (size_t at = 16; at < 64; ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(0xff);
    read(bytes);
  }
  for (size_t at = whole.size() - 512; at < whole.size(); at += 7) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(0xff);
    read(bytes);
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace tutti::cli
