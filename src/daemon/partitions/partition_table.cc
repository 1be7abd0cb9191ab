#include "daemon/partitions/partition_table.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>

#include "control/client_table.h"

namespace tutti::daemon {
namespace {

void Append(std::vector<wire::SmRange>& ranges, uint32_t device, uint32_t sm) {
  if (!ranges.empty() && ranges.back().device == device && ranges.back().first_sm + ranges.back().count == sm) {
    ++ranges.back().count;
  } else {
    ranges.push_back({.device = device, .first_sm = sm, .count = 1});
  }
}

void AppendAll(std::vector<wire::SmRange>& ranges, uint32_t device, const std::vector<wire::SmRange>& sms) {
  for (const wire::SmRange& range : sms)
    ranges.push_back({.device = device, .first_sm = range.first_sm, .count = range.count});
}

bool HasEnded(uint32_t pid) { return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH; }

}  // namespace

uint32_t Partition::sm_count() const {
  uint32_t count = 0;
  for (const wire::SmRange& range : sms) count += range.count;
  return count;
}

std::vector<bool> PartitionTable::Taken(std::string_view device, uint32_t sm_count) const {
  std::vector<bool> taken(sm_count, false);
  for (const Partition& partition : partitions_) {
    if (partition.device != device) continue;
    for (const wire::SmRange& range : partition.sms) {
      for (uint32_t sm = range.first_sm; sm < range.first_sm + range.count && sm < sm_count; ++sm) taken[sm] = true;
    }
  }
  return taken;
}

Status PartitionTable::Create(Partition& partition, const wire::ServedDevice& device) const {
  if ((device.traits & wire::kDevicePartitions) == 0)
    return Fail(fmt::format("device {} has no SM partitions yet", control::FormatUuid(device.uuid)));
  const uint32_t sm_count = device.sm_count, per_chunk = device.sms_per_chunk;
  std::vector<bool> taken = Taken(partition.device, sm_count);
  const uint32_t whole_chunks = sm_count / per_chunk;
  std::vector<wire::SmRange> sms;
  uint32_t chunks = 0;
  for (uint32_t chunk = 0; chunk < whole_chunks && chunks < partition.chunks; ++chunk) {
    const uint32_t first = chunk * per_chunk;
    if (std::any_of(taken.begin() + first, taken.begin() + first + per_chunk, [](bool sm) { return sm; })) continue;
    for (uint32_t sm = first; sm < first + per_chunk; ++sm) Append(sms, 0, sm);
    ++chunks;
  }
  if (chunks < partition.chunks) {
    return Fail(fmt::format(
        "Failed to fulfill the requested SM partition of {} chunks, error CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",
        partition.chunks));
  }
  for (uint32_t sm = whole_chunks * per_chunk; partition.include_remainder && sm < sm_count; ++sm) {
    if (!taken[sm]) Append(sms, 0, sm);
  }
  partition.sms = std::move(sms);
  return {};
}

Partition& PartitionTable::Add(Partition partition) { return partitions_.emplace_back(std::move(partition)); }

Result<const Partition*> PartitionTable::Find(std::string_view device, std::string_view id) const {
  const Partition* found = nullptr;
  for (const Partition& partition : partitions_) {
    if (device.empty() || id.empty() || !partition.device.starts_with(device) || !partition.id.starts_with(id))
      continue;
    if (found != nullptr) return Fail(fmt::format("SM partition {}/{} is ambiguous: give more of its id", device, id));
    found = &partition;
  }
  if (found == nullptr) return Fail(fmt::format("there is no SM partition {}/{}", device, id));
  return found;
}

void PartitionTable::Remove(const Partition& partition) {
  clients_.erase(partition.full_id());
  partitions_.erase(partitions_.begin() + (&partition - partitions_.data()));
}

std::vector<const Partition*> PartitionTable::Of(std::string_view device) const {
  std::vector<const Partition*> found;
  for (const Partition& partition : partitions_) {
    if (partition.device == device) found.push_back(&partition);
  }
  return found;
}

Partition* PartitionTable::Named(std::string_view server, std::string_view device, std::string_view name) {
  const auto found = std::ranges::find_if(partitions_, [&](const Partition& partition) {
    return partition.server == server && partition.device == device && partition.name == name;
  });
  return found == partitions_.end() ? nullptr : &*found;
}

uint32_t PartitionTable::FreeSms(std::string_view device, uint32_t sm_count) const {
  return static_cast<uint32_t>(std::ranges::count(Taken(device, sm_count), false));
}

std::vector<wire::SmRange> PartitionTable::RangesFor(std::string_view wanted, std::string_view server,
                                                     const std::vector<wire::ServedDevice>& devices,
                                                     bool every_client) const {
  const size_t slash = std::min(wanted.find('/'), wanted.size());
  const auto named = Find(wanted.substr(0, slash), wanted.substr(std::min(slash + 1, wanted.size())));
  const bool usable = named && (*named)->created() && ((*named)->server.empty() || (*named)->server == server);
  std::vector<wire::SmRange> ranges;
  for (uint32_t device = 0; device < devices.size(); ++device) {
    const std::string uuid = control::FormatUuid(devices[device].uuid);
    const size_t before = ranges.size();
    if (usable && (*named)->device == uuid) {
      AppendAll(ranges, device, (*named)->sms);
    } else if (wanted.empty() && !every_client) {
      const std::vector<bool> taken = Taken(uuid, devices[device].sm_count);
      if (std::ranges::find(taken, true) == taken.end()) continue;  // no partition there: all of it
      for (uint32_t sm = 0; sm < taken.size(); ++sm) {
        if (!taken[sm]) Append(ranges, device, sm);
      }
    }
    if (ranges.size() == before) ranges.push_back({.device = device, .first_sm = 0, .count = 0});
  }
  return ranges;
}

void PartitionTable::NoteClient(std::string_view wanted, uint32_t pid) {
  const size_t slash = std::min(wanted.find('/'), wanted.size());
  const auto named = Find(wanted.substr(0, slash), wanted.substr(std::min(slash + 1, wanted.size())));
  if (!named) return;
  Noted& noted = clients_[(*named)->full_id()];
  if (noted.pids.size() >= noted.most) {
    std::erase_if(noted.pids, HasEnded);
    noted.most = std::max<size_t>(64, 2 * noted.pids.size());
  }
  noted.pids.insert(pid);
}

bool PartitionTable::InUse(const Partition& partition, const LivingClients& living) {
  const auto clients = clients_.find(partition.full_id());
  if (clients == clients_.end()) return false;
  std::erase_if(clients->second.pids,
                [&](uint32_t pid) { return !living.pids.contains(pid) && (living.all || HasEnded(pid)); });
  return !clients->second.pids.empty();
}

std::set<uint32_t> PartitionTable::ClientsOf(const Partition& partition) const {
  const auto clients = clients_.find(partition.full_id());
  return clients == clients_.end() ? std::set<uint32_t>() : clients->second.pids;
}

std::string NewPartitionId(int protocol) {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const size_t length = protocol == 3 ? 32 : 36;
  const size_t alphabet = protocol == 3 ? 16 : kLetters.size();
  std::string id;
  while (id.size() < length) {
    uint8_t byte = 0;
    if (getrandom(&byte, 1, 0) == 1 && byte < 256 / alphabet * alphabet) id += kLetters[byte % alphabet];
  }
  return id;
}

}  // namespace tutti::daemon
