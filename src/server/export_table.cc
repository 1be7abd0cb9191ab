#include "server/export_table.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cuda/result.h"
#include "os/socket.h"
#include "wire/share_handle.h"

namespace tutti::server {
namespace {

using wire::MemorySharing;

std::unexpected<Error> NotFound() {
  return Fail(cuda::CUDA_ERROR_INVALID_HANDLE,
              "there is no such memory: it has been freed, its process has ended, or it is another server's");
}

bool MayShare(const ExportTable::Client& exporter, const ExportTable::Client& importer) {
  if (exporter.id == importer.id) return true;
  if (exporter.policy == MemorySharing::kOff || importer.policy == MemorySharing::kOff) return false;
  const bool same = exporter.uid == importer.uid && exporter.party == importer.party;
  return same || (exporter.policy == MemorySharing::kAll && importer.policy == MemorySharing::kAll);
}

}  // namespace

ExportTable::ExportTable(std::function<Status(int fd, std::function<void()> gone)> watch,
                         std::function<void(int fd)> unwatch, size_t most_descriptors)
    : watch_(std::move(watch)), unwatch_(std::move(unwatch)), most_descriptors_(most_descriptors) {}

ExportTable::~ExportTable() {
  for (const auto& [fd, descriptor] : descriptors_) unwatch_(fd);
}

Result<wire::ExportedMemory> ExportTable::Add(const Client& exporter,
                                              const std::shared_ptr<device::SharedMemory>& memory) {
  if (exporter.policy == MemorySharing::kOff) {
    return Fail(cuda::CUDA_ERROR_NOT_PERMITTED,
                "clients of this namespace do not share memory (its memory_sharing is off)");
  }
  std::lock_guard lock(mutex_);
  if (const auto known = by_memory_.find(memory.get()); known != by_memory_.end()) {
    const Entry& entry = entries_.at(known->second);
    if (entry.memory.lock() == memory) return entry.name;
  }
  if (entries_.size() >= sweep_at_) Sweep();
  if (count_[exporter.id] >= kMostOfOne) {
    return Fail(cuda::CUDA_ERROR_OUT_OF_MEMORY,
                fmt::format("the client has exported {} pieces of memory, as many as it may", kMostOfOne));
  }
  wire::ExportedMemory name;
  do {
    if (getrandom(&name, sizeof name, 0) != sizeof name)
      return FailErrno("random numbers", cuda::CUDA_ERROR_OUT_OF_MEMORY);
  } while (name.id == 0 || entries_.contains(name.id));
  entries_.emplace(name.id, Entry{.exporter = exporter, .name = name, .memory = memory});
  by_memory_[memory.get()] = name.id;
  ++count_[exporter.id];
  return name;
}

void ExportTable::Sweep() {
  std::erase_if(entries_, [](const auto& entry) { return entry.second.memory.expired(); });
  count_.clear();
  for (const auto& [id, entry] : entries_) ++count_[entry.exporter.id];
  std::erase_if(by_memory_, [this](const auto& entry) { return !entries_.contains(entry.second); });
  sweep_at_ = 2 * entries_.size() + 64;
}

Result<ExportTable::Found> ExportTable::FindLocked(const Client& importer, const wire::ExportedMemory& name) {
  const auto it = entries_.find(name.id);
  if (it == entries_.end() || !(it->second.name == name)) return NotFound();
  const Entry& entry = it->second;
  auto memory = entry.memory.lock();
  if (memory == nullptr || ((entry.ended || memory->withdrawn()) && entry.descriptors == 0)) return NotFound();
  if (!MayShare(entry.exporter, importer)) {
    return Fail(cuda::CUDA_ERROR_NOT_PERMITTED,
                fmt::format("memory of user {}, and a client of user {}: the memory_sharing of their "
                            "namespaces does not allow it",
                            entry.exporter.uid, importer.uid));
  }
  return Found{.memory = std::move(memory), .own = !entry.ended && entry.exporter.id == importer.id};
}

Result<ExportTable::Found> ExportTable::Find(const Client& importer, const wire::ExportedMemory& name) {
  std::lock_guard lock(mutex_);
  return FindLocked(importer, name);
}

Result<os::Fd> ExportTable::Describe(const Client& client, const wire::ExportedMemory& name) {
  Found found;  // dropped without the lock
  std::lock_guard lock(mutex_);
  TUTTI_ASSIGN(found, FindLocked(client, name));
  const std::pair holder(client.uid, client.party);
  const auto held = std::ranges::count(descriptors_, holder, [](const auto& entry) { return entry.second.holder; });
  if (descriptors_.size() >= most_descriptors_ || static_cast<size_t>(held) >= (most_descriptors_ + 1) / 2) {
    return Fail(
        cuda::CUDA_ERROR_OUT_OF_MEMORY,
        fmt::format("{} descriptors of exported memory are open, {} of this user: more than the server's limit on "
                    "open files (RLIMIT_NOFILE) allows",
                    descriptors_.size(), held));
  }
  TUTTI_ASSIGN(auto pair, os::SocketPair());
  auto& [ours, theirs] = pair;
  const wire::ShareHandle handle{.kind = wire::ShareKind::kMemory, .memory = name};
  TUTTI_TRY(os::Send(ours.get(), {reinterpret_cast<const uint8_t*>(&handle), sizeof handle}));
  // Nothing can be sent to us, so nothing piles up here.
  if (shutdown(ours.get(), SHUT_RD) != 0) return FailErrno("shutdown");
  const int fd = ours.get();
  TUTTI_TRY(watch_(fd, [this, fd] { DescriptorGone(fd); }));
  ++entries_.at(name.id).descriptors;
  descriptors_.emplace(
      fd, Descriptor{.end = std::move(ours), .id = name.id, .holder = holder, .memory = std::move(found.memory)});
  return std::move(theirs);
}

void ExportTable::DescriptorGone(int fd) {
  unwatch_(fd);
  std::shared_ptr<device::SharedMemory> memory;  // dropped without the lock
  std::lock_guard lock(mutex_);
  const auto it = descriptors_.find(fd);
  memory = std::move(it->second.memory);
  if (const auto entry = entries_.find(it->second.id); entry != entries_.end()) --entry->second.descriptors;
  descriptors_.erase(it);
}

void ExportTable::Forget(uint32_t client) {
  std::lock_guard lock(mutex_);
  for (auto& [id, entry] : entries_) {
    if (entry.exporter.id == client) entry.ended = true;
  }
}

}  // namespace tutti::server
