#include <gtest/gtest.h>

#define NVML_OWN(name) extern "C" int name();
#define NVML_NONE(name) extern "C" int name();
#include "nvml/functions.def"
#undef NVML_OWN
#undef NVML_NONE

namespace {

constexpr int kUninitialized = 1;

// A row without a body does not link.
TEST(Exports, EveryFunctionOfTheTableHasABody) {
  unsigned count = 0;
#define NVML_OWN(name) count += &name != nullptr;
#define NVML_NONE NVML_OWN
#include "nvml/functions.def"
#undef NVML_OWN
#undef NVML_NONE
  EXPECT_GT(count, 400u);
}

TEST(Exports, WhatIsNotSupportedNeedsTheLibraryInitialisedToo) {
#define NVML_OWN(name)
#define NVML_NONE(name) EXPECT_EQ(name(), kUninitialized) << #name;
#include "nvml/functions.def"
}

}  // namespace
