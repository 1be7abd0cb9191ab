// Golden tests of the PTX front end. One file is one test: PTX, a line "==== expected", and what must come of it. The
// file's name is the claim it makes.
//
//   errors/  what the user is told: the error of the whole text, or those of its functions
//   print/   the module as the printer writes it; that text must parse and print to itself
//
// golden_test --bless writes the outcome into the files instead of comparing: look at the difference before committing
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ptx/parser.h"
#include "ptx/printer.h"

namespace tutti::ptx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSeparator = "==== expected\n";
bool bless = false;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string ErrorsOf(const std::string& text) {
  const auto module = Parse(text);
  if (!module) return module.error().text + "\n";
  return FunctionErrors(*module);
}

std::string PrintOf(const std::string& text) {
  const auto module = Parse(text);
  if (!module) return module.error().text + "\n";
  const std::string printed = Print(*module);
  const auto again = Parse(printed);
  if (again) {
    EXPECT_EQ(Print(*again), printed);
  } else {
    ADD_FAILURE() << again.error().text;
  }
  return FunctionErrors(*module) + printed;
}

class GoldenTest : public testing::TestWithParam<fs::path> {};

TEST_P(GoldenTest, HasTheExpectedOutcome) {
  const std::string file = ReadFile(GetParam());
  const size_t end = file.find(kSeparator);
  const std::string input = file.substr(0, end);
  const std::string outcome = GetParam().parent_path().filename() == "errors" ? ErrorsOf(input) : PrintOf(input);
  EXPECT_FALSE(outcome.empty()) << "nothing came of it: a test that cannot fail";
  if (bless) {
    std::ofstream(GetParam(), std::ios::binary) << input << kSeparator << outcome;
    return;
  }
  ASSERT_NE(end, std::string::npos) << "no expected outcome yet: run with --bless";
  EXPECT_EQ(file.substr(end + kSeparator.size()), outcome);
}

std::vector<fs::path> AllFiles() {
  std::vector<fs::path> files;
  for (const char* folder : {"errors", "print"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(TUTTI_GOLDEN_FOLDER) / folder)) {
      if (entry.path().extension() == ".ptx") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Ptx, GoldenTest, testing::ValuesIn(AllFiles()),
                         [](const auto& file) { return file.param.stem().string(); });

}  // namespace
}  // namespace tutti::ptx

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) tutti::ptx::bless |= std::string_view(argv[i]) == "--bless";
  return RUN_ALL_TESTS();
}
