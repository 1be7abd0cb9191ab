#include "device/cpu/memory/fresh_memory.h"

#include <gtest/gtest.h>

#include "device/cpu/memory/huge_pages.h"

namespace tutti::device::cpu {
namespace {

constexpr uint64_t kPage = kHugePageBytes, kFirst = 100 * kPage, kSecond = 200 * kPage;

std::optional<uint64_t> MakeNext(FreshMemory* fresh) {
  const auto page = fresh->Next(FreshMemory::kRestNs);
  EXPECT_EQ(fresh->Made(), std::nullopt);
  return page;
}

TEST(FreshMemory, GetsPagesThatAreOneAllocationsAloneInOrder) {
  FreshMemory fresh;
  fresh.Add(kFirst + 4096, 3 * kPage, 0);
  fresh.Add(kSecond, kPage - 4096, 0);
  fresh.Add(kSecond, kPage, 0);
  EXPECT_EQ(MakeNext(&fresh), kFirst + kPage);
  EXPECT_EQ(MakeNext(&fresh), kFirst + 2 * kPage);
  EXPECT_EQ(MakeNext(&fresh), kSecond);
  EXPECT_TRUE(fresh.empty());
  EXPECT_EQ(MakeNext(&fresh), std::nullopt);
}

TEST(FreshMemory, GetsNoMoreThanSome) {
  FreshMemory fresh;
  fresh.Add(kFirst, uint64_t{10} << 30, 0);
  uint64_t bytes = 0;
  while (MakeNext(&fresh)) bytes += kPage;
  EXPECT_EQ(bytes, FreshMemory::kMostBytes);
}

TEST(FreshMemory, RestsBeforeItGetsAny) {
  FreshMemory fresh;
  fresh.Add(kFirst, kPage, 1000);
  EXPECT_EQ(fresh.Next(1000 + FreshMemory::kRestNs - 1), std::nullopt);
  EXPECT_FALSE(fresh.empty());
  EXPECT_EQ(fresh.Next(1000 + FreshMemory::kRestNs), kFirst);
}

TEST(FreshMemory, GetsNoneOnceItIsFreed) {
  FreshMemory fresh;
  fresh.Add(kFirst, 4 * kPage, 0);
  fresh.Add(kSecond, kPage, 0);
  MakeNext(&fresh);
  fresh.Forget(kFirst);
  EXPECT_TRUE(fresh.MayGo(kFirst));
  EXPECT_EQ(MakeNext(&fresh), kSecond);
  EXPECT_TRUE(fresh.empty());
}

TEST(FreshMemory, SaysThatAPageMayComeBehindWhatFreesIt) {
  FreshMemory fresh;
  fresh.Add(kFirst, 4 * kPage, 0);
  fresh.Add(kSecond, kPage, 0);
  fresh.Next(FreshMemory::kRestNs);
  EXPECT_FALSE(fresh.Forget(kSecond));
  EXPECT_TRUE(fresh.Forget(kFirst));
  fresh.Made();
  EXPECT_FALSE(fresh.Forget(kFirst));
}

TEST(FreshMemory, GoesBehindThePageThatIsBeingMade) {
  FreshMemory fresh;
  fresh.Add(kFirst, 4 * kPage, 0);
  fresh.Add(kSecond, kPage, 0);
  fresh.Next(FreshMemory::kRestNs);
  fresh.Forget(kFirst);
  EXPECT_TRUE(fresh.MayGo(kSecond));
  EXPECT_FALSE(fresh.MayGo(kFirst));
  EXPECT_TRUE(fresh.is_freed());
  EXPECT_EQ(fresh.Made(), kFirst);
  EXPECT_FALSE(fresh.is_freed());
  EXPECT_TRUE(fresh.MayGo(kFirst));
  EXPECT_EQ(MakeNext(&fresh), kSecond);
}

}  // namespace
}  // namespace tutti::device::cpu
