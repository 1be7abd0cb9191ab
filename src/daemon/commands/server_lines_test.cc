#include "daemon/commands/server_lines.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::daemon::commands {
namespace {

TEST(ServerLines, ObjectsAreReadAndTheRestIsLeftOut) {
  const auto objects = ReadServerLines("{\"uid\":1}\nnothing\n[{\"uid\":2}]\n\n{\"uid\":\n{\"uid\":3,\"block\":[1,2,3]}");
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].dump(), "{\"uid\":1}");
  EXPECT_EQ(objects[1].dump(), "{\"uid\":3,\"block\":[1,2,3]}");
}

// A server that its user has taken over ended root's daemon by it, and with the daemon all servers.
TEST(ServerLines, AMillionBracketsTakeNoStack) {
  constexpr size_t kLevels = 1'000'000;
  const auto objects = ReadServerLines("{\"uid\":1,\"a\":" + std::string(kLevels, '[') + std::string(kLevels, ']') + "}");
  for (const auto& object : objects) {
    const auto copy = object;
    EXPECT_LT(copy.dump().size(), 100u);
  }
}

}  // namespace
}  // namespace tutti::daemon::commands
