#include "command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace tutti::command_line {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Arguments = std::vector<std::string>;

// The text of --help.
std::string Help(Command& line, Arguments before = {}) {
  before.push_back("--help");
  const auto stop = line.Read(before);
  EXPECT_TRUE(stop && stop->status == 0);
  return stop ? stop->text : "";
}

std::string Mistake(Command& line, const Arguments& arguments) {
  const auto stop = line.Read(arguments);
  EXPECT_TRUE(stop && stop->status > 100);
  return stop ? stop->text : "";
}

TEST(CommandLine, VariablesOfEachTypeTakeTheirValues) {
  Command line("greet", "Greets.");
  bool yes = false;
  int number = 0;
  uint32_t small = 0;
  uint64_t large = 0;
  double real = 0;
  std::string word;
  std::vector<std::string> words;
  std::optional<bool> maybe;
  std::optional<int> maybe_number;
  std::optional<uint32_t> maybe_small;
  std::optional<std::string> maybe_word;
  line.AddOption("--yes", &yes, "");
  line.AddOption("--number", &number, "");
  line.AddOption("--small", &small, "");
  line.AddOption("--large", &large, "");
  line.AddOption("--real", &real, "");
  line.AddOption("--word", &word, "");
  line.AddOption("--words", &words, "").SeparatedBy(',');
  line.AddOption("--maybe", &maybe, "");
  line.AddOption("--maybe-number", &maybe_number, "");
  line.AddOption("--maybe-small", &maybe_small, "");
  line.AddOption("--maybe-word", &maybe_word, "");
  ASSERT_FALSE(line.Read({"--yes=true", "--number=-7", "--small", "4000000000", "--large=5000000000", "--real", "0.5",
                          "--word", "one two", "--words", "a,b", "--words=c", "--maybe", "false", "--maybe-number=8",
                          "--maybe-small=9", "--maybe-word", "so"}));
  EXPECT_TRUE(yes);
  EXPECT_EQ(number, -7);
  EXPECT_EQ(small, 4'000'000'000);
  EXPECT_EQ(large, 5'000'000'000);
  EXPECT_EQ(real, 0.5);
  EXPECT_EQ(word, "one two");
  EXPECT_THAT(words, ElementsAre("a", "b", "c"));
  EXPECT_EQ(maybe, std::optional(false));
  EXPECT_EQ(maybe_number, std::optional(8));
  EXPECT_EQ(maybe_small, std::optional(9U));
  EXPECT_EQ(maybe_word, std::optional<std::string>("so"));
}

TEST(CommandLine, WhatIsNotGivenKeepsItsValue) {
  Command line("greet", "Greets.");
  int number = 3;
  std::optional<int> maybe;
  bool flag = true;
  line.AddOption("--number", &number, "").ShowDefault();
  line.AddOption("--maybe", &maybe, "");
  line.AddFlag("!--no-flag", &flag, "");
  ASSERT_FALSE(line.Read({}));
  EXPECT_EQ(number, 3);
  EXPECT_EQ(maybe, std::nullopt);
  EXPECT_TRUE(flag);
  EXPECT_THAT(Help(line), HasSubstr("--number INT=3"));
}

TEST(CommandLine, FlagsAreTrueIfGivenAndFalseIfTheyAreNegative) {
  Command line("greet", "Greets.");
  bool loud = false, polite = true;
  line.AddFlag("-l,--loud", &loud, "");
  line.AddFlag("!--rude", &polite, "");
  ASSERT_FALSE(line.Read({"-l", "--rude"}));
  EXPECT_TRUE(loud);
  EXPECT_FALSE(polite);
}

TEST(CommandLine, AnAnswerHasStatusZeroAndAMistakeAnother) {
  Command line("greet", "Greets.");
  line.Version("greet 1.2", "-v,--version");
  for (const char* name : {"-v", "--version"}) {
    const auto version = line.Read({name});
    ASSERT_TRUE(version);
    EXPECT_EQ(version->status, 0);
    EXPECT_EQ(version->text, "greet 1.2\n");
  }
  line.Footer("Be kind.");
  EXPECT_THAT(Help(line), testing::AllOf(testing::StartsWith("Greets.\nUsage: greet"), HasSubstr("Be kind.")));
  EXPECT_THAT(Mistake(line, {"--shout"}), HasSubstr("--shout"));
}

TEST(CommandLine, MainPrintsAnswersOnStdoutAndMistakesOnStderr) {
  Command line("greet", "Greets.");
  std::string greet = "greet", help = "--help", unknown = "--unknown";
  char* asks[] = {greet.data(), help.data(), nullptr};
  testing::internal::CaptureStdout();
  EXPECT_EQ(line.Parse(2, asks), std::optional(0));
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("Usage: greet"));
  char* errs[] = {greet.data(), unknown.data(), nullptr};
  testing::internal::CaptureStderr();
  EXPECT_GT(line.Parse(2, errs).value_or(0), 100);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--unknown"));
  EXPECT_EQ(line.Parse(1, asks), std::nullopt);
  EXPECT_EQ(line.Parse(0, asks), std::nullopt) << "a program without even a name";
}

TEST(CommandLine, AnAbsentRequiredOptionIsAMistake) {
  Command line("greet", "Greets.");
  std::string name;
  line.AddOption("name", &name, "Who").Required();
  EXPECT_THAT(Mistake(line, {}), HasSubstr("name is required"));
  ASSERT_FALSE(line.Read({"Ada"}));
  EXPECT_EQ(name, "Ada");
  EXPECT_THAT(Mistake(line, {"Ada", "Bob"}), HasSubstr("Bob"));
}

TEST(CommandLine, ValuesOutsideTheirRangeAreMistakes) {
  Command line("greet", "Greets.");
  int number = 0;
  uint64_t large = 0;
  double real = 0;
  int descriptor = 0;
  line.AddOption("--number", &number, "").Check(Range(0, 3));
  line.AddOption("--large", &large, "").Check(Range(uint64_t{0}, uint64_t{5'000'000'000}));
  line.AddOption("--real", &real, "").Check(Range(0.5, 2.0));
  line.AddOption("--descriptor", &descriptor, "").Check(NotNegative());
  ASSERT_FALSE(line.Read({"--number=3", "--large=5000000000", "--real=0.5", "--descriptor=0"}));
  EXPECT_THAT(Mistake(line, {"--number=4"}), HasSubstr("Value 4 not in range 0 to 3"));
  EXPECT_THAT(Mistake(line, {"--large=5000000001"}), HasSubstr("not in range 0 to 5000000000"));
  EXPECT_THAT(Mistake(line, {"--real=0.4"}), HasSubstr("Value 0.4 not in range"));
  EXPECT_THAT(Mistake(line, {"--real=much"}), HasSubstr("much"));
  EXPECT_THAT(Mistake(line, {"--descriptor=-1"}), HasSubstr("-1"));
  EXPECT_THAT(Help(line), HasSubstr("INT in [0 - 3]"));
}

TEST(CommandLine, OnlyOneOfTheWordsIsAccepted) {
  Command line("greet", "Greets.");
  std::string time;
  line.AddOption("--time", &time, "").Check(OneOf({"morning", "evening"}));
  ASSERT_FALSE(line.Read({"--time", "evening"}));
  EXPECT_THAT(Mistake(line, {"--time", "noon"}), HasSubstr("noon not in {morning,evening}"));
  EXPECT_THAT(Help(line), HasSubstr("TEXT:{morning,evening}"));
}

TEST(CommandLine, AFileHasToExist) {
  Command line("greet", "Greets.");
  std::string file;
  line.AddOption("--from", &file, "").Check(ExistingFile()).Placeholder("PATH");
  ASSERT_FALSE(line.Read({"--from", "/proc/self/exe"}));
  EXPECT_THAT(Mistake(line, {"--from", "/no/such/file"}), HasSubstr("File does not exist: /no/such/file"));
  EXPECT_THAT(Help(line), HasSubstr("--from PATH:FILE"));
}

TEST(CommandLine, AValidatorOfTheProgramSaysWhatIsWrong) {
  Command line("greet", "Greets.");
  std::string name;
  line.AddOption("--name", &name, "")
      .Check({[](const std::string& value) { return value == "Bob" ? "not Bob again" : ""; }, "{not Bob}"});
  ASSERT_FALSE(line.Read({"--name", "Ada"}));
  EXPECT_THAT(Mistake(line, {"--name", "Bob"}), HasSubstr("not Bob again"));
  EXPECT_THAT(Help(line), HasSubstr("TEXT:{not Bob}"));
}

TEST(CommandLine, TheCommandLineComesBeforeTheEnvironment) {
  setenv("TUTTI_COMMAND_LINE_TEST", "evening", 1);
  std::string time = "noon";
  Command line("greet", "Greets.");
  line.AddOption("--time", &time, "").Environment("TUTTI_COMMAND_LINE_TEST").Check(OneOf({"morning", "evening"}));
  ASSERT_FALSE(line.Read({}));
  EXPECT_EQ(time, "evening");
  ASSERT_FALSE(line.Read({"--time", "morning"}));
  EXPECT_EQ(time, "morning");
  setenv("TUTTI_COMMAND_LINE_TEST", "midnight", 1);
  EXPECT_THAT(Mistake(line, {}), HasSubstr("midnight")) << "values of the environment are checked too";
  unsetenv("TUTTI_COMMAND_LINE_TEST");
  EXPECT_THAT(Help(line), HasSubstr("(Env:TUTTI_COMMAND_LINE_TEST)"));
}

TEST(CommandLine, ExactlyOneOptionOfAChoiceIsGiven) {
  Command line("greet", "Greets.");
  int here = 0, there = 0;
  Command& places = line.AddChoice("place", "where");
  places.AddOption("--here", &here, "");
  places.AddOption("--there", &there, "");
  EXPECT_THAT(Mistake(line, {}), HasSubstr("1 option from [--here,--there] is required"));
  EXPECT_THAT(Mistake(line, {"--here=1", "--there=1"}), HasSubstr("2 were given"));
  ASSERT_FALSE(line.Read({"--there=5"}));
  EXPECT_EQ(there, 5);
}

TEST(CommandLine, WhatFollowsTheProgramBelongsToTheProgram) {
  Command line("tool", "A tool.");
  Command& run = line.AddCommand("run", "Runs a program.");
  int times = 1;
  std::vector<std::string> program;
  run.AddOption("-n", &times, "");
  run.AddOption("program", &program, "").Required();
  run.PositionalsEndOptions();
  ASSERT_FALSE(line.Read({"run", "-n", "2", "make", "-n", "--version"}));
  EXPECT_EQ(times, 2);
  EXPECT_THAT(program, ElementsAre("make", "-n", "--version"));
  ASSERT_FALSE(line.Read({"run", "--", "make", "-n", "3"}));
  EXPECT_THAT(program, ElementsAre("make", "-n", "3"));
}

// A tool with commands at two depths, each of which returns its own status.
struct Tool {
  Command line{"tool", "A tool."};
  Tool() {
    line.RequireCommand();
    line.AddCommand("fetch", "Fetches.").Do([] { return 10; });
    Command& remote = line.AddCommand("remote", "Shows remotes.");
    remote.Do([] { return 20; });
    remote.AddCommand("list", "Lists them.");
    remote.AddCommand("add", "Adds one.").Do([] { return 21; });
    line.AddCommand("idle", "Does nothing.");
  }
};

TEST(CommandLine, TheInnermostGivenCommandThatDoesSomethingRuns) {
  const auto run = [](const Arguments& arguments) {
    Tool tool;
    return tool.line.Read(arguments) ? -1 : tool.line.Run();
  };
  EXPECT_EQ(run({"fetch"}), 10);
  EXPECT_EQ(run({"remote"}), 20);
  EXPECT_EQ(run({"remote", "add"}), 21);
  EXPECT_EQ(run({"remote", "list"}), 20) << "the list is what remote does";
  EXPECT_EQ(run({"idle"}), 0);
}

TEST(CommandLine, OneCommandIsRequiredAndTwoAreAMistake) {
  Tool tool;
  EXPECT_THAT(Mistake(tool.line, {}), HasSubstr("subcommand is required"));
  EXPECT_THAT(Mistake(tool.line, {"fetch", "idle"}), HasSubstr("idle"));
  EXPECT_THAT(Mistake(tool.line, {"remote", "add", "list"}), HasSubstr("list"));
  EXPECT_THAT(Help(tool.line), HasSubstr("Usage: tool [OPTIONS] SUBCOMMAND\n"));
  EXPECT_THAT(Help(tool.line, {"remote"}), HasSubstr("Usage: tool remote [OPTIONS] [SUBCOMMAND]\n"));
}

TEST(CommandLine, AMistakeIsWordedWithTheCommandItWasMadeIn) {
  Tool tool;
  tool.line.OnMistake(
      [](const std::string& command, const std::string& problem) { return command + ": " + problem + "\n"; });
  EXPECT_THAT(Mistake(tool.line, {"remote", "add", "--far"}), testing::StartsWith("tool remote add: "));
  EXPECT_THAT(Mistake(tool.line, {}), testing::StartsWith("tool: "));
}

TEST(CommandLine, CommandsAndTheirLongOptionsCanBeListed) {
  Tool tool;
  Arguments names;
  for (const Command& command : tool.line.commands()) names.push_back(command.name());
  EXPECT_THAT(names, ElementsAre("fetch", "remote", "idle"));
  bool flag = false;
  Command line("greet", "Greets.");
  line.AddFlag("-l,--loud,--noisy", &flag, "");
  line.AddFlag("-q", &flag, "");
  EXPECT_THAT(line.OptionNames(), ElementsAre("--help", "--loud", "--noisy"));
}

TEST(CommandLine, CommandsShareTheColumnOfTheHelp) {
  bool flag = false;
  Command narrow("tool", "A tool."), wide("tool", "A tool.");
  wide.HelpColumn(60);
  for (Command* line : {&narrow, &wide}) line->AddCommand("fetch", "Fetches.").AddFlag("--all", &flag, "Everything");
  const auto gap = [](const std::string& help) { return help.find("Everything") - help.find("--all"); };
  EXPECT_EQ(gap(Help(wide, {"fetch"})), gap(Help(narrow, {"fetch"})) + 30);
}

}  // namespace
}  // namespace tutti::command_line
