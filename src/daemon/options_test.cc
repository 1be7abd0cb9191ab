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

TEST(Options, ServersDieWithADaemonThatIsToldSo) {
  EXPECT_FALSE(ParseOptions({"-d"})->fresh);
  EXPECT_TRUE(ParseOptions({"-d", "--fresh"})->fresh);
  EXPECT_FALSE(ParseOptions({"-d"})->servers_die);
  EXPECT_TRUE(ParseOptions({"-d", "--servers-die"})->servers_die);
}

TEST(Options, TheEnvironmentsProtocolWins) {
  EXPECT_EQ(ParseOptions({"-d", "-p", "3"})->protocol, 3);
  EXPECT_EQ(ParseOptions({"-d", "--protocol=3"})->protocol, 3);
  EXPECT_EQ(ParseOptions({"-d", "-p", "2"}, "3")->protocol, 3);
  EXPECT_EQ(ParseOptions({"-d"})->protocol, 2);
}

TEST(Options, AConfigurationFileIsFoundFromAnyDirectory) {
  EXPECT_TRUE(ParseOptions({"-d", "-p", "3", "-a", "x.toml"})->configuration.starts_with('/'));
}

TEST(Options, QuitIsACommand) { EXPECT_EQ(ParseOptions({"-q"})->command, "quit"); }

TEST(Options, WhatCannotBeIsRefusedByName) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"-x"}, "option -x is unknown"},
      {{"-d", "-p"}, "option -p needs 2 or 3"},
      {{"-d", "-p", "4"}, "control protocol \"4\" (option -p) is unknown"},
      {{"-d", "-p", "3", "-S"}, "option -S belongs to protocol 2"},
      {{"-d", "-a", "x"}, "option -a belongs to protocol 3"},
      {{"-d", "--policy", "fair"}, "policy \"fair\" is unknown"},
      {{"-f", "ps"}, "\"ps\" is a command, and -f starts a daemon"},
      {{"-d", "get_server_list"}, "\"get_server_list\" is a command, and -d starts a daemon"},
  };
  for (const auto& [words, text] : cases) {
    const auto options = ParseOptions(words);
    ASSERT_FALSE(options) << text;
    EXPECT_NE(options.error().text.find(text), std::string::npos) << options.error().text;
  }
  EXPECT_FALSE(ParseOptions({"-d"}, "banana"));
}

}  // namespace
}  // namespace tutti::daemon
