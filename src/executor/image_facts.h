// What a driver does not tell of a module, but its image does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "module/module_info.h"

namespace tutti::executor {

struct ImageFacts {
  std::map<std::string, bool> variables;  // that a program may name; true: it is managed
  // The rules of its blocks and clusters (required_block, required_cluster, max_cluster, cluster_must_be_set), of those
  // kernels of which there is PTX.
  std::map<std::string, module::KernelInfo> kernels;
  // Variables that lie elsewhere (guest/gpu/managed_variables.h), and their alignment.
  std::map<std::string, uint64_t> managed;
  std::set<std::string> numbered;  // kernels of which the last parameter is guest::kLaunchParameter
  bool sets_conditions = false;  // of graphs of the driver's own
  bool prints = false;  // kernels of it call printf or assert
  uint64_t state = 0;  // ModuleState: what they may leave in the context
  // What its variables take of the device's memory, by the sizes in PTX and in machine code, but for what Tutti has put
  // there. At most the largest number. 0 of a text that is not read.
  uint64_t variable_bytes = 0;
  bool is_unread = false;  // machine code for the device, or PTX, is not read
};

// For a device of that capability (90 for 9.0; 0: any).
ImageFacts FactsOf(std::span<const uint8_t> image, uint32_t capability = 0);

// The image's PTX, as a device runs it that has managed variables and graphs' conditions elsewhere than the driver, of
// that capability (90 for 9.0). Nothing: it has none of these, or no text of which that can be made.
std::optional<std::string> TextForDevice(std::span<const uint8_t> image, uint32_t capability);

}  // namespace tutti::executor
