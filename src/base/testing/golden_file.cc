#include "base/testing/golden_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

namespace tutti::golden {
namespace {

constexpr std::string_view kSeparator = "==== expected\n";
bool bless = false;

}  // namespace

std::vector<Path> Files(const Path& folder) {
  std::vector<Path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string NameOf(const testing::TestParamInfo<Path>& info) { return info.param.stem().string(); }

void ExpectOutcome(const Path& path, const std::function<std::string(const std::string&)>& outcome_of) {
  std::ifstream in(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const size_t end = file.find(kSeparator);
  const std::string input = file.substr(0, end);
  const std::string outcome = outcome_of(input);
  EXPECT_FALSE(outcome.empty()) << "nothing came of it: a test that cannot fail";
  if (bless) {
    std::ofstream(path, std::ios::binary) << input << kSeparator << outcome;
    return;
  }
  ASSERT_NE(end, std::string::npos) << "nothing is expected yet: run with --bless";
  EXPECT_EQ(outcome, file.substr(end + kSeparator.size()));
}

int Run(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  for (int i = 1; i < count; ++i) bless |= std::string_view(arguments[i]) == "--bless";
  return RUN_ALL_TESTS();
}

}  // namespace tutti::golden
