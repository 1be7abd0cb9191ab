// Chooses a container's replicas: `distributed` takes them from the device with the fewest in use, `packed` from the
// one with the most; equal devices take turns.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tutti::kubernetes {

class AllocationPolicy {
 public:
  // `total`: the number of replicas of each device, by UUID.
  AllocationPolicy(bool packed, std::map<std::string, int64_t> total) : packed_(packed), total_(std::move(total)) {}

  // Chooses `size` of `available`, including `must_include`. Fails if that is impossible.
  Result<std::vector<std::string>> Prefer(const std::vector<std::string>& available,
                                          const std::vector<std::string>& must_include, int size);

 private:
  bool packed_;
  std::map<std::string, int64_t> total_;
  std::map<std::string, uint64_t> last_turn_;
  uint64_t turn_ = 0;
};

}  // namespace tutti::kubernetes
