// Static SM partitions, protocol 2. The first such command has to query the devices, so its answer may take a moment.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "control/client_table.h"
#include "control/words.h"
#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {
namespace {

constexpr size_t kShortUuid = 12;  // "GPU-74d43ed3"

void Add(const CommandCall& call) {
  const auto chunks = control::ParseNumber(call.word(3));
  if (!chunks || *chunks == 0) {
    return call.reply.Line(fmt::format("\"{}\" is not a number of chunks: sm_partition add {} 1", call.word(3),
                                       call.word(2).empty() ? "GPU-1234abcd" : call.word(2)));
  }
  call.context.inventory.Ask([call, chunks = *chunks](const Result<Devices>& devices) {
    if (!devices) return call.reply.Line(devices.error().text);
    const auto device = FindDevice(*devices, call.word(2));
    if (!device) return call.reply.Line(device.error().text);
    const wire::ServedDevice& served = (*devices)[*device];
    Partition partition{.device = control::FormatUuid(served.uuid), .id = NewPartitionId(2), .chunks = chunks};
    PartitionTable& table = call.context.partitions;
    if (const auto created = table.Create(partition, served); !created) return call.reply.Line(created.error().text);
    call.reply.Line(table.Add(std::move(partition)).full_id());
  });
}

void RemoveUnlessUsed(const CommandCall& call, const LivingClients& living) {
  PartitionTable& table = call.context.partitions;
  const auto partition = table.Find(call.word(2), call.word(3));
  if (!partition) return call.reply.Line(partition.error().text);
  if (table.InUse(**partition, living)) {
    return call.reply.Line(
        fmt::format("SM partition {} has clients: end them first (see ps)", (*partition)->full_id()));
  }
  table.Remove(**partition);
  call.reply.Nothing();
}

void Remove(const CommandCall& call) {
  WithLivingClients(call, [call](const LivingClients& living) { RemoveUnlessUsed(call, living); });
}

// A device's totals, then its partitions. Chunks first, then SMs.
void AppendDevice(std::string& text, const wire::ServedDevice& device, PartitionTable& table,
                  const LivingClients& living) {
  constexpr const char* kRow = "{:<13}{:<37}{:<6}{:<6}{:<5}{:<5}{}\n";
  const auto out = std::back_inserter(text);
  const std::string uuid = control::FormatUuid(device.uuid);
  const uint32_t free_sms = table.FreeSms(uuid, device.sm_count);
  fmt::format_to(out, fmt::runtime(kRow), uuid.substr(0, kShortUuid), "-", free_sms / device.sms_per_chunk,
                 (device.sm_count - free_sms) / device.sms_per_chunk, free_sms, device.sm_count - free_sms, "-");
  for (const Partition* partition : table.Of(uuid)) {
    fmt::format_to(out, fmt::runtime(kRow), uuid.substr(0, kShortUuid), partition->id, "-", partition->chunks, "-",
                   partition->sm_count(), table.InUse(*partition, living) ? "Yes" : "No");
  }
}

bool RequireStaticPartitioning(const CommandCall& call) {
  if (call.context.options.static_partitioning) return true;
  call.reply.Line(fmt::format("{} needs static SM partitioning: quit this daemon and start it with -S", call.word(0)));
  return false;
}

}  // namespace

void SmPartition(const CommandCall& call) {
  if (call.word(1) != "add" && call.word(1) != "rm") {
    return call.reply.Line(
        fmt::format("sm_partition \"{}\" is unknown: give add DEVICE CHUNKS or rm DEVICE PARTITION", call.word(1)));
  }
  if (!RequireStaticPartitioning(call) || !RequirePrivilege(call)) return;
  call.word(1) == "add" ? Add(call) : Remove(call);
}

void ListPartitions(const CommandCall& call) {
  if (!RequireStaticPartitioning(call)) return;
  call.context.inventory.Ask([call](const Result<Devices>& devices) {
    if (!devices) return call.reply.Line(devices.error().text);
    WithLivingClients(call, [call, devices = *devices](const LivingClients& living) {
      std::string text =
          "GPU          Partition                            free  used  free used clients\n"
          "                                                  chunk chunk SM   SM\n";
      for (const wire::ServedDevice& device : devices) AppendDevice(text, device, call.context.partitions, living);
      call.reply.Text(std::move(text));
    });
  });
}

}  // namespace tutti::daemon::commands
