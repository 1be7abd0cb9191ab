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
