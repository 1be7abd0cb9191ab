// Kernels that tests make quick code of.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "compiler/pipeline.h"

namespace tutti::compiler {

// `k`, of an array of one word for each thread (%d0; %d2: this thread's) and a number (%r0); %r1: the thread.
inline std::string Kernel(const std::string& body, const std::string& variables = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + variables +
         ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %d<8>;\n"
         "ld.param.u64 %d0, [out]; ld.param.u32 %r0, [n];\n"
         "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; add.u64 %d2, %d0, %d1;\n" +
         body + "ret;\n}\n";
}

inline CompileOptions Quick(bool for_all = true) {
  return {.quick = true, .quick_for_all = for_all, .target = HostTarget::Detect()};
}

// What the compiler says about a kernel that the server asks quick code of.
inline std::string Obstacle(const std::string& ptx) {
  auto compiler = ImageCompiler::Open({reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()});
  if (!compiler) return compiler.error().text;
  CompileOptions options = Quick(false);
  options.block = {64, 1, 1};
  const auto code = (*compiler)->Compile("k", options);
  if (code) return "";
  EXPECT_NE(code.error().text.find("a thread at a time"), std::string::npos);
  return code.error().text;
}

// Long enough to be worth it.
inline std::string Long() {
  std::string body;
  for (int i = 0; i < 300; ++i) body += "mul.lo.u32 %r3, %r3, %r1; xor.b32 %r3, %r3, %r0;\n";
  return "mov.u32 %r3, %r1;\n" + body + "st.global.u32 [%d2], %r3;\n";
}

}  // namespace tutti::compiler
