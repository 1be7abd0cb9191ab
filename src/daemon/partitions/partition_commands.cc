#include "daemon/partitions/partition_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/log.h"
#include "control/words.h"

namespace tutti::daemon {
namespace {

constexpr const char* kCommand = "restore_sm_partition";

// "0+3": three SMs, starting at 0.
std::string SmsText(const std::vector<wire::SmRange>& sms) {
  std::vector<std::string> ranges;
  for (const wire::SmRange& range : sms) ranges.push_back(fmt::format("{}+{}", range.first_sm, range.count));
  return fmt::format("{}", fmt::join(ranges, ","));
}

Result<std::vector<wire::SmRange>> ReadSms(std::string_view text) {
  std::vector<wire::SmRange> sms;
  for (const std::string& entry : control::SplitList(text)) {
    const size_t plus = std::min(entry.find('+'), entry.size());
    const auto first = control::ParseNumber(entry.substr(0, plus));
    const auto count = control::ParseNumber(entry.substr(std::min(plus + 1, entry.size())));
    if (!first || !count || *count == 0 || *first + *count < *first)
      return Fail(fmt::format("\"{}\" is not a range of SMs: expected FIRST+COUNT", entry));
    sms.push_back({.first_sm = *first, .count = *count});
  }
  return sms;
}

bool Overlap(const wire::SmRange& a, const wire::SmRange& b) {
  return a.first_sm < b.first_sm + b.count && b.first_sm < a.first_sm + a.count;
}

Status CheckFree(const Partition& wanted, const PartitionTable& table) {
  for (const Partition* other : table.Of(wanted.device)) {
    if (other->id == wanted.id) return Fail("there is one of this id");
    for (const wire::SmRange& range : wanted.sms) {
      if (std::ranges::any_of(other->sms, [&](const auto& taken) { return Overlap(range, taken); })) {
        return Fail(fmt::format("its SMs are those of {}", other->full_id()));
      }
    }
  }
  return {};
}

using Values = std::map<std::string, std::string>;

Result<Partition> Read(Values& values) {
  const auto chunks = control::ParseNumber(values["chunks"]);
  if (values["device"].empty() || values["id"].empty() || !chunks)
    return Fail("its device, its id or its size is missing");
  Partition partition{.device = values["device"],
                      .id = values["id"],
                      .server = values["server"],
                      .name = values["name"],
                      .chunks = *chunks,
                      .include_remainder = values["remainder"] == "1"};
  TUTTI_ASSIGN(partition.sms, ReadSms(values["sms"]));
  return partition;
}

Status Add(Values& values, PartitionTable& table) {
  TUTTI_ASSIGN(Partition partition, Read(values));
  TUTTI_TRY(CheckFree(partition, table));
  const std::string full_id = table.Add(std::move(partition)).full_id();
  for (const std::string& pid : control::SplitList(values["clients"])) {
    if (const auto number = control::ParseNumber(pid)) table.NoteClient(full_id, *number);
  }
  return {};
}

}  // namespace

std::vector<std::string> PartitionCommands(const PartitionTable& table) {
  std::vector<std::string> commands;
  for (const Partition& partition : table.all()) {
    commands.push_back(fmt::format("{} device={} id={} server={} name={} chunks={} remainder={} sms={} clients={}",
                                   kCommand, partition.device, partition.id, partition.server, partition.name,
                                   partition.chunks, partition.include_remainder ? 1 : 0, SmsText(partition.sms),
                                   fmt::join(table.ClientsOf(partition), ",")));
  }
  return commands;
}

bool RestorePartition(const std::vector<std::string>& words, PartitionTable& table) {
  if (words.empty() || words[0] != kCommand) return false;
  Values values;
  for (const std::string& word : words) {
    if (const size_t equals = word.find('='); equals != std::string::npos)
      values[word.substr(0, equals)] = word.substr(equals + 1);
  }
  if (const auto added = Add(values, table); !added) {
    log::Error("SM partition {}/{} of the previous program is lost: {}", values["device"], values["id"],
               added.error().text);
  }
  return true;
}

}  // namespace tutti::daemon
