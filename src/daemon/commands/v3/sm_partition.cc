// SM partitions of protocol 3. One that is created while its server does not run is only recorded ("configured"); it
// gets its SMs at the server's next start and keeps them from then on.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "control/client_table.h"
#include "control/object_values.h"
#include "control/words.h"
#include "daemon/commands/v3/objects.h"

namespace tutti::daemon::v3 {
namespace {

Result<Partition> Wish(const Request& request, const NamedServer& server) {
  const std::string name = request.positional(0);
  TUTTI_TRY(control::CheckObjectName("SM partition", name));
  const auto chunks = control::ParseNumber(*request.option("chunks"));
  if (!chunks || *chunks == 0)
    return Fail(fmt::format("\"{}\" is not a number of chunks: --chunks=1", *request.option("chunks")));
  Partition partition{.id = NewPartitionId(3), .server = server.plan.name, .name = name, .chunks = *chunks};
  if (const std::string* remainder = request.option("include-remainder")) {
    TUTTI_ASSIGN(partition.include_remainder, control::ParseBoolean(*remainder));
  }
  return partition;
}

void AnswerCreated(const Request& request, const Partition& partition) {
  if (!partition.created()) {
    return request.Line(fmt::format("SM partition '{}' configured on device {}: it is made when server {} starts",
                                    partition.name, partition.device, partition.server));
  }
  request.call.reply.Text(
      fmt::format("SM partition '{}' created on device {} (sm-count={})\nCUDA_MPS_SM_PARTITION={}\n", partition.name,
                  partition.device, partition.sm_count(), partition.full_id()));
}

// `devices`: those of the server if it runs, else of the daemon.
void CreateOn(const Request& request, const std::string& server_name, const Devices& devices, bool running) {
  NamedServer* const server = FindOwnServer(request, server_name);
  if (server == nullptr) return;
  auto partition = Wish(request, *server);
  if (!partition) return request.Refuse(partition.error().text);
  const auto ordinal = FindDevice(devices, *request.option("device"));
  if (!ordinal) return request.Refuse(ordinal.error().text);
  PartitionTable& table = request.context().partitions;
  partition->device = control::FormatUuid(devices[*ordinal].uuid);
  if (table.Named(server_name, partition->device, partition->name) != nullptr) {
    return request.Refuse(fmt::format("server {} has an SM partition '{}' on device {} already", server_name,
                                      partition->name, partition->device));
  }
  if (running) {
    if (const auto created = table.Create(*partition, devices[*ordinal]); !created)
      return request.Refuse(created.error().text);
  }
  AnswerCreated(request, table.Add(*std::move(partition)));
}

void Create(const Request& request) {
  if (!RequirePrivilege(request)) return;
  const std::string name = *request.option("server");
  const NamedServer* const server = FindOwnServer(request, name);
  if (server == nullptr) return;
  ServerHandle* const process = ProcessOf(request, *server);
  if (process != nullptr && process->unheard())
    return request.Refuse(
        fmt::format("server {} is being adopted, and its clients are not known yet: try again", name));
  if (process == nullptr || process->state() == ServerState::kInitializing) {
    return request.context().inventory.Ask([request, name](const Result<Devices>& devices) {
      if (!devices) return request.Refuse(devices.error().text);
      CreateOn(request, name, *devices, false);
    });
  }
  WithClientsOf(
      request, *server, [request, name, devices = process->devices()](const std::vector<wire::ClientStatus>& clients) {
        const auto ordinal = FindDevice(devices, *request.option("device"));
        const bool busy =
            ordinal && std::ranges::any_of(clients, [&](const auto& client) { return client.device == *ordinal; });
        if (busy)
          return request.Refuse(fmt::format("device {} has active clients of server {}: end them first",
                                            *request.option("device"), name));
        CreateOn(request, name, devices, true);
      });
}

void Delete(const Request& request) {
  if (!RequirePrivilege(request)) return;
  const NamedServer* const server = FindOwnServer(request, *request.option("server"));
  if (server == nullptr) return;
  commands::WithLivingClients(request.call, [request](const LivingClients& living) {
    PartitionTable& table = request.context().partitions;
    const std::string& device = *request.option("device");
    std::string uuid = device;
    if (const auto& known = request.context().inventory.known()) {
      if (const auto ordinal = FindDevice(*known, device)) uuid = control::FormatUuid((*known)[*ordinal].uuid);
    }
    const Partition* const partition = table.Named(*request.option("server"), uuid, request.positional(0));
    if (partition == nullptr) {
      return request.Refuse(fmt::format("server {} has no SM partition '{}' on device {}: see sm-partition list",
                                        *request.option("server"), request.positional(0), device));
    }
    if (table.InUse(*partition, living))
      return request.Refuse(fmt::format("SM partition '{}' has clients: end them first", partition->name));
    const std::string line =
        fmt::format("SM partition '{}' deleted from device {}", partition->name, partition->device);
    table.Remove(*partition);
    request.Line(line);
  });
}

const char* BooleanText(bool value) { return value ? "true" : "false"; }

void AppendRow(control::TextTable& table, const Request& request, const Partition& partition) {
  const bool running = request.context().servers.Current(partition.server) != nullptr;
  table.rows.push_back(
      {partition.server, partition.device, partition.name, std::to_string(partition.chunks),
       partition.created() ? std::to_string(partition.sm_count()) : "-", BooleanText(partition.include_remainder),
       partition.created() && running ? "created" : "configured", partition.created() ? partition.full_id() : "-"});
}

void ListOn(const Request& request, const Devices& devices) {
  control::TextTable table{
      .columns = {"SERVER", "DEVICE", "NAME", "CHUNKS", "SM-COUNT", "INCLUDE-REMAINDER", "STATUS", "VISIBLE-UUID"}};
  const std::string* const server = request.option("server");
  const std::string* const device = request.option("device");
  for (uint32_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    const std::string uuid = control::FormatUuid(devices[ordinal].uuid);
    if (device != nullptr && !uuid.starts_with(*device) && *device != std::to_string(ordinal)) continue;
    for (const Partition* partition : request.context().partitions.Of(uuid)) {
      if (server == nullptr || partition->server == *server) AppendRow(table, request, *partition);
    }
    const uint32_t free_sms = request.context().partitions.FreeSms(uuid, devices[ordinal].sm_count);
    if (free_sms > 0) {
      table.rows.push_back({"-", uuid, "-", std::to_string(free_sms / devices[ordinal].sms_per_chunk),
                            std::to_string(free_sms), "-", "unallocated", "-"});
    }
  }
  request.Print(table);
}

void List(const Request& request) {
  const std::string* const server = request.option("server");
  if (server != nullptr && FindServer(request, *server) == nullptr) return;
  request.context().inventory.Ask([request](const Result<Devices>& devices) {
    if (!devices) return request.Refuse(devices.error().text);
    ListOn(request, *devices);
  });
}

}  // namespace

const Module& SmPartitionModule() {
  static const Verb verbs[] = {
      {"create",
       "<name>",
       {{"server", "name", true}, {"device", "id", true}, {"chunks", "n", true}, {"include-remainder", "bool"}},
       "reserves SMs for the clients that name the partition",
       Create},
      {"delete", "<name>", {{"server", "name", true}, {"device", "id", true}}, "gives its SMs back", Delete},
      {"list",
       "",
       {{"server", "name"}, {"device", "id"}, {"all", ""}, {"format", "table|csv|json"}},
       "partitions and free SMs",
       List},
  };
  static const Module module{"sm-partition", "exclusive SMs", verbs};
  return module;
}

}  // namespace tutti::daemon::v3
