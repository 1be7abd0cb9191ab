// The device code inside a library of the host: its fat binaries.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace tutti::gpu {

struct DeviceCode {
  uint64_t units = 0;           // fat binaries
  uint64_t units_with_ptx = 0;  // of them
  uint64_t texts = 0, cubins = 0;
  bool names_complete = true;   // there was time for all texts
  std::set<std::string> kernels;  // with PTX: their full names
};
// None: the file has no device code, or is no library. Names are collected if asked for, until `deadline_ns`.
std::optional<DeviceCode> ReadDeviceCode(const std::string& library, bool names, uint64_t deadline_ns);

// As in the source: "void at::native::f<4>(int)". What is not mangled stays.
std::string FullName(const std::string& kernel);
// Of a full name "at::native::f": without what kernels are templates of.
std::string BareName(const std::string& kernel);

}  // namespace tutti::gpu
