#include "daemon/commands/server_lines.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::daemon::commands {
namespace {

TEST(ServerLines, ObjectsAreReadAndTheRestIsLeftOut) {
  const auto objects =
      ReadServerLines("{\"uid\":1}\nnothing\n[{\"uid\":2}]\n\n{\"uid\":\n{\"uid\":3,\"block\":[1,2,3]}");
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].dump(), "{\"uid\":1}");
  EXPECT_EQ(objects[1].dump(), "{\"uid\":3,\"block\":[1,2,3]}");
}

// A server that its user has taken over ended root's daemon by it, and with the daemon all servers.
TEST(ServerLines, AMillionBracketsTakeNoStack) {
  constexpr size_t kLevels = 1'000'000;
  const auto objects =
      ReadServerLines("{\"uid\":1,\"a\":" + std::string(kLevels, '[') + std::string(kLevels, ']') + "}");
  for (const auto& object : objects) {
    const auto copy = object;
    EXPECT_LT(copy.dump().size(), 100u);
  }
}

// Each would take a moment of the thread that serves everybody.
TEST(ServerLines, OfAnEndlessTextTheLatestIsRead) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += "{}\n";
  EXPECT_LE(ReadServerLines(text).size(), 4096u);
  text.clear();
  for (int i = 0; text.size() < 2 << 20; ++i) text += "{\"a\":" + std::string(1000, '7') + "}\n";
  text += "{\"last\":1}\n";
  const auto objects = ReadServerLines(text);
  EXPECT_LE(objects.size(), 600u);
  EXPECT_EQ(objects.back().dump(), "{\"last\":1}");
}

}  // namespace
}  // namespace tutti::daemon::commands
