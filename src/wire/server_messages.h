// Messages between the control daemon and a server, on the socket pair the daemon gave the server at its start.
//
//   server ── ServerReady ──> daemon            once, when its devices are up or have failed
//   daemon ── Attach + client's connection ──> server     the server answers (Welcome or Refuse)
//   daemon ── Query, Set, TerminateClient, Shutdown ──> server ── ServerReply (same serial) ──> daemon
//
// A client is named by the server's number for it (ClientStatus::id), which nothing else ever gets. Process ids are for
// people: two clients of other PID namespaces may have the same, and what a client claims for its own is a claim. End
// of file on the socket: the daemon is gone, the server ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "wire/messages.h"
#include "wire/sm_range.h"

namespace tutti::wire {

struct ServedDevice {
  uint8_t uuid[16] = {};
  std::string name;
  uint64_t total_bytes = 0;
  uint32_t sm_count = 0;
  uint32_t compute_major = 0;
  uint32_t compute_minor = 0;
  uint32_t pci_domain = 0;
  uint32_t pci_bus = 0;
  uint32_t pci_device = 0;
};

struct ServerReady {
  std::string error;  // empty: ready
  std::vector<ServedDevice> devices;
};
void Put(ByteWriter& out, const ServerReady& ready);
Result<ServerReady> GetServerReady(ByteReader& in);

struct MemoryLimit {
  uint32_t device = 0;
  uint64_t bytes = 0;
};

// A limit on what several clients hold together on one device: those of a namespace ("namespace:server/name"), of a
// cgroup ("cgroup:/path"). The server has one account per name and device; the first Attach that names it creates it,
// each sets its limits. More than the soft limit is borrowed: when the device is full and a client within its own soft
// limit needs memory, the server ends a client of such a group (it sees CUDA_ERROR_MPS_CLIENT_TERMINATED).
struct MemoryGroupLimit {
  std::string name;
  uint32_t device = 0;
  uint64_t soft_bytes = ~0ull;  // ~0: none
  uint64_t hard_bytes = ~0ull;

  bool operator==(const MemoryGroupLimit&) const = default;
};

// fd 0: the client's connection.
struct Attach {
  Hello hello;  // as received
  uint32_t pid = 0;  // SO_PEERCRED in the daemon's PID namespace; 0: not visible from there
  uint32_t uid = 0;
  double active_thread_percentage = 100;  // the effective one: minimum of daemon, server and client
  int32_t priority = 0;
  std::vector<MemoryLimit> memory_limits;
  std::vector<SmRange> sm_ranges;  // of its partition; a device that is not named: all of its SMs
  std::string name_space;  // "server/namespace" it came to; clients of one share a collective limit
  // What the client asked for itself, for the daemon's later reckoning: the server only repeats it in ClientStatus.
  double own_percentage = 100;
  std::vector<MemoryLimit> own_memory_limits;
  std::vector<MemoryGroupLimit> memory_groups;  // that it belongs to
  uint64_t kernel_ns = 0;  // that one of its kernels may run; 0: for ever
  uint32_t withheld_devices = 0;  // bit per device: not this client's
  // whose part of the server it takes (daemon/access/visitor.h); "": its owner's, who may have all of it
  std::string party;
};
void Put(ByteWriter& out, const Attach& attach);
Result<Attach> GetAttach(ByteReader& in);

enum class QueryKind : uint32_t { kClients = 1, kTrace = 2, kFaults = 3 };

// fd 0: a memory file for an answer that is longer than a packet (kBodyInAskersFile), and for the trace. The daemon
// takes no descriptors from servers.
struct ServerQuery {
  QueryKind what = QueryKind::kClients;
};
void Put(ByteWriter& out, const ServerQuery& query);
Result<ServerQuery> GetServerQuery(ByteReader& in);

enum class ClientState : uint32_t { kActive = 0, kInactive = 1, kFault = 2 };

// One client on one device. A client that uses several devices has an entry for each.
struct ClientStatus {
  uint32_t id = 0;  // the server's number for it
  uint32_t pid = 0;
  uint32_t uid = 0;
  uint64_t pid_namespace = 0;
  std::string command_line;
  uint32_t device = 0;
  ClientState state = ClientState::kActive;
  double percentage = 100;
  double share = 0;  // of the device's time, lately, 0 .. 1
  uint64_t used_bytes = 0;
  uint64_t limit_bytes = ~0ull;
  uint64_t launches = 0;
  uint64_t busy_ns = 0;
  int32_t priority = 0;
  std::string name_space;
  double own_percentage = 100;  // as attached
  uint64_t own_limit_bytes = ~0ull;
  uint64_t kernel_ns = 0;  // limit on the time of a kernel; 0: none
  std::vector<MemoryGroupLimit> memory_groups;  // on this device, with
  std::vector<uint64_t> memory_group_bytes;  // what each holds now
  std::vector<uint64_t> counters;  // of the client on all devices, in the order of metrics/counters.def
};

// For kClients: `clients`, and in `text` what runs now, one JSON object per line (server/running_kernels.h). For
// kFaults `text`: the last faults, the oldest first, one JSON object per line. For kTrace the query's file has one
// Chrome trace event per line (ph X, pid = client's pid, tid = SM, ts and dur in microseconds, name = kernel); taking
// it empties the trace.
struct ServerReply {
  int32_t status = 0;  // CUresult
  std::string text;
  std::vector<ClientStatus> clients;
};
void Put(ByteWriter& out, const ServerReply& reply);
Result<ServerReply> GetServerReply(ByteReader& in);

enum class SettingKind : uint32_t {
  kPolicy = 1,  // text: share, priority, time_slice or partition
  kPercentage = 2,  // of the running client `client`
  kMemoryLimit = 3,  // of the running client `client` on `device`
  kTrace = 4,  // number: 0 or 1
  kPriority = 5,  // of the running client `client`; number: 0 normal, 1 below normal
  kKernelTime = 6,  // of the running client `client`; number: ns that a kernel may run, 0: for ever
  kMemoryGroup = 7,  // text: name, device; number: hard limit in bytes, second: soft limit; ~0: none
  kLog = 8,  // fd 0: the file that takes the log, and all other output, from now on
  // number: of running clients of the namespace `text` (all if empty) that have none of their own
  kDefaultPriority = 9,
};

struct ServerSet {
  SettingKind what = SettingKind::kPolicy;
  uint32_t client = 0;
  uint32_t device = 0;
  uint64_t number = 0;  // bytes, or a switch
  uint64_t second = 0;
  double percentage = 0;
  std::string text;
};
void Put(ByteWriter& out, const ServerSet& set);
Result<ServerSet> GetServerSet(ByteReader& in);

// Answered when the client is gone: its calls fail with CUDA_ERROR_MPS_CLIENT_TERMINATED from then on.
struct TerminateClient {
  uint32_t client = 0;
};
void Put(ByteWriter& out, const TerminateClient& request);
Result<TerminateClient> GetTerminateClient(ByteReader& in);

// Without force: no new clients, exit with the last one. With force: all clients are terminated at once.
struct ServerShutdown {
  bool force = false;
};
void Put(ByteWriter& out, const ServerShutdown& request);
Result<ServerShutdown> GetServerShutdown(ByteReader& in);

}  // namespace tutti::wire
