#include "daemon/commands/live_limits.h"

#include <algorithm>
#include <memory>

#include "base/log.h"
#include "control/client_table.h"

namespace tutti::daemon {
namespace {

// Calls back after the last answer.
struct Finishing {
  std::function<void()> done;
  explicit Finishing(std::function<void()> then) : done(std::move(then)) {}
  ~Finishing() { done(); }
};

void Tell(ServerHandle& server, const wire::ServerSet& set, const std::shared_ptr<Finishing>& finishing) {
  server.Ask(wire::MessageKind::kServerSet, set,
             [finishing, id = set.client](const Result<ServerHandle::Reply>& answer) {
    // A client that has just gone has no limits any more.
               if (answer && answer->body.status != 0)
                 log::Info("Client with ID {} keeps its limits: {}", id, answer->body.text);
             });
}

void Follow(const CommandContext& context, ServerHandle& server, const wire::ClientStatus& client, Changed changed,
            const std::shared_ptr<Finishing>& finishing) {
  const ServerSettings settings =
      context.catalog.SettingsFor(server.name(), NamespaceOf(client.name_space), server.settings());
  const double percentage = EffectivePercentage(settings, client.own_percentage);
  if (changed.percentage && percentage != client.percentage && !context.options.static_partitioning) {
    Tell(server, {.what = wire::SettingKind::kPercentage, .client = client.id, .percentage = percentage}, finishing);
  }
  if (!changed.memory || client.device >= server.devices().size()) return;
  const std::string uuid = control::FormatUuid(server.devices()[client.device].uuid);
  const uint64_t bytes = std::min(settings.memory_limits.Of(client.device, uuid), client.own_limit_bytes);
  if (bytes != client.limit_bytes) {
    Tell(server,
         {.what = wire::SettingKind::kMemoryLimit, .client = client.id, .device = client.device, .number = bytes},
         finishing);
  }
}

// The server knows which clients have their own priority.
void FollowPriority(const CommandContext& context, ServerHandle& server, const std::shared_ptr<Finishing>& finishing) {
  const auto tell = [&](const std::string& name_space, int priority) {
    Tell(server,
         {.what = wire::SettingKind::kDefaultPriority, .number = static_cast<uint64_t>(priority), .text = name_space},
         finishing);
  };
  const NamedServer* const named = context.catalog.Find(server.name());
  if (named == nullptr) return tell("", context.defaults.client_priority);
  for (const auto& [name, limits] : named->namespaces) {
    tell(FullName(server.name(), name), limits.client_priority.value_or(context.defaults.client_priority));
  }
}

// The accounts of the server's namespaces.
void FollowCollectively(const CommandContext& context, ServerHandle& server,
                        const std::shared_ptr<Finishing>& finishing) {
  const NamedServer* const named = context.catalog.Find(server.name());
  if (named == nullptr) return;
  for (const auto& [name, limits] : named->namespaces) {
    for (const auto& group :
         GroupsOf("namespace:" + FullName(server.name(), name), limits.collective, server.devices())) {
      Tell(server,
           {.what = wire::SettingKind::kMemoryGroup,
            .device = group.device,
            .number = group.hard_bytes,
            .second = group.soft_bytes,
            .text = group.name},
           finishing);
    }
  }
}

}  // namespace

void ApplyToRunningClients(const CommandContext& context, ServerHandle& server, Changed changed,
                           std::function<void()> done) {
  if (context.options.new_clients_only || server.state() != ServerState::kActive) return done();
  const auto finishing = std::make_shared<Finishing>(std::move(done));
  if (changed.priority) FollowPriority(context, server, finishing);
  if (!changed.percentage && !changed.memory) return;
  server.Ask(wire::MessageKind::kServerQuery, wire::ServerQuery{.what = wire::QueryKind::kClients},
             [finishing, &context, changed, pid = server.pid()](const Result<ServerHandle::Reply>& answer) {
               ServerHandle* const server = context.servers.Find(pid);
               if (!answer || server == nullptr) return;
               for (const wire::ClientStatus& client : answer->body.clients)
                 Follow(context, *server, client, changed, finishing);
               if (changed.memory) FollowCollectively(context, *server, finishing);
             });
}

}  // namespace tutti::daemon
