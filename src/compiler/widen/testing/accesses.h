// What tests of loads and stores have in common: addresses as text, and kernels that are looked at and run.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "compiler/widen/testing/test_kernel.h"

namespace tutti::compiler {

// An address as `global` memory.
inline std::string Address(const std::string& name, const std::string& base, const std::string& index, int shift) {
  return "  %" + name + "w = zext i32 " + index + " to i64\n  %" + name + "b = shl i64 %" + name + "w, " +
         std::to_string(shift) + "\n  %" + name + "a = add i64 " + base + ", %" + name + "b\n  %" + name +
         " = inttoptr i64 %" + name + "a to ptr addrspace(1)\n";
}

// For AVX-512.
inline std::string Wide(const std::string& ir, TestTarget target) {
  target.target = HostTarget::Named("x86-64-v4");
  auto text = WidenText(ir, target);
  return text ? *text : text.error().text;
}

inline GridResult RunOn(const std::string& ir, const TestTarget& target, GridLaunch launch) {
  auto kernel = BuildWarps(ir, target);
  EXPECT_TRUE(kernel) << kernel.error().text;
  return kernel ? RunGrid(kernel->descriptor(), launch) : GridResult{};
}

}  // namespace tutti::compiler
