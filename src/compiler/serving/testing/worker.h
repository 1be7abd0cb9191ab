// A worker program as the device starts it: a process with a socket as descriptor 3.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/protocol/compile_protocol.h"
#include "os/fd.h"

namespace tutti::compiler {

class WorkerTest : public testing::Test {
 protected:
  // A kernel that works, one that does not, and a variable.
  static constexpr const char* kModule = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 7;
.visible .entry fill(.param .u64 out, .param .u32 value) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
.visible .entry broken() {
  frobnicate.u32 %r1, %r2;
}
)";

  explicit WorkerTest(const char* program) : program_(program) {}
  void SetUp() override;
  // The worker must have ended cleanly, unless `expect_clean_end_` is false.
  void TearDown() override;

  void Send(const CompileRequest& request, const std::string& image);
  struct Answer {
    CompileReply reply;  // status -1: the worker has closed its socket
    std::vector<uint8_t> bytes;
  };
  Answer Receive();
  Answer Ask(const CompileRequest& request, const std::string& image);

  const char* const program_;
  os::Fd socket_, result_;
  pid_t process_ = -1;
  bool expect_clean_end_ = true;
};

}  // namespace tutti::compiler
