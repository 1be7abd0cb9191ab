#include <fmt/format.h>

#include "control/client_table.h"
#include "daemon/commands/access.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"
#include "daemon/commands/live_limits.h"

namespace tutti::daemon::commands {
namespace {

struct DeviceAndBytes {
  std::string device;
  uint64_t bytes;
};

Status CheckDevice(std::string_view device) {
  if (control::IsDeviceIdentifier(device)) return {};
  return Fail(fmt::format("device \"{}\" is neither an ordinal nor a UUID: give 0, 1, ... or GPU-1234abcd", device));
}

// Words `index` and `index + 1`.
Result<DeviceAndBytes> ReadLimit(const CommandCall& call, size_t index) {
  const std::string_view device = call.word(index);
  TUTTI_TRY(CheckDevice(device));
  TUTTI_ASSIGN(const uint64_t bytes, control::ParseMemory(call.word(index + 1)));
  return DeviceAndBytes{std::string(device), bytes};
}

void SetIn(control::MemoryLimits& limits, const CommandCall& call, size_t index) {
  const auto limit = ReadLimit(call, index);
  if (!limit) return call.reply.Line(limit.error().text);
  limits.Set(limit->device, limit->bytes);
  call.reply.Nothing();
}

void AnswerFrom(const control::MemoryLimits& limits, const CommandCall& call, size_t index) {
  if (const auto device = CheckDevice(call.word(index)); !device) return call.reply.Line(device.error().text);
  const auto bytes = limits.Get(call.word(index));
  if (!bytes) return call.reply.Nothing();
  call.reply.Line(control::FormatMemory(*bytes));
}

// The ordinal of the device that the identifier names.
Result<uint32_t> Ordinal(const std::vector<wire::ServedDevice>& devices, const std::string& device) {
  control::MemoryLimits one;
  one.Set(device, 1);
  for (uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    if (one.Of(ordinal, control::FormatUuid(devices[ordinal].uuid)) == 1) return ordinal;
  }
  return Fail(fmt::format("the server has no device {}: it has {}", device, devices.size()));
}

// A user may lower their own limit, but not raise it above the daemon's default.
Status AllowedFor(const CommandCall& call, const std::vector<wire::ServedDevice>& devices,
                  const DeviceAndBytes& limit) {
  if (call.caller.administrator) return {};
  TUTTI_ASSIGN(const uint32_t ordinal, Ordinal(devices, limit.device));
  const std::string uuid = control::FormatUuid(devices[ordinal].uuid);
  const uint64_t standard = call.context.defaults.server.memory_limits.Of(ordinal, uuid);
  const daemon::Claim* const claim = call.context.claims.Find(call.caller.claim);
  const uint64_t given = claim != nullptr ? claim->memory_limits.Of(ordinal, uuid) : control::kNoMemoryLimit;
  if (limit.bytes <= std::min(standard, given)) return {};
  if (given < standard)
    return Fail(
        fmt::format("Permission denied: the claim {} is for {}", call.caller.claim, control::FormatMemory(given)));
  return Fail(fmt::format("Permission denied: user {} cannot go above the default of {}", call.caller.uid,
                          control::FormatMemory(standard)));
}

void SetOfServer(const CommandCall& call, ServerHandle& server) {
  const auto limit = ReadLimit(call, 2);
  if (!limit) return call.reply.Line(limit.error().text);
  if (const auto allowed = AllowedFor(call, server.devices(), *limit); !allowed)
    return call.reply.Line(allowed.error().text);
  server.settings().memory_limits.Set(limit->device, limit->bytes);
  ApplyToRunningClients(call.context, server, {.memory = true}, [reply = call.reply] { reply.Nothing(); });
}

// The live form: the process id is a running client's.
void SetOfClient(const CommandCall& call, ServerHandle& server, const ServerClients& entry,
                 const ClientProcess& client) {
  const auto limit = ReadLimit(call, 2);
  if (!limit) return call.reply.Line(limit.error().text);
  const auto ordinal = Ordinal(entry.devices, limit->device);
  if (!ordinal) return call.reply.Line(ordinal.error().text);
  if (const auto allowed = AllowedFor(call, entry.devices, *limit); !allowed)
    return call.reply.Line(allowed.error().text);
  AskAbout(server, client, wire::MessageKind::kServerSet,
           wire::ServerSet{.what = wire::SettingKind::kMemoryLimit, .device = *ordinal, .number = limit->bytes},
           [reply = call.reply](const Result<wire::ServerReply>& answer) {
             if (!answer) return reply.Line(answer.error().text);
             if (answer->status != 0) return reply.Line(answer->text);
             reply.Nothing();
           });
}

void AnswerOfClient(const CommandCall& call, const ServerClients& entry, const ClientProcess& named) {
  const auto ordinal = Ordinal(entry.devices, std::string(call.word(2)));
  if (!ordinal) return call.reply.Line(ordinal.error().text);
  for (const auto& client : entry.clients) {
    if (client.id != named.first.id || client.device != *ordinal || client.limit_bytes == control::kNoMemoryLimit)
      continue;
    return call.reply.Line(control::FormatMemory(client.limit_bytes));
  }
  call.reply.Nothing();
}

}  // namespace

void SetDefaultDevicePinnedMemLimit(const CommandCall& call) {
  if (RequirePrivilege(call)) SetIn(call.context.defaults.server.memory_limits, call, 1);
}

void GetDefaultDevicePinnedMemLimit(const CommandCall& call) {
  AnswerFrom(call.context.defaults.server.memory_limits, call, 1);
}

void SetDevicePinnedMemLimit(const CommandCall& call) {
  if (!NamesServer(call, 1)) {
    return WithClient(call, [call](ServerHandle& server, const ServerClients& entry, const ClientProcess& client) {
      SetOfClient(call, server, entry, client);
    });
  }
  if (ServerHandle* server = NamedServer(call, 1, Access::kInstruct)) SetOfServer(call, *server);
}

void GetDevicePinnedMemLimit(const CommandCall& call) {
  if (!NamesServer(call, 1)) {
    return WithClient(call, [call](ServerHandle&, const ServerClients& entry, const ClientProcess& client) {
      AnswerOfClient(call, entry, client);
    });
  }
  if (ServerHandle* server = NamedServer(call, 1, Access::kSee)) AnswerFrom(server->settings().memory_limits, call, 2);
}

}  // namespace tutti::daemon::commands
