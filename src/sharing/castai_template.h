// A node template of Cast AI, in its API's format: an autoscaler's configuration of sharing.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/error.h"
#include "sharing/document.h"

namespace tutti::sharing {

enum class Strategy { kNone, kMps, kTimeSlicing };
const char* StrategyName(Strategy strategy);  // "none", "mps", "time-slicing": as in the node label

struct NodeTemplate {
  std::string name;           // may be empty
  Strategy strategy = Strategy::kNone;
  int64_t default_clients = 1;                   // per GPU
  std::map<std::string, int64_t> clients_by_gpu; // GPU name -> clients
  bool taint = false;                            // shouldTaint

  int64_t ClientsOf(const std::string& gpu_name) const;
};

// Accepts the whole template (with `gpu` in it) or the `gpu` object's parent alone. Ignores other keys of the template;
// checks those of `gpu`.
Result<NodeTemplate> ReadNodeTemplate(const Value& root);

}  // namespace tutti::sharing
