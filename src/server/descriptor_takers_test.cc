#include "server/descriptor_takers.h"

#include <gtest/gtest.h>

#include <latch>
#include <memory>

namespace tutti::server {
namespace {

TEST(DescriptorTakers, AMessageWhoseDescriptorsAreNeverClosedHoldsUpNoOtherParty) {
  DescriptorTakers takers;
  std::latch others(2), own(1);
  const auto never = std::make_shared<std::latch>(1);  // which its threads look at until after the test
  for (size_t i = 0; i < DescriptorTakers::kMostThreads; ++i) takers.Add("user 7", [never] { never->wait(); });
  bool own_ran = false;
  takers.Add("user 7", [&] {
    own_ran = true;
    own.count_down();
  });
  for (const char* const party : {"user 8", "the container /a"}) takers.Add(party, [&] { others.count_down(); });
  others.wait();
  EXPECT_FALSE(own_ran) << "a party has any number of threads";
  EXPECT_EQ(takers.held("user 7"), DescriptorTakers::kMostThreads + 1);
  never->count_down();
  own.wait();
}

}  // namespace
}  // namespace tutti::server
