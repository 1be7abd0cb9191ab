#include "nvidia_smi/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::nvidia_smi {
namespace {

using What = Options::What;
using testing::ElementsAre;

Options Read(const std::vector<std::string>& words) {
  auto options = ReadOptions(words);
  EXPECT_TRUE(options) << testing::PrintToString(words) << ": " << (options ? "" : options.error());
  return options.value_or(Options());
}

TEST(Options, AreTakenInNvidiasForms) {
  EXPECT_EQ(Read({}).what, What::kTable);
  EXPECT_EQ(Read({"-L"}).what, What::kList);
  EXPECT_EQ(Read({"--list-gpus"}).what, What::kList);
  EXPECT_THAT(Read({"-i", "0,1"}).ids, ElementsAre("0", "1"));
  EXPECT_THAT(Read({"--id=GPU-1"}).ids, ElementsAre("GPU-1"));
  EXPECT_THAT(Read({"-q", "-d", "memory,PIDS"}).sections, ElementsAre("MEMORY", "PIDS"));
  const Options query = Read({"--query-gpu=name, memory.total", "--format=csv,noheader", "-lms", "250"});
  EXPECT_EQ(query.what, What::kQueryGpu);
  EXPECT_THAT(query.fields, ElementsAre("name", "memory.total"));
  EXPECT_EQ(query.format, "csv,noheader");
  EXPECT_EQ(query.loop_ms, 250u);
  EXPECT_EQ(Read({"-l"}).loop_ms, 5000u);
  EXPECT_EQ(Read({"-l", "2", "-L"}).loop_ms, 2000u);
  EXPECT_EQ(Read({"-l", "86400"}).loop_ms, 86'400'000u);
  EXPECT_EQ(Read({"topo", "-m"}).what, What::kTopology);
  const Options monitor = Read({"dmon", "-c", "3", "-d", "2"});
  EXPECT_EQ(monitor.what, What::kDevices);
  EXPECT_EQ(monitor.times, 3u);
  EXPECT_EQ(monitor.loop_ms, 2000u);
  EXPECT_EQ(Read({"dmon", "-s", "u"}).groups, "u");
  EXPECT_EQ(Read({"pmon"}).groups, "um");
  EXPECT_FALSE(ReadOptions({"pmon", "-s", "p"}));
}

TEST(Options, AValueMayFollowAShortNameWithAnEqualsSign) {
  const Options one = Read({"-i=0", "-L"});
  EXPECT_EQ(one.what, What::kList);
  EXPECT_THAT(one.ids, ElementsAre("0"));
  EXPECT_EQ(Read({"-c=3"}).compute_mode, 3);
  EXPECT_THAT(Read({"-q", "-d=MEMORY"}).sections, ElementsAre("MEMORY"));
}

TEST(Options, ComputeModesHaveNamesAndNumbers) {
  for (const auto& [word, mode] :
       {std::pair("0", 0), {"DEFAULT", 0}, {"1", 1}, {"2", 2}, {"prohibited", 2}, {"3", 3}, {"EXCLUSIVE_PROCESS", 3}}) {
    const Options options = Read({"-c", word});
    EXPECT_EQ(options.what, What::kSetMode) << word;
    EXPECT_EQ(options.compute_mode, mode) << word;
  }
  EXPECT_EQ(Read({"--compute-mode=3"}).compute_mode, 3);
}

TEST(Options, MistakesAreSaid) {
  const std::vector<std::vector<std::string>> mistakes = {
      {"--no-such-option"},  {"nonsense"}, {"-c"},         {"-c", "4"},         {"-i"},         {"-i", ","},
      {"-q", "-d", "CLOCK"}, {"topo"},     {"topo", "-p"}, {"dmon", "-c", "x"}, {"dmon", "-q"}, {"--query-gpu="},
      {"--loop=soon"},       {"-f"},       {""},           {"-l", "86401"}};
  for (const auto& words : mistakes) {
    const auto options = ReadOptions(words);
    ASSERT_FALSE(options) << testing::PrintToString(words);
    EXPECT_TRUE(options.error().ends_with('\n')) << testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace tutti::nvidia_smi
