#include "device/compile/code_replacement.h"

#include <algorithm>
#include <utility>

#include "device/compile/code_source.h"

namespace tutti::device {

bool MayReplace(const guest::KernelDescriptor& code, const guest::KernelDescriptor& other) {
  return code.param_bytes == other.param_bytes && code.static_shared_bytes == other.static_shared_bytes &&
         std::equal(code.block, code.block + 3, other.block);
}

void CodeReplacement::Await(const LoadedCode& quick, const std::weak_ptr<CodeTaker>& taker) {
  const auto told = taker.lock();
  if (told == nullptr) return;
  LoadedCode code;
  {
    const std::lock_guard lock(mutex_);
    if (!arrived_) {
      std::erase_if(takers_, [](const auto& other) { return other.expired(); });
      const auto is_told = [&](const auto& other) { return !other.owner_before(told) && !told.owner_before(other); };
      if (std::ranges::none_of(takers_, is_told)) takers_.push_back(taker);
      return;
    }
    code = code_.lock();
  }
  told->TakeCode(quick, code);
}

void CodeReplacement::Arrive(const LoadedCode& quick, const LoadedCode& code) {
  std::vector<std::weak_ptr<CodeTaker>> takers;
  {
    const std::lock_guard lock(mutex_);
    arrived_ = true;
    code_ = code;
    takers = std::move(takers_);
  }
  for (const auto& taker : takers) {
    if (const auto told = taker.lock()) told->TakeCode(quick, code);
  }
}

}  // namespace tutti::device
