#include "client/copy/staging.h"

#include <algorithm>
#include <bit>

#include "client/memory/memory.h"

namespace tutti::client {

Staging& Staging::Get() {
  static auto* const instance = new Staging;
  return *instance;
}

std::optional<Staging::Block> Staging::Take(Context& context, uint64_t bytes) {
  const uint64_t wanted = std::max<uint64_t>(std::bit_ceil(bytes), 64 * 1024);
  {
    std::lock_guard lock(mutex_);
    const auto fits = [&](const Resting& r) { return r.block.bytes >= wanted && r.last.Reached(); };
    if (const auto it = std::ranges::find_if(resting_, fits); it != resting_.end()) {
      const Block block = it->block;
      resting_.erase(it);
      return block;
    }
    if (held_bytes_ + wanted > kMostBytes) return std::nullopt;
    held_bytes_ += wanted;
  }
  const auto address = AskForMemory(context, wire::MemoryKind::kScratch, wanted);
  if (address) return Block{*address, wanted};
  std::lock_guard lock(mutex_);
  held_bytes_ -= wanted;
  return std::nullopt;
}

void Staging::StartAgain() {
  std::lock_guard lock(mutex_);
  resting_.clear();
  held_bytes_ = 0;
}

void Staging::GiveBack(const Block& block, const StreamMark& last) {
  std::lock_guard lock(mutex_);
  resting_.push_back({block, last});
}

}  // namespace tutti::client
