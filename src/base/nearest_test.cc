#include "base/nearest.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

const std::vector<std::string> kWords{"uid", "allowed_devices", "pinned_memory_limit", "client_priority"};

TEST(Nearest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(Nearest("pined_memory_limit", kWords), "pinned_memory_limit");
  EXPECT_EQ(Nearest("client_prioirty", kWords), "client_priority");
  EXPECT_EQ(Nearest("memory_limit", kWords), "");
  EXPECT_EQ(Nearest("CLIENT_prioritY", kWords), "client_priority");
  EXPECT_EQ(Nearest("udi", kWords), "uid");
}

TEST(Nearest, AnAbbreviationIsNearerThanAShorterWord) {
  const std::vector<std::string> words{"gpu", "gpuMemory"};
  EXPECT_EQ(Nearest("gpumem", words), "gpuMemory");
}

TEST(Nearest, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(Nearest("colour", kWords), "");
  EXPECT_EQ(Nearest("", kWords), "");
  EXPECT_EQ(Nearest("uid", std::vector<std::string>{}), "");
  EXPECT_EQ(Nearest(std::string(10000, 'x'), kWords), "");
}

}  // namespace
}  // namespace tutti
