#include "control/configuration.h"

#include <gtest/gtest.h>

namespace tutti::control {
namespace {

constexpr const char* kGood = R"(
schema_version = "1.0"
[servers.training]
uid = 1000
allowed_devices = "0,1"
pinned_memory_limit = "4G"
active_thread_percentage = "50"
[servers.training.namespaces.batch]
client_priority = "1"
active_thread_percentage = 12.5
[[servers.training.devices]]
uuid = "GPU-1234abcd"
[[servers.training.devices.sm_partitions]]
name = "large"
chunks = 2
include_remainder = true
[servers.inference]
locality_domains = false
[features.memacct]
enabled = true
audit_log = true
[features.context-share]
enabled = false
default_socket = "on"
)";

TEST(Configuration, IsReadWhole) {
  const auto read = ParseConfiguration(kGood, "x.toml");
  ASSERT_TRUE(read) << read.error().text;
  ASSERT_EQ(read->servers.size(), 2u);
  const ConfiguredServer& training = read->servers[1];
  EXPECT_EQ(training.name, "training");
  EXPECT_EQ(training.uid, 1000u);
  EXPECT_EQ(training.namespaces.at("default").active_thread_percentage, 50.0);
  EXPECT_EQ(training.namespaces.at("default").memory_limits.Of(1, "GPU-x"), 4ull << 30);
  EXPECT_EQ(training.namespaces.at("batch").client_priority, 1);
  ASSERT_EQ(training.partitions.size(), 1u);
  EXPECT_EQ(training.partitions[0].device, "GPU-1234abcd");
  EXPECT_TRUE(training.partitions[0].include_remainder);
  EXPECT_EQ(read->audit_log, true);
  EXPECT_EQ(read->context_share, false);
}

TEST(Configuration, AMistakeIsAnsweredWithItsLineAndWhatWasMeant) {
  const std::pair<const char*, const char*> cases[] = {
      {"[servers.a]\npined_memory_limit = \"1G\"\n",
       "x.toml:2: key \"pined_memory_limit\" is unknown in [servers.a]: did you mean \"pinned_memory_limit\"?"},
      {"[servers.a]\ncolour = 1\n", "x.toml:2: key \"colour\" is unknown in [servers.a]"},
      {"[server.a]\n", "x.toml:1: key \"server\" is unknown in the file: did you mean \"servers\"?"},
      {"[servers.A]\n", "x.toml:1: server name \"A\" is not allowed"},
      {"[servers.a]\nuid = -1\n", "x.toml:2: uid is -1: a number from 0 to"},
      {"[servers.a]\nuid = \"me\"\n", "x.toml:2: uid must be a whole number"},
      {"[servers.a]\npinned_memory_limit = \"4X\"\n",
       "x.toml:2: pinned_memory_limit: memory limit \"4X\" is not a size"},
      {"[servers.a]\nactive_thread_percentage = 101\n", "x.toml:2: active_thread_percentage: "},
      {"[servers.a]\nlocality_domains = true\n", "x.toml:2: locality_domains: no device here has locality domains"},
      {"[servers.a]\nnamespaces = 3\n", "x.toml:2: namespaces must be a table of tables"},
      {"[servers.a.namespaces.b]\nuid = 1\n", "x.toml:2: key \"uid\" is unknown in [servers.a.namespaces.b]"},
      {"[[servers.a.devices]]\n", "x.toml:1: [[servers.a.devices]] needs a key \"uuid\""},
      {"[[servers.a.devices]]\nuuid = \"GPU-12\"\n[[servers.a.devices.sm_partitions]]\nname = \"p\"\n",
       "needs a key \"chunks\""},
      {"schema_version = \"2.0\"\n", "x.toml:1: schema_version: \"2.0\" is unknown"},
      {"a = \n", "x.toml:1: "},
      {"[features.memacct]\naudit = true\n", "x.toml:2: key \"audit\" is unknown in [features.memacct]"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto read = ParseConfiguration(text, "x.toml");
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text.find(wanted), std::string::npos) << read.error().text << "\nwanted " << wanted;
  }
}

// What the reader of TOML itself has stumbled over, or may.
TEST(Configuration, NoFileEndsTheDaemon) {
  const std::string deep = [] {
    std::string names = "a";
    for (int i = 0; i < 300'000; ++i) names += ".a";
    return names;
  }();
  // clang-format off
  const std::string cases[] = {
      "\xc2\xa0= 1\n", "a\xe2\x80\x83= 1\n", "[\xe3\x80\x80]\n", "\xff\xfe\n", "a = \xc2\xa0\n", "a = 1\xc2\xa0\n",
      std::string("\0 = 1\n", 6), "a\r= 1\n", "a = 1\x01\n", "\x7f", "[.a]\n", "[a.]\n", "[a", "[[a", "[[", "[", "a.",
      "a.=1\n", ".a=1\n", "a = [", "a = {", "a = {b", "a = {b.", "a = {,}\n", "a = \"", "a = '''", "\"", "'",
      "a = \"\\", "a = \"\\u12", "= 1\n", "a = _1\n", "a = 1__0\n", "a = 0x\n", "a = +\n", "a = 1e\n", "a = 1979-\n",
      "a = 1979-05-27T\n", "a = inf_\n", "a = tru\n", std::string(5000, '['), "a = " + std::string(5000, '['),
      "a = " + std::string(5000, '{'), deep + " = 1\n", "[" + deep + "]\n", std::string(2 << 20, ' ')};
  // clang-format on
  for (const std::string& text : cases) {
    const auto read = ParseConfiguration(text, "x.toml");
    ASSERT_FALSE(read) << text.substr(0, 40);
    EXPECT_TRUE(read.error().text.starts_with("x.toml")) << read.error().text;
  }
}

TEST(Configuration, CommentsMaySayAnything) {
  const auto read = ParseConfiguration(
      "\xef\xbb\xbf# gr\xc3\xbc\xc3\x9f dich, \xff und \xe2\x80\x83\r\n[servers.a] # \xc2\xa0\r\n", "x.toml");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->servers.at(0).name, "a");
}

TEST(Configuration, AnEmptyFileChangesNothing) { EXPECT_TRUE(ParseConfiguration("", "x.toml")->servers.empty()); }

}  // namespace
}  // namespace tutti::control
