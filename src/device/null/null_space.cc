#include "device/null/null_space.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/checked.h"
#include "base/clock.h"

namespace tutti::device {
namespace {

constexpr int kInvalidValue = 1;     // CUDA_ERROR_INVALID_VALUE
constexpr int kOutOfMemory = 2;      // CUDA_ERROR_OUT_OF_MEMORY
constexpr int kInvalidPtx = 218;     // CUDA_ERROR_INVALID_PTX
constexpr int kInvalidHandle = 400;  // CUDA_ERROR_INVALID_HANDLE
constexpr uint64_t kPage = 4096;

uint64_t LimitOf(const Limits& limits) { return limits.memory_bytes.empty() ? ~0ull : limits.memory_bytes[0]; }

std::vector<std::string> EntryNames(std::string_view text) {
  constexpr std::string_view kEntry = ".entry";
  std::vector<std::string> names;
  for (size_t at = text.find(kEntry); at != text.npos; at = text.find(kEntry, at)) {
    at = std::min(text.find_first_not_of(" \t\n", at + kEntry.size()), text.size());
    size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '$')) ++end;
    names.emplace_back(text.substr(at, end - at));
  }
  return names;
}

}  // namespace

NullSpace::NullSpace(uint64_t window_base, int window_fd, const Limits& limits, Sink* sink, std::atomic<uint64_t>* used_by_all)
    : base_(window_base), fd_(window_fd), sink_(sink), used_by_all_(used_by_all), limit_bytes_(LimitOf(limits)) {}

NullSpace::~NullSpace() { used_by_all_->fetch_sub(used_bytes_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

// --- memory: first fit, whole pages

Result<uint64_t> NullSpace::Allocate(uint32_t, wire::MemoryKind, uint64_t bytes, uint64_t alignment) {
  if (bytes > kNullWindowBytes || alignment > kNullWindowBytes) return Fail(kOutOfMemory, "more than the device has");
  const uint64_t size = AlignUp(std::max<uint64_t>(bytes, 1), kPage);
  if (used_bytes_.load(std::memory_order_relaxed) + size > limit_bytes_.load(std::memory_order_relaxed)) {
    return Fail(kOutOfMemory, "over the client's limit");
  }
  const uint64_t step = std::max(alignment, kPage);
  uint64_t begin = AlignUp(base_ + kPage, step);
  for (const auto& [taken_begin, taken_end] : taken_) {
    if (begin + size <= taken_begin) break;
    begin = AlignUp(std::max(begin, taken_end), step);
  }
  if (begin + size > base_ + kNullWindowBytes) return Fail(kOutOfMemory, "the device is full");
  taken_[begin] = begin + size;
  used_bytes_.fetch_add(size, std::memory_order_relaxed);
  used_by_all_->fetch_add(size, std::memory_order_relaxed);
  CountMemory();
  return begin;
}

Status NullSpace::Free(uint64_t address) {
  const auto it = taken_.find(address);
  if (it == taken_.end()) return Fail(kInvalidValue, "no allocation begins there");
  const uint64_t size = it->second - it->first;
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(address - base_), static_cast<off_t>(size));
  taken_.erase(it);
  used_bytes_.fetch_sub(size, std::memory_order_relaxed);
  used_by_all_->fetch_sub(size, std::memory_order_relaxed);
  CountMemory();
  return {};
}

void NullSpace::CountMemory() { sink_->MemoryUsed(0, used_bytes_.load(std::memory_order_relaxed)); }

// --- streams

Status NullSpace::CreateStream(uint32_t stream, const StreamOptions&) {
  if (!streams_.try_emplace(stream).second) return Fail(fmt::format("stream {} exists", stream));
  return {};
}

Status NullSpace::DestroyStream(uint32_t number) {
  const auto it = streams_.find(number);
  if (it == streams_.end()) return Fail(fmt::format("stream {} does not exist", number));
  it->second.destroyed = true;
  AdvanceAll();
  return {};
}

Status NullSpace::Add(uint32_t number, const Piece& piece) {
  const auto it = streams_.find(number);
  if (it == streams_.end() || it->second.destroyed) return Fail(fmt::format("stream {} does not exist", number));
  it->second.queue.push_back(piece);
  if (Advance(number, it->second)) AdvanceAll();
  return {};
}

bool NullSpace::Advance(uint32_t number, Stream& stream) {
  const uint64_t before = stream.done;
  for (; !stream.queue.empty(); stream.queue.pop_front()) {
    Piece& piece = stream.queue.front();
    if (piece.kind == Kind::kHostCall) {
      if (!piece.reached) sink_->HostCallReached(number, piece.number, 0);
      piece.reached = true;
      break;
    }
    if (piece.kind == Kind::kWait) {
      const auto other = streams_.find(static_cast<uint32_t>(piece.number));
      if (other != streams_.end() && other->second.done <= piece.other_ticket && !other->second.queue.empty() &&
          other->second.queue.front().ticket <= piece.other_ticket) {
        break;
      }
    }
    if (piece.kind == Kind::kEvent && piece.number != 0) sink_->EventReached(static_cast<uint32_t>(piece.number), NowNs());
    stream.done = piece.ticket + 1;
  }
  if (stream.done != before) sink_->Completed(number, stream.done - 1);
  return stream.done != before;
}

void NullSpace::AdvanceAll() {
  // More than one stream is rare here: nothing ever waits but for host calls.
  if (streams_.size() == 1 && !streams_.begin()->second.destroyed) return;
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [number, stream] : streams_) {
      if (!stream.queue.empty()) moved |= Advance(number, stream);
    }
  }
  std::erase_if(streams_, [](const auto& entry) { return entry.second.destroyed && entry.second.queue.empty(); });
}

Status NullSpace::Launch(uint32_t stream, uint64_t ticket, const Grid&) {
  launches_.fetch_add(1, std::memory_order_relaxed);
  return Add(stream, {.ticket = ticket});
}
Status NullSpace::Copy(uint32_t stream, uint64_t ticket, const wire::CopyBody&) { return Add(stream, {.ticket = ticket}); }
Status NullSpace::Fill(uint32_t stream, uint64_t ticket, const wire::FillBody&) { return Add(stream, {.ticket = ticket}); }
Status NullSpace::Mark(uint32_t stream, uint64_t ticket) { return Add(stream, {.ticket = ticket}); }
Status NullSpace::RecordEvent(uint32_t stream, uint64_t ticket, uint32_t event) {
  return Add(stream, {.kind = Kind::kEvent, .ticket = ticket, .number = event});
}
Status NullSpace::Wait(uint32_t stream, uint64_t ticket, uint32_t other_stream, uint64_t other_ticket) {
  return Add(stream, {.kind = Kind::kWait, .ticket = ticket, .number = other_stream, .other_ticket = other_ticket});
}
Status NullSpace::HostCall(uint32_t stream, uint64_t ticket, uint64_t token) {
  return Add(stream, {.kind = Kind::kHostCall, .ticket = ticket, .number = token});
}

Status NullSpace::HostCallDone(uint32_t number) {
  const auto it = streams_.find(number);
  if (it == streams_.end() || it->second.queue.empty() || !it->second.queue.front().reached) {
    return Fail(fmt::format("stream {} is at no host call", number));
  }
  Piece& piece = it->second.queue.front();
  piece = {.ticket = piece.ticket};
  if (Advance(number, it->second)) AdvanceAll();
  return {};
}

// --- modules

Result<Space::LoadedModule> NullSpace::LoadModule(uint32_t, std::span<const uint8_t> image) {
  auto index = std::make_shared<guest::ModuleIndex>();
  for (std::string& name : EntryNames({reinterpret_cast<const char*>(image.data()), image.size()})) {
    index->kernels.push_back({.name = std::move(name), .ptx_version = 80});
  }
  if (index->kernels.empty()) return Fail(kInvalidPtx, "the image has no .entry");
  std::lock_guard lock(modules_mutex_);
  modules_[next_module_] = index;
  return LoadedModule{.id = next_module_++, .segment_address = 0, .index = index};
}

Result<PreparedKernel> NullSpace::Prepare(uint32_t module, uint32_t kernel, const uint32_t*) {
  std::lock_guard lock(modules_mutex_);
  const auto it = modules_.find(module);
  if (it == modules_.end() || kernel >= it->second->kernels.size()) {
    return Fail(kInvalidHandle, fmt::format("module {} has no kernel {}", module, kernel));
  }
  return PreparedKernel{.id = module << 16 | kernel, .local_bytes = 0, .max_threads = 1024};
}

Status NullSpace::UnloadModule(uint32_t module) {
  std::lock_guard lock(modules_mutex_);
  if (modules_.erase(module) == 0) return Fail(kInvalidHandle, fmt::format("there is no module {}", module));
  return {};
}

void NullSpace::Reset(uint32_t) {
  for (auto& [number, stream] : streams_) {
    if (stream.queue.empty()) continue;
    stream.done = stream.queue.back().ticket + 1;
    stream.queue.clear();
    sink_->Completed(number, stream.done - 1);
  }
}

void NullSpace::SetLimits(const Limits& limits) { limit_bytes_.store(LimitOf(limits), std::memory_order_relaxed); }

Usage NullSpace::usage() const {
  return {.launches = launches_.load(std::memory_order_relaxed), .memory_bytes = used_bytes_.load(std::memory_order_relaxed)};
}

}  // namespace tutti::device
