// A node template of Cast AI, as its API has it: what an autoscaler was told about sharing.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/error.h"
#include "sharing/document.h"

namespace tutti::sharing {

enum class Strategy { kNone, kMps, kTimeSlicing };
const char* StrategyName(Strategy strategy);  // "none", "mps", "time-slicing": as the node label has it

struct NodeTemplate {
  std::string name;           // may be empty
  Strategy strategy = Strategy::kNone;
  int64_t default_clients = 1;                   // of each GPU
  std::map<std::string, int64_t> clients_by_gpu; // GPU name -> clients
  bool taint = false;                            // shouldTaint

  int64_t ClientsOf(const std::string& gpu_name) const;
};

// Takes the whole template (with `gpu` in it) or the `gpu` object's parent alone. Other keys of the template are none
// of our business; those of `gpu` are checked.
Result<NodeTemplate> ReadNodeTemplate(const Value& root);

}  // namespace tutti::sharing
