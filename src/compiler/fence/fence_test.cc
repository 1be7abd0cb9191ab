// One file of golden/ is one test: PTX, a line "==== expected", and the fenced PTX without the functions that all
// checks share, or what the user is told. compiler_fence_test --bless writes the outcome into the files.
#include "compiler/fence/fence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ptx/parser.h"

namespace tutti::compiler {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSeparator = "==== expected\n";
bool bless = false;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string OutcomeOf(const std::string& text) {
  auto module = ptx::Parse(text);
  if (!module) return module.error().text + "\n";
  const auto fenced = FencePtx(std::move(*module));
  if (!fenced) return fenced.error().text + "\n";
  const auto again = ptx::Parse(fenced->ptx);
  EXPECT_TRUE(again && ptx::FunctionErrors(*again).empty())
      << (again ? ptx::FunctionErrors(*again) : again.error().text);
  std::string outcome = fenced->ptx.substr(0, fenced->ptx.find(".func __tutti_fault(.param .b64 address"));
  for (const auto& [function, why] : fenced->refused) outcome += "refused: " + function + ": " + why + "\n";
  return outcome;
}

class Golden : public testing::TestWithParam<fs::path> {};

TEST_P(Golden, HasTheExpectedOutcome) {
  const std::string file = ReadFile(GetParam());
  const size_t end = file.find(kSeparator);
  const std::string input = file.substr(0, end);
  const std::string outcome = OutcomeOf(input);
  EXPECT_FALSE(outcome.empty());
  if (bless) {
    std::ofstream(GetParam(), std::ios::binary) << input << kSeparator << outcome;
  } else {
    ASSERT_NE(end, std::string::npos) << "nothing is expected yet: run with --bless";
    EXPECT_EQ(outcome, file.substr(end + kSeparator.size()));
  }
}

std::vector<fs::path> Files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(TUTTI_GOLDEN_DIR)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Fence, Golden, testing::ValuesIn(Files()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace tutti::compiler

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  for (int i = 1; i < count; ++i) tutti::compiler::bless |= std::strcmp(arguments[i], "--bless") == 0;
  return RUN_ALL_TESTS();
}
