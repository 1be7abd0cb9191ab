#include "compiler/link/host_target.h"

#include <gtest/gtest.h>
#include <llvm/Target/TargetMachine.h>

namespace tutti::compiler {
namespace {

TEST(HostTarget, NamesItsFeaturesInOneOrder) {
  const auto a = HostTarget::With("x86-64-v3", {"fma", "avx2"}), b = HostTarget::With("x86-64-v3", {"avx2", "fma"});
  EXPECT_TRUE(a.features.starts_with("+avx2,+fma,-")) << a.features;
  EXPECT_EQ(a.CacheKey(), b.CacheKey());
  EXPECT_EQ(a.level, VectorLevel::kAvx2);
}

TEST(HostTarget, KernelsUseNoRegistersThatAPreemptedBlockWouldLose) {
  const auto target = HostTarget::With("x86-64-v4", {"avx2", "ccmp", "egpr", "ndd", "nf", "push2pop2", "zu"});
  for (const char* feature : {"ccmp", "cf", "egpr", "ndd", "nf", "ppx", "push2pop2", "zu"}) {
    EXPECT_EQ(target.features.find(std::string("+") + feature), std::string::npos) << feature;
    EXPECT_NE(target.features.find(std::string("-") + feature), std::string::npos) << feature;
  }
  EXPECT_TRUE(CreateTargetMachine(target, 2)) << "LLVM knows all of these names";
}

TEST(HostTarget, WhatTheProcessDecidesIsLeftOut) {
  const auto target = HostTarget::With("x86-64-v3", {"avx2", "ibt", "shstk", "uintr"});
  EXPECT_TRUE(target.features.starts_with("+avx2,-")) << target.features;
}

}  // namespace
}  // namespace tutti::compiler
