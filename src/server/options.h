// The command line of tutti-server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/device.h"
#include "device/gpu/gpu_settings.h"

namespace tutti::server {

struct Options {
  int daemon_socket_fd = -1;  // one of the two is given
  int private_fd = -1;
  int rendezvous_fd = -1;  // where the next daemon comes to; -1: the server ends with its daemon
  std::string log;  // empty: stderr
  std::string device = "cpu";
  device::Policy policy = device::Policy::kShare;
  device::gpu::Isolation isolation = device::gpu::Isolation::kProcess;
  bool trust = false;  // a user's clients may do to each other what isolation `shared` does not keep them from
  double active_thread_percentage = 100;
  uint64_t kernel_time_ms = 0;  // time limit of a kernel; 0: none

  std::string answer;  // not empty: --help or --version was given; print this and exit
};

Result<Options> ParseOptions(const std::vector<std::string>& arguments);

}  // namespace tutti::server
