#include "daemon/options.h"

#include <gtest/gtest.h>

namespace tutti::daemon {
namespace {

TEST(Options, WordsWithoutADashAreACommandWithItsOptions) {
  const auto options = ParseOptions({"start_server", "-uid", "1000"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->mode, Mode::kCommand);
  EXPECT_EQ(options->command, "start_server -uid 1000");
}

TEST(Options, NothingMeansAShell) { EXPECT_EQ(ParseOptions({})->mode, Mode::kShell); }

TEST(Options, TheMultiUserFormsOfAllReleasesAreTaken) {
  for (const char* form : {"-M", "--multiuser", "-multiuser-server"}) {
    const auto options = ParseOptions({"-d", form});
    ASSERT_TRUE(options) << form;
    EXPECT_EQ(options->mode, Mode::kBackground);
    EXPECT_TRUE(options->multi_user);
  }
}

TEST(Options, WhatIsNotSupportedIsRefusedByName) {
  for (const auto& words : {std::vector<std::string>{"-d", "-S"}, {"-x"}, {"-d", "-p", "3"}, {"-d", "-p"}}) {
    const auto options = ParseOptions(words);
    ASSERT_FALSE(options);
    EXPECT_NE(options.error().text.find(words.back() == "-p" ? "\"\"" : words.back()), std::string::npos) << options.error().text;
  }
}

}  // namespace
}  // namespace tutti::daemon
