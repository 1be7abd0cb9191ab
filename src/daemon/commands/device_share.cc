// What a program of the caller could use of each device, as JSON: for the library of src/nvml, which shows a process
// its own share. The rules are those by which a client attaches (clients/client_broker.cc). The command attaches nobody
// and starts no server but, once, the one that looks at the devices.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "control/client_table.h"
#include "control/compute_mode.h"
#include "control/words.h"
#include "daemon/access/memory_accounting.h"
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
  if (call.context.catalog.WouldAdd(call.route, call.caller.served_as)) return nullptr;
  const auto plan = call.context.catalog.PlanFor(call.route, call.caller.served_as);
  ServerHandle* const server = plan ? call.context.servers.Current(plan->name) : nullptr;
  return server != nullptr && !server->devices().empty() ? server : nullptr;
}

// The name of that server, running or not.
std::string ServerName(const CommandCall& call, const ServerHandle* server) {
  if (server != nullptr) return server->name();
  if (call.context.catalog.WouldAdd(call.route, call.caller.served_as)) return call.route.server;
  const auto plan = call.context.catalog.PlanFor(call.route, call.caller.served_as);
  return plan ? plan->name : call.route.server;
}

// The machine's administrator sees the devices whole, unless it asks for less, also by the directory of a server.
bool SeesAll(const CommandCall& call) { return call.caller.administrator && call.route.server.empty(); }

// What the server grants a client that comes by this route, but for its process's own wishes.
wire::Attach Granted(const CommandCall& call, const wire::Hello& hello, ServerHandle* server, const Devices& devices) {
  if (SeesAll(call)) return EffectiveAttach(hello, {}, 0, devices);
  const ServerCatalog& catalog = call.context.catalog;
  const std::string name = ServerName(call, server);
  const std::string& name_space = call.route.name_space;
  const ServerSettings& running = server != nullptr ? server->settings() : call.context.defaults.server;
  wire::Attach attach = EffectiveAttach(hello, catalog.SettingsFor(name, name_space, running), 0, devices);
  attach.memory_groups =
      GroupsOf("namespace:" + FullName(name, name_space), catalog.CollectiveFor(name, name_space), devices);
  attach.pid = static_cast<uint32_t>(call.caller.pid);
  attach.uid = call.caller.uid;
  MemoryAccounting accounting = call.context.accounting;
  accounting.audit_log = false;  // nobody attaches
  AddCgroupAccounts(accounting, devices, call.caller.cgroup.value_or(""), call.context.log, attach);
  return attach;
}

// Which of all devices a server that does not run would have.
Devices DevicesOf(const daemon::NamedServer* server, const Devices& all) {
  if (server == nullptr || server->allowed_devices.empty()) return all;
  const auto allowed = control::SplitList(server->allowed_devices);
  Devices its;
  for (uint32_t ordinal = 0; ordinal < all.size(); ++ordinal) {
    const std::string uuid = control::FormatUuid(all[ordinal].uuid);
    const bool is_its = std::ranges::any_of(allowed, [&](const std::string& device) {
      const auto number = control::ParseNumber(device);
      return number ? *number == ordinal : uuid.starts_with(device);
    });
    if (is_its) its.push_back(all[ordinal]);
  }
  return its;
}

Json OfDevice(const wire::ServedDevice& device, uint32_t ordinal, const wire::Attach& attach,
              const control::ComputeModes& modes) {
  const std::string uuid = control::FormatUuid(device.uuid);
  Json limit;
  for (const wire::MemoryLimit& one : attach.memory_limits) {
    if (one.device == ordinal) limit = limit.is_null() ? one.bytes : std::min(limit.get<uint64_t>(), one.bytes);
  }
  // Together with others; above a soft limit it is borrowed.
  for (const wire::MemoryGroupLimit& group : attach.memory_groups) {
    if (group.device != ordinal || group.hard_bytes == control::kNoMemoryLimit) continue;
    limit = limit.is_null() ? group.hard_bytes : std::min(limit.get<uint64_t>(), group.hard_bytes);
  }
  return {{"ordinal", ordinal},
          {"uuid", uuid},
          {"name", device.name},
          {"total_bytes", device.total_bytes},
          {"sm_count", device.sm_count},
          {"compute_capability", fmt::format("{}.{}", device.compute_major, device.compute_minor)},
          {"capabilities", wire::Capabilities(device.traits)},
          {"pci", PciAddress(device)},
          {"active_thread_percentage", attach.active_thread_percentage},
          {"limit_bytes", limit},
          {"compute_mode", static_cast<int>(modes.Of(uuid))}};
}

Result<Json> Shares(const CommandCall& call, const wire::Hello& hello, ServerHandle* server, const Devices& devices) {
  wire::Attach attach = Granted(call, hello, server, devices);
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
    if (!devices) return AnswerWith(call, std::unexpected(devices.error()));
    const daemon::NamedServer* const its =
        SeesAll(call) ? nullptr : call.context.catalog.Find(ServerName(call, nullptr));
    AnswerWith(call, Shares(call, hello, nullptr, DevicesOf(its, *devices)));
  });
}

}  // namespace tutti::daemon::commands
