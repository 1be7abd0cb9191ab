#include "kubernetes/claim_book.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

#include "base/log.h"
#include "kubernetes/replica_id.h"
#include "os/fd.h"

namespace tutti::kubernetes {
namespace {

std::vector<std::string> Replicas(const std::string& resource, std::vector<std::string> ids) {
  std::ranges::sort(ids);
  for (std::string& id : ids) id = resource + " " + id;
  return ids;
}

// FNV-1a: a name short enough for the claim's path to fit into a socket address.
std::string NameOf(const std::vector<std::string>& replicas) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::string& replica : replicas) {
    for (const char letter : replica + "\n") hash = (hash ^ static_cast<uint8_t>(letter)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

std::string CommandOf(const std::string& name, const AllocationContext& context, const std::vector<std::string>& ids) {
  std::set<std::string> devices;
  for (const std::string& id : ids) devices.insert(ReplicaId::Parse(id).uuid);
  std::string command = fmt::format("claim add {} {}", name, fmt::join(devices, ","));
  if (!sharing::SharesVary(*context.config)) return command;  // then the daemon's defaults suffice
  std::optional<double> percentage;
  std::vector<std::string> memory;
  for (const DeviceLimit& limit : LimitsOf(*context.offer, context.devices, ids)) {
    if (limit.percentage) percentage = std::max(percentage.value_or(0), *limit.percentage);
    if (limit.memory_bytes)
      memory.push_back(fmt::format("{}={}M", context.devices[limit.device].uuid, *limit.memory_bytes >> 20));
  }
  if (percentage) command += fmt::format(" threads={:g}", *percentage);
  if (!memory.empty()) command += fmt::format(" memory={}", fmt::join(memory, ","));
  return command;
}

Status Run(control::DaemonConnection& daemon, const std::string& command) {
  TUTTI_ASSIGN(const control::Answer answer, daemon.Run(command));
  if (answer.exit_status == 0) return {};
  return Fail(fmt::format("the control daemon refuses {}: {}", command, answer.text.substr(0, answer.text.find('\n'))));
}

}  // namespace

ClaimBook::ClaimBook(control::Places places, std::string file, int patience_ms)
    : places_(std::move(places)), file_(std::move(file)), patience_ms_(patience_ms) {
  Read();
}

std::string ClaimBook::Directory(const std::string& resource, const std::vector<std::string>& ids) const {
  return fmt::format("{}/claims/{}", places_.pipe_directory, NameOf(Replicas(resource, ids)));
}

Status ClaimBook::Make(const AllocationContext& context, const std::vector<std::string>& ids) {
  const std::vector<std::string> replicas = Replicas(context.offer->resource, ids);
  const std::string name = NameOf(replicas);
  const std::lock_guard lock(mutex_);
  TUTTI_ASSIGN(control::DaemonConnection daemon, control::DaemonConnection::Open(places_, patience_ms_));
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    // The same replicas again belong to another container, which gets a fresh directory.
    const bool freed = std::ranges::any_of(entry->second.replicas, [&](const std::string& replica) {
      return std::ranges::find(replicas, replica) != replicas.end();
    });
    if (!freed) {
      ++entry;
      continue;
    }
    if (const auto removed = Run(daemon, "claim rm " + entry->first); !removed)
      log::Warning("{}", removed.error().text);
    entry = entries_.erase(entry);
  }
  Entry& entry = entries_[name] = {replicas, CommandOf(name, context, ids)};
  TUTTI_TRY(Write());
  return Run(daemon, entry.command);
}

Status ClaimBook::Tell(control::DaemonConnection& daemon, bool required) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    // If the daemon refuses one claim, only that container is affected.
    if (const auto added = Run(daemon, entry.command); !added) log::Warning("{}", added.error().text);
  }
  return Run(daemon, required ? "claim require on" : "claim require off");
}

// A line for each: "<name>|<command>|<replica>|<replica>..."
void ClaimBook::Read() {
  std::ifstream file(file_);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields;
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find('|', begin), line.size());
      fields.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    if (fields.size() < 3) continue;
    const std::vector<std::string> replicas(fields.begin() + 2, fields.end());
    if (fields[0] == NameOf(replicas)) entries_[fields[0]] = {replicas, fields[1]};
  }
}

Status ClaimBook::Write() const {
  const std::string fresh = file_ + ".new";
  unlink(fresh.c_str());
  const os::Fd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return FailErrno(fresh);
  std::string text;
  for (const auto& [name, entry] : entries_)
    text += fmt::format("{}|{}|{}\n", name, entry.command, fmt::join(entry.replicas, "|"));
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return FailErrno(fresh);
  if (rename(fresh.c_str(), file_.c_str()) != 0) return FailErrno(file_);
  return {};
}

}  // namespace tutti::kubernetes
