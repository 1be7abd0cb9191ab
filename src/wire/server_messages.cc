#include "wire/server_messages.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/finish.h"

namespace tutti::wire {
namespace {

void PutGroups(ByteWriter& out, const std::vector<MemoryGroupLimit>& groups) {
  out.Put(static_cast<uint32_t>(groups.size()));
  for (const MemoryGroupLimit& group : groups) {
    out.PutString(group.name);
    out.Put(group.device);
    out.Put(group.soft_bytes);
    out.Put(group.hard_bytes);
  }
}

std::vector<MemoryGroupLimit> GetGroups(ByteReader& in) {
  constexpr size_t kLeastGroupBytes = 24;
  std::vector<MemoryGroupLimit> groups(in.GetCount(kLeastGroupBytes));
  for (MemoryGroupLimit& group : groups) {
    group.name = in.GetString();
    group.device = in.Get<uint32_t>();
    group.soft_bytes = in.Get<uint64_t>();
    group.hard_bytes = in.Get<uint64_t>();
  }
  return groups;
}

void PutNumbers(ByteWriter& out, const std::vector<uint64_t>& numbers) {
  out.Put(static_cast<uint32_t>(numbers.size()));
  for (const uint64_t number : numbers) out.Put(number);
}

std::vector<uint64_t> GetNumbers(ByteReader& in) {
  std::vector<uint64_t> numbers(in.GetCount(sizeof(uint64_t)));
  for (uint64_t& number : numbers) number = in.Get<uint64_t>();
  return numbers;
}

void PutStatus(ByteWriter& out, const ClientStatus& client) {
  out.Put(client.id);
  out.Put(client.pid);
  out.Put(client.uid);
  out.Put(client.pid_namespace);
  out.PutString(client.command_line);
  out.Put(client.device);
  out.Put(client.state);
  out.Put(client.percentage);
  out.Put(client.share);
  out.Put(client.used_bytes);
  out.Put(client.limit_bytes);
  out.Put(client.launches);
  out.Put(client.busy_ns);
  out.Put(client.priority);
  out.PutString(client.name_space);
  out.Put(client.own_percentage);
  out.Put(client.own_limit_bytes);
  out.Put(client.kernel_ns);
  PutGroups(out, client.memory_groups);
  PutNumbers(out, client.memory_group_bytes);
  PutNumbers(out, client.counters);
}

ClientStatus GetStatus(ByteReader& in) {
  ClientStatus client;
  client.id = in.Get<uint32_t>();
  client.pid = in.Get<uint32_t>();
  client.uid = in.Get<uint32_t>();
  client.pid_namespace = in.Get<uint64_t>();
  client.command_line = in.GetString();
  client.device = in.Get<uint32_t>();
  client.state = in.Get<ClientState>();
  client.percentage = in.Get<double>();
  client.share = in.Get<double>();
  client.used_bytes = in.Get<uint64_t>();
  client.limit_bytes = in.Get<uint64_t>();
  client.launches = in.Get<uint64_t>();
  client.busy_ns = in.Get<uint64_t>();
  client.priority = in.Get<int32_t>();
  client.name_space = in.GetString();
  client.own_percentage = in.Get<double>();
  client.own_limit_bytes = in.Get<uint64_t>();
  client.kernel_ns = in.Get<uint64_t>();
  client.memory_groups = GetGroups(in);
  client.memory_group_bytes = GetNumbers(in);
  client.counters = GetNumbers(in);
  return client;
}
constexpr size_t kLeastStatusBytes = 124;
constexpr size_t kLeastDeviceBytes = 60;
// The daemon iterates over what a server sends, and the server's user may control that server.
constexpr uint32_t kMostStatuses = 32768;  // more windows than there is room for, on all devices
constexpr uint32_t kMostSms = 65536;
constexpr size_t kMostNameBytes = 256;

void PutLimits(ByteWriter& out, const std::vector<MemoryLimit>& limits) {
  out.Put(static_cast<uint32_t>(limits.size()));
  for (const MemoryLimit& limit : limits) {
    out.Put(limit.device);
    out.Put(limit.bytes);
  }
}

std::vector<MemoryLimit> GetLimits(ByteReader& in) {
  std::vector<MemoryLimit> limits(in.GetCount(12));
  for (MemoryLimit& limit : limits) {
    limit.device = in.Get<uint32_t>();
    limit.bytes = in.Get<uint64_t>();
  }
  return limits;
}

}  // namespace

void Put(ByteWriter& out, const ServerReady& ready) {
  out.PutString(ready.error);
  out.Put(static_cast<uint32_t>(ready.devices.size()));
  for (const ServedDevice& device : ready.devices) {
    for (const uint8_t byte : device.uuid) out.Put(byte);
    out.PutString(device.name);
    out.Put(device.total_bytes);
    out.Put(device.sm_count);
    out.Put(device.sms_per_chunk);
    out.Put(device.compute_major);
    out.Put(device.compute_minor);
    out.Put(device.pci_domain);
    out.Put(device.pci_bus);
    out.Put(device.pci_device);
    out.Put(device.traits);
  }
}

Result<ServerReady> GetServerReady(ByteReader& in) {
  ServerReady ready;
  ready.error = in.GetString();
  const uint32_t count = in.GetCount(kLeastDeviceBytes);
  if (count > kMaxDevices)
    return Fail(fmt::format("ServerReady message has {} devices, {} are allowed", count, kMaxDevices));
  ready.devices.resize(count);
  for (ServedDevice& device : ready.devices) {
    for (uint8_t& byte : device.uuid) byte = in.Get<uint8_t>();
    device.name = in.GetString();
    device.total_bytes = in.Get<uint64_t>();
    device.sm_count = in.Get<uint32_t>();
    device.sms_per_chunk = in.Get<uint32_t>();
    device.compute_major = in.Get<uint32_t>();
    device.compute_minor = in.Get<uint32_t>();
    device.pci_domain = in.Get<uint32_t>();
    device.pci_bus = in.Get<uint32_t>();
    device.pci_device = in.Get<uint32_t>();
    device.traits = in.Get<uint32_t>() & kAllDeviceTraits;
    if (device.sm_count > kMostSms || device.sms_per_chunk == 0 || device.sms_per_chunk > kMostSms ||
        device.name.size() > kMostNameBytes)
      return Fail("ServerReady message has an impossible device");
  }
  return Finish(in, std::move(ready), "ServerReady");
}

void Put(ByteWriter& out, const Attach& attach) {
  Put(out, attach.hello);
  out.Put(attach.pid);
  out.Put(attach.uid);
  out.Put(attach.active_thread_percentage);
  out.Put(attach.priority);
  PutLimits(out, attach.memory_limits);
  out.Put(static_cast<uint32_t>(attach.sm_ranges.size()));
  for (const SmRange& range : attach.sm_ranges) {
    out.Put(range.device);
    out.Put(range.first_sm);
    out.Put(range.count);
  }
  out.PutString(attach.name_space);
  out.Put(attach.own_percentage);
  PutLimits(out, attach.own_memory_limits);
  PutGroups(out, attach.memory_groups);
  out.Put(attach.kernel_ns);
  out.Put(attach.withheld_devices);
  out.PutString(attach.party);
  out.Put(attach.sharing);
}

Result<Attach> GetAttach(ByteReader& in) {
  Attach attach;
  TUTTI_ASSIGN(attach.hello, GetHello(in));
  attach.pid = in.Get<uint32_t>();
  attach.uid = in.Get<uint32_t>();
  attach.active_thread_percentage = in.Get<double>();
  attach.priority = in.Get<int32_t>();
  attach.memory_limits = GetLimits(in);
  attach.sm_ranges.resize(in.GetCount(12));
  for (SmRange& range : attach.sm_ranges) {
    range.device = in.Get<uint32_t>();
    range.first_sm = in.Get<uint32_t>();
    range.count = in.Get<uint32_t>();
  }
  attach.name_space = in.GetString();
  attach.own_percentage = in.Get<double>();
  attach.own_memory_limits = GetLimits(in);
  attach.memory_groups = GetGroups(in);
  attach.kernel_ns = in.Get<uint64_t>();
  attach.withheld_devices = in.Get<uint32_t>();
  attach.party = in.GetString();
  attach.sharing = in.Get<MemorySharing>();
  if (attach.sharing > MemorySharing::kAll) return Fail("Attach with a policy of sharing that does not exist");
  return Finish(in, std::move(attach), "Attach");
}

void Put(ByteWriter& out, const ServerQuery& query) { out.Put(query.what); }

Result<ServerQuery> GetServerQuery(ByteReader& in) {
  const ServerQuery query{.what = in.Get<QueryKind>()};
  return Finish(in, query, "ServerQuery");
}

void Put(ByteWriter& out, const ServerReply& reply) {
  out.Put(reply.status);
  out.PutString(reply.text);
  out.Put(static_cast<uint32_t>(reply.clients.size()));
  for (const ClientStatus& client : reply.clients) PutStatus(out, client);
}

Result<ServerReply> GetServerReply(ByteReader& in) {
  ServerReply reply;
  reply.status = in.Get<int32_t>();
  reply.text = in.GetString();
  const uint32_t count = in.GetCount(kLeastStatusBytes);
  if (count > kMostStatuses)
    return Fail(fmt::format("ServerReply message has {} clients, {} are allowed", count, kMostStatuses));
  for (uint32_t i = 0; i < count && in.ok(); ++i) reply.clients.push_back(GetStatus(in));
  return Finish(in, std::move(reply), "ServerReply");
}

void Put(ByteWriter& out, const ServerSet& set) {
  out.Put(set.what);
  out.Put(set.client);
  out.Put(set.device);
  out.Put(set.number);
  out.Put(set.second);
  out.Put(set.percentage);
  out.PutString(set.text);
}

Result<ServerSet> GetServerSet(ByteReader& in) {
  ServerSet set;
  set.what = in.Get<SettingKind>();
  set.client = in.Get<uint32_t>();
  set.device = in.Get<uint32_t>();
  set.number = in.Get<uint64_t>();
  set.second = in.Get<uint64_t>();
  set.percentage = in.Get<double>();
  set.text = in.GetString();
  return Finish(in, std::move(set), "ServerSet");
}

void Put(ByteWriter& out, const ServerPeer& peer) {
  out.Put(static_cast<uint32_t>(peer.what));
  out.Put(peer.server);
}

Result<ServerPeer> GetServerPeer(ByteReader& in) {
  ServerPeer peer;
  const auto what = in.Get<uint32_t>();
  if (what > static_cast<uint32_t>(PeerKind::kSettled)) return Fail("ServerPeer of an unknown kind");
  peer.what = static_cast<PeerKind>(what);
  peer.server = in.Get<uint32_t>();
  return Finish(in, peer, "ServerPeer");
}

void Put(ByteWriter& out, const TerminateClient& request) { out.Put(request.client); }

Result<TerminateClient> GetTerminateClient(ByteReader& in) {
  const TerminateClient request{.client = in.Get<uint32_t>()};
  return Finish(in, request, "TerminateClient");
}

void Put(ByteWriter& out, const ServerShutdown& request) { out.Put(static_cast<uint8_t>(request.force)); }

Result<ServerShutdown> GetServerShutdown(ByteReader& in) {
  const ServerShutdown request{.force = in.Get<uint8_t>() != 0};
  return Finish(in, request, "ServerShutdown");
}

}  // namespace tutti::wire
