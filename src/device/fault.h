// A fault: why a client's work on a device has failed for good.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::device {

// Empty or zero fields are unknown. Names and paths come from the client's own code.
struct Fault {
  int32_t status = 0;  // the sticky CUresult
  std::string report;  // all of it in one line, for the log
  std::string kernel;
  bool has_block = false;
  bool has_thread = false;
  bool has_address = false;
  uint32_t block[3] = {};
  uint32_t thread[3] = {};
  uint64_t address = 0;
  uint64_t allocation = 0;  // the nearest one of this client
  uint64_t allocation_bytes = 0;
  uint32_t ptx_line = 0;
  std::string source_file;  // where the PTX has line information
  uint32_t source_line = 0;
};

}  // namespace tutti::device
