#include "device/memory_account.h"

#include <gtest/gtest.h>

namespace tutti::device {
namespace {

using Answer = MemoryAccount::Answer;

TEST(MemoryAccount, BesideWhatIsThereAlreadyNothingIsGrantedThatHasNoRoom) {
  const auto group = std::make_shared<MemoryGroup>("a", 0);
  group->hard_bytes = 50;
  MemoryAccount account(100);
  EXPECT_EQ(account.Reserve(40, {group}), Answer::kGranted);
  account.Take(70, {group});
  EXPECT_EQ(account.used_bytes(), 110u);
  EXPECT_EQ(account.device_bytes(), 100u) << "of which the device has no more";
  EXPECT_EQ(account.Reserve(1, {group}), Answer::kGroupFull);
  EXPECT_EQ(account.Reserve(1, {}), Answer::kDeviceFull);
  account.Release(70, {group});
  EXPECT_EQ(account.Reserve(10, {group}), Answer::kGranted);
  EXPECT_EQ(account.Reserve(50, {}), Answer::kGranted);
}

}  // namespace
}  // namespace tutti::device
