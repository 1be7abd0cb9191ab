#include "client/context/local_storage.h"

#include <gtest/gtest.h>

namespace tutti::client {
namespace {

TEST(LocalStorage, KeepsOneValuePerKey) {
  LocalStorage storage;
  int a, b, value, other;
  EXPECT_EQ(storage.Get(&a), nullptr);
  EXPECT_TRUE(storage.Put(&a, &value, nullptr));
  EXPECT_TRUE(storage.Put(&b, &other, nullptr));
  EXPECT_EQ(storage.Get(&a), &value);
  EXPECT_TRUE(storage.Put(&a, &other, nullptr));
  EXPECT_EQ(storage.Get(&a), &other);
  EXPECT_TRUE(storage.Erase(&a));
  EXPECT_FALSE(storage.Erase(&a));
  EXPECT_EQ(storage.Get(&a), nullptr);
  EXPECT_EQ(storage.Get(&b), &other);
  EXPECT_EQ(storage.Get(nullptr), nullptr);
  EXPECT_FALSE(storage.Put(nullptr, &value, nullptr));
}

TEST(LocalStorage, ClearCallsTheDestructorsOnce) {
  LocalStorage storage;
  int key, calls = 0;
  storage.Put(&key, &calls, [](cuda::CUcontext, void*, void* value) { ++*static_cast<int*>(value); });
  storage.Clear(nullptr);
  storage.Clear(nullptr);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(storage.Get(&key), nullptr);
}

TEST(LocalStorage, RefusesMoreKeysThanItHolds) {
  LocalStorage storage;
  static char keys[65];
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(storage.Put(&keys[i], keys, nullptr));
  EXPECT_FALSE(storage.Put(&keys[64], keys, nullptr));
  EXPECT_TRUE(storage.Erase(&keys[10]));
  EXPECT_TRUE(storage.Put(&keys[64], keys, nullptr));
}

}  // namespace
}  // namespace tutti::client
