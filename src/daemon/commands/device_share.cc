// What a program of the caller could use of each device, as JSON: for the library of src/nvml, which shows a process
// its own share. The rules are those by which a client attaches (clients/client_broker.cc). The command attaches nobody
// and starts no server but, once, the one that looks at the devices.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "control/client_table.h"
#include "control/compute_mode.h"
#include "daemon/commands/client_query.h"
#include "daemon/commands/commands.h"

namespace tutti::daemon::commands {
namespace {

using Json = nlohmann::ordered_json;

// What the words after the command ask for: "threads=25", "memory=0=1G,1=2G". Whoever reads one checks it.
Result<wire::Hello> Asked(const CommandCall& call) {
  wire::Hello hello;
  for (size_t i = 1; i < call.words.size(); ++i) {
    const std::string_view word = call.word(i);
    if (word.starts_with("threads=")) {
      hello.active_thread_percentage = word.substr(8);
      TUTTI_TRY(control::ParsePercentage(hello.active_thread_percentage));
    } else if (word.starts_with("memory=")) {
      hello.pinned_memory_limit = word.substr(7);
      TUTTI_TRY(control::MemoryLimits::Parse(hello.pinned_memory_limit));
    } else {
      return Fail(fmt::format("device_share does not know \"{}\": give threads=P, memory=DEVICE=SIZE,...", word));
    }
  }
  return hello;
}

// The server that would serve the caller, if it runs.
ServerHandle* RunningServer(const CommandCall& call) {
  const Route route;
  if (call.context.catalog.WouldAdd(route, call.caller.served_as)) return nullptr;
  const auto plan = call.context.catalog.PlanFor(route, call.caller.served_as);
  ServerHandle* const server = plan ? call.context.servers.Current(plan->name) : nullptr;
  return server != nullptr && !server->devices().empty() ? server : nullptr;
}

// The machine's administrator sees the devices whole, unless it asks for less.
ServerSettings SettingsFor(const CommandCall& call, ServerHandle* server) {
  if (call.caller.administrator) return {};
  if (server == nullptr) return call.context.defaults.server;
  return call.context.catalog.SettingsFor(server->name(), kDefaultNamespace, server->settings());
}

Json OfDevice(const wire::ServedDevice& device, uint32_t ordinal, const wire::Attach& attach,
              const control::ComputeModes& modes) {
  const std::string uuid = control::FormatUuid(device.uuid);
  Json limit;
  for (const wire::MemoryLimit& one : attach.memory_limits) {
    if (one.device == ordinal) limit = limit.is_null() ? one.bytes : std::min(limit.get<uint64_t>(), one.bytes);
  }
  return {{"ordinal", ordinal},
          {"uuid", uuid},
          {"name", device.name},
          {"total_bytes", device.total_bytes},
          {"sm_count", device.sm_count},
          {"compute_capability", fmt::format("{}.{}", device.compute_major, device.compute_minor)},
          {"pci", PciAddress(device)},
          {"active_thread_percentage", attach.active_thread_percentage},
          {"limit_bytes", limit},
          {"compute_mode", static_cast<int>(modes.Of(uuid))}};
}

Result<Json> Shares(const CommandCall& call, const wire::Hello& hello, ServerHandle* server, const Devices& devices) {
  wire::Attach attach = EffectiveAttach(hello, SettingsFor(call, server), 0, devices);
  if (!call.caller.claim.empty()) {
    const daemon::Claim* const claim = call.context.claims.Find(call.caller.claim);
    if (claim == nullptr) return Fail("the claim has been removed");
    TUTTI_TRY(ApplyClaim(*claim, devices, attach));
  }
  const auto modes = control::ComputeModes::Load();
  Json list = Json::array();
  for (uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    if ((attach.withheld_devices >> ordinal & 1) == 0)
      list.push_back(OfDevice(devices[ordinal], ordinal, attach, modes));
  }
  return Json{{"administrator", call.caller.administrator}, {"devices", list}};
}

void AnswerWith(const CommandCall& call, const Result<Json>& shares) {
  if (!shares) return call.reply.Finish({.text = shares.error().text + "\n", .exit_status = 1});
  call.reply.Line(shares->dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void DeviceShare(const CommandCall& call) {
  const auto hello = Asked(call);
  if (!hello) return AnswerWith(call, std::unexpected(hello.error()));
  if (ServerHandle* const server = RunningServer(call)) {
    return AnswerWith(call, Shares(call, *hello, server, server->devices()));
  }
  call.context.inventory.Ask([call, hello = *hello](const Result<Devices>& devices) {
    AnswerWith(call, devices ? Shares(call, hello, nullptr, *devices) : std::unexpected(devices.error()));
  });
}

}  // namespace tutti::daemon::commands
