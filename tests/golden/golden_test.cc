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
#include <iterator>
#include <string>
#include <vector>

#include "base/testing/golden_file.h"
#include "ptx/parser.h"
#include "ptx/printer.h"

namespace tutti::ptx {
namespace {

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

class GoldenTest : public testing::TestWithParam<golden::Path> {};

TEST_P(GoldenTest, HasTheExpectedOutcome) {
  golden::ExpectOutcome(GetParam(), GetParam().parent_path().filename() == "errors" ? ErrorsOf : PrintOf);
}

std::vector<golden::Path> AllFiles() {
  std::vector<golden::Path> files;
  for (const char* folder : {"errors", "print"}) {
    std::ranges::copy(golden::Files(golden::Path(TUTTI_GOLDEN_FOLDER) / folder), std::back_inserter(files));
  }
  return files;
}

INSTANTIATE_TEST_SUITE_P(Ptx, GoldenTest, testing::ValuesIn(AllFiles()), golden::NameOf);

}  // namespace
}  // namespace tutti::ptx

int main(int count, char** arguments) { return tutti::golden::Run(count, arguments); }
