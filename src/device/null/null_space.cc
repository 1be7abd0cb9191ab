#include "device/null/null_space.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/checked.h"
#include "base/clock.h"
#include "cuda/result.h"
#include "wire/backlog.h"

namespace tutti::device::null {
namespace {

constexpr uint64_t kPage = 4096;
constexpr const char* kNoSharing = "the null device has no memory that could be mapped";

uint64_t LimitOf(const Limits& limits) { return limits.memory_bytes.empty() ? ~0ull : limits.memory_bytes[0]; }

std::vector<std::string> EntryNames(std::string_view text) {
  constexpr std::string_view kEntry = ".entry";
  std::vector<std::string> names;
  for (size_t at = text.find(kEntry); at != text.npos; at = text.find(kEntry, at)) {
    at = std::min(text.find_first_not_of(" \t\n", at + kEntry.size()), text.size());
    size_t end = at;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '$'))
      ++end;
    names.emplace_back(text.substr(at, end - at));
  }
  const bool one_word = std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  if (names.empty() && one_word && !text.empty()) names.emplace_back(text);
  return names;
}

}  // namespace

NullSpace::NullSpace(Window window, const Limits& limits, Sink* sink, MemoryAccount* account)
    : window_(std::move(window)),
      sink_(sink),
      account_(account),
      groups_(limits.memory_groups),
      limit_bytes_(LimitOf(limits)) {}

NullSpace::~NullSpace() { account_->Release(used_bytes_.load(std::memory_order_relaxed), groups_); }

// --- memory: first fit in its part of the window, whole pages

Result<uint64_t> NullSpace::Allocate(uint32_t, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) {
  if (bytes == 0) return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "an allocation needs a size");
  if (bytes > kNullWindow.bytes || alignment > kNullWindow.bytes)
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "more than the device has");
  const uint64_t size = AlignUp(bytes, kPage);
  const uint64_t step = std::max(alignment, kPage);
  const uint64_t border = window_.base() + kNullWindow.host_bytes;
  const bool on_device = kind == wire::MemoryKind::kDevice;
  uint64_t begin = AlignUp(on_device ? border : window_.base(), step);
  for (auto it = taken_.lower_bound(begin); it != taken_.end() && begin + size > it->first; ++it)
    begin = AlignUp(it->second.end, step);
  if (begin + size > (on_device ? window_.base() + kNullWindow.bytes : border))
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "that part of the window is full");
  const bool counted = kind == wire::MemoryKind::kDevice || kind == wire::MemoryKind::kManaged;
  if (counted && !Reserve(size))
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY, "over the client's limit or the device's size");
  taken_[begin] = {.end = begin + size, .counted = counted};
  return begin;
}

Result<uint64_t> NullSpace::Reserve(uint32_t, uint64_t, uint64_t, uint64_t) {
  return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoSharing);
}
Result<std::shared_ptr<SharedMemory>> NullSpace::Share(uint64_t, AtEnd) {
  return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoSharing);
}
Result<std::shared_ptr<SharedMemory>> NullSpace::CreateHostMemory(uint64_t) {
  return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoSharing);
}
Status NullSpace::Map(uint64_t, std::shared_ptr<SharedMemory>, bool) {
  return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoSharing);
}
Status NullSpace::Unmap(uint64_t, uint64_t) { return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, kNoSharing); }

Status NullSpace::Free(uint64_t address) {
  const auto it = taken_.find(address);
  if (it == taken_.end()) return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "no allocation begins there");
  const uint64_t size = it->second.end - address;
  fallocate(window_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(address - window_.base()),
            static_cast<off_t>(size));
  if (it->second.counted) Unreserve(size);
  taken_.erase(it);
  return {};
}

bool NullSpace::Reserve(uint64_t bytes) {
  const uint64_t used = used_bytes_.load(std::memory_order_relaxed);
  if (used + bytes > limit_bytes_.load(std::memory_order_relaxed) ||
      account_->Reserve(bytes, groups_) != MemoryAccount::Answer::kGranted) {
    counters_.Add(metrics::Counter::memory_limit_hits);
    return false;
  }
  CountUse(used + bytes);
  counters_.Add(metrics::Counter::allocations);
  return true;
}

void NullSpace::Unreserve(uint64_t bytes) {
  account_->Release(bytes, groups_);
  CountUse(used_bytes_.load(std::memory_order_relaxed) - bytes);
}

void NullSpace::CountUse(uint64_t bytes) {
  used_bytes_.store(bytes, std::memory_order_relaxed);
  counters_.Set(metrics::Counter::memory_bytes, bytes);
  counters_.Raise(metrics::Counter::memory_peak_bytes, bytes);
  sink_->MemoryUsed(0, bytes);
}

// --- streams

Status NullSpace::CreateStream(uint32_t stream, const StreamOptions&) {
  if (stream == 0 || stream >= wire::kMaxStreams) return Fail(fmt::format("stream number {}", stream));
  if (!streams_.try_emplace(stream).second) return Fail(fmt::format("stream {} exists", stream));
  return {};
}

Status NullSpace::DestroyStream(uint32_t number) {
  const auto it = streams_.find(number);
  if (it == streams_.end()) return Fail(fmt::format("stream {} does not exist", number));
  if (it->second.destroyed) return Fail(fmt::format("stream {} is destroyed already", number));
  it->second.destroyed = true;
  ending_.push_back(number);
  AdvanceAll();
  return {};
}

Status NullSpace::Add(uint32_t number, const Piece& piece) {
  const auto it = streams_.find(number);
  if (it == streams_.end() || it->second.destroyed) return Fail(fmt::format("stream {} does not exist", number));
  if (queued_ >= wire::kMostBacklog)
    return Fail("the client's streams already hold as much unfinished work as they may");
  it->second.queue.push_back(piece);
  ++queued_;
  if (Advance(number, it->second)) AdvanceAll();
  return {};
}

bool NullSpace::Advance(uint32_t number, Stream& stream) {
  const uint64_t before = stream.done;
  for (; !stream.queue.empty(); stream.queue.pop_front(), --queued_) {
    Piece& piece = stream.queue.front();
    if (piece.kind == Kind::kHostCall) {
      if (!piece.reached) sink_->HostCallReached(number, piece.number, 0);
      piece.reached = true;
      break;
    }
    if (piece.kind == Kind::kWait) {
      const auto other = streams_.find(static_cast<uint32_t>(piece.number));
      if (other != streams_.end() && !other->second.queue.empty() &&
          other->second.queue.front().ticket <= piece.other_ticket)
        break;
    }
    if (piece.kind == Kind::kEvent && piece.number != 0)
      sink_->EventReached(static_cast<uint32_t>(piece.number), NowNs());
    stream.done = piece.ticket + 1;
  }
  if (stream.done != before && sink_->Completed(number, stream.done - 1)) sink_->Wake(number);
  return stream.done != before;
}

void NullSpace::AdvanceAll() {
  for (bool moved = queued_ != 0; moved;) {
    moved = false;
    for (auto& [number, stream] : streams_) {
      if (!stream.queue.empty()) moved |= Advance(number, stream);
    }
  }
  std::erase_if(ending_,
                [this](uint32_t number) { return streams_.at(number).queue.empty() && streams_.erase(number) == 1; });
}

Status NullSpace::Launch(uint32_t stream, uint64_t ticket, const Grid&) {
  counters_.Add(metrics::Counter::launches);
  return Add(stream, {.ticket = ticket});
}
Status NullSpace::Copy(uint32_t stream, uint64_t ticket, const wire::CopyBody&) {
  return Add(stream, {.ticket = ticket});
}
Status NullSpace::Fill(uint32_t stream, uint64_t ticket, const wire::FillBody&) {
  return Add(stream, {.ticket = ticket});
}
Status NullSpace::Mark(uint32_t stream, uint64_t ticket) { return Add(stream, {.ticket = ticket}); }

Status NullSpace::FreeInStream(uint32_t stream, uint64_t ticket, uint64_t address) {
  (void)Free(address);
  return Mark(stream, ticket);
}
Status NullSpace::RecordEvent(uint32_t stream, uint64_t ticket, uint32_t event) {
  return Add(stream, {.kind = Kind::kEvent, .ticket = ticket, .number = event});
}
Status NullSpace::Wait(uint32_t stream, uint64_t ticket, uint32_t other_stream, uint64_t other_ticket) {
  // A wait covers only what the other stream had been given by then.
  const auto other = streams_.find(other_stream);
  if (other_stream == stream || other == streams_.end() || other->second.queue.empty()) return Mark(stream, ticket);
  other_ticket = std::min(other_ticket, other->second.queue.back().ticket);
  return Add(stream, {.kind = Kind::kWait, .ticket = ticket, .number = other_stream, .other_ticket = other_ticket});
}
Status NullSpace::HostCall(uint32_t stream, uint64_t ticket, uint64_t token) {
  return Add(stream, {.kind = Kind::kHostCall, .ticket = ticket, .number = token});
}

Status NullSpace::HostCallDone(uint32_t number, uint64_t token) {
  const auto it = streams_.find(number);
  if (it == streams_.end() || it->second.queue.empty()) return {};
  Piece& piece = it->second.queue.front();
  if (!piece.reached || piece.number != token) return {};
  piece = {.ticket = piece.ticket};
  if (Advance(number, it->second)) AdvanceAll();
  return {};
}

// --- modules

Result<Space::LoadedModule> NullSpace::LoadModule(uint32_t, std::span<const uint8_t> image) {
  module::ModuleInfo info;
  for (std::string& name : EntryNames({reinterpret_cast<const char*>(image.data()), image.size()})) {
    info.kernels.push_back({.name = std::move(name), .ptx_version = 80});
  }
  if (info.kernels.empty()) return Fail(cuda::CUDA_ERROR_INVALID_PTX, "the image has no .entry");
  std::lock_guard lock(modules_mutex_);
  modules_[next_module_] = info.kernels.size();
  return LoadedModule{.id = next_module_++, .info = std::move(info), .log = {}};
}

Result<PreparedKernel> NullSpace::Prepare(uint32_t module, uint32_t kernel, const uint32_t*) {
  std::lock_guard lock(modules_mutex_);
  const auto it = modules_.find(module);
  if (it == modules_.end() || kernel >= it->second) {
    return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("module {} has no kernel {}", module, kernel));
  }
  return PreparedKernel{.id = module << 16 | kernel, .local_bytes = 0, .max_threads = 1024};
}

Result<uint32_t> NullSpace::BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads, uint32_t) {
  constexpr uint32_t kWarp = 32;
  const uint32_t none[3] = {};
  TUTTI_TRY(Prepare(module, kernel, none));
  return kNullThreadsPerSm / AlignUp(block_threads, kWarp);
}

Status NullSpace::UnloadModule(uint32_t module) {
  std::lock_guard lock(modules_mutex_);
  if (modules_.erase(module) == 0)
    return Fail(cuda::CUDA_ERROR_INVALID_HANDLE, fmt::format("there is no module {}", module));
  return {};
}

void NullSpace::Reset(uint32_t) {
  for (auto& [number, stream] : streams_) {
    if (stream.queue.empty()) continue;
    stream.done = stream.queue.back().ticket + 1;
    queued_ -= stream.queue.size();
    stream.queue.clear();
    if (sink_->Completed(number, stream.done - 1)) sink_->Wake(number);
  }
}

void NullSpace::SetLimits(const Limits& limits) { limit_bytes_.store(LimitOf(limits), std::memory_order_relaxed); }

}  // namespace tutti::device::null
