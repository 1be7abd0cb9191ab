#include "daemon/apply_configuration.h"

#include <fmt/format.h>
#include <unistd.h>

namespace tutti::daemon {
namespace {

Status MakeServer(const CommandContext& context, const control::ConfiguredServer& wanted) {
  if (!MayNameServer(wanted.name))
    return Fail(fmt::format("server name \"{}\" is taken by a file of the pipe directory", wanted.name));
  const uid_t uid = context.catalog.ServingUser(wanted.uid.value_or(geteuid()));
  if (wanted.uid && *wanted.uid != uid) {
    return Fail(
        fmt::format("server {}: in multi-user mode all servers are of user {}: leave uid out", wanted.name, uid));
  }
  TUTTI_ASSIGN(NamedServer * server, context.catalog.Create(wanted.name, uid, wanted.allowed_devices));
  for (const auto& [name, limits] : wanted.namespaces) {
    if (!MayNameServer(name))
      return Fail(fmt::format("namespace name \"{}\" is taken by a file of the pipe directory", name));
    if (name != kDefaultNamespace) TUTTI_TRY(context.sockets.Open({.server = wanted.name, .name_space = name}));
    server->namespaces[name] = {.active_thread_percentage = limits.active_thread_percentage,
                                .memory_limits = limits.memory_limits,
                                .memory_text = limits.memory_text,
                                .client_priority = limits.client_priority,
                                .memory_sharing = limits.memory_sharing};
  }
  for (const control::ConfiguredPartition& partition : wanted.partitions) {
    context.partitions.Add({.device = partition.device,
                            .id = NewPartitionId(3),
                            .server = wanted.name,
                            .name = partition.name,
                            .chunks = partition.chunks,
                            .include_remainder = partition.include_remainder});
  }
  return context.servers.Ensure(server->plan, kAdministrators);
}

}  // namespace

Status ApplyConfiguration(const CommandContext& context, const control::Configuration& configuration) {
  if (configuration.memacct) context.accounting.enabled = *configuration.memacct;
  if (configuration.audit_log) context.accounting.audit_log = *configuration.audit_log;
  if (configuration.context_share) context.defaults.context_share = *configuration.context_share;
  for (const control::ConfiguredServer& server : configuration.servers) TUTTI_TRY(MakeServer(context, server));
  return {};
}

}  // namespace tutti::daemon
