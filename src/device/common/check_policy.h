// Refuses policies that a device cannot be shared by.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "base/error.h"
#include "cuda/result.h"
#include "device/policy.h"

namespace tutti::device {

// NOT_SUPPORTED if `policy` is none of `known`, with their names.
inline Status CheckPolicy(Policy policy, std::span<const Policy> known) {
  if (std::ranges::find(known, policy) != known.end()) return {};
  std::string names;
  for (const Policy one : known) names += (names.empty() ? "" : ", ") + std::string(PolicyName(one));
  return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED,
              "the device cannot be shared by policy \"" + std::string(PolicyName(policy)) + "\": give " + names);
}

}  // namespace tutti::device
