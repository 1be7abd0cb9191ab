#include "server/descriptor_takers.h"

#include <gtest/gtest.h>

#include <latch>

namespace tutti::server {
namespace {

TEST(DescriptorTakers, AMessageWhoseDescriptorsAreNeverClosedHoldsUpNoOtherParty) {
  DescriptorTakers takers;
  std::latch never(1), others(2), own(1);
  for (size_t i = 0; i < DescriptorTakers::kMostThreads; ++i) takers.Add("user 7", [&] { never.wait(); });
  bool own_ran = false;
  takers.Add("user 7", [&] {
    own_ran = true;
    own.count_down();
  });
  for (const char* const party : {"user 8", "the container /a"}) takers.Add(party, [&] { others.count_down(); });
  others.wait();
  EXPECT_FALSE(own_ran) << "a party has any number of threads";
  never.count_down();
  own.wait();
}

}  // namespace
}  // namespace tutti::server
