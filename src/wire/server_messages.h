// Messages between a server and its control daemon: the one that gave it a socket pair at its start, or a later one.
//
//   server ── ServerReady ──> daemon            when its devices are up or have failed, once to each daemon
//   daemon ── Attach + client's connection ──> server     the server answers (Welcome or Refuse)
//   daemon ── Query, Set, TerminateClient, Shutdown ──> server ── ServerReply (same serial) ──> daemon
//   daemon ── ServerPeer + a server's page ──> server ── ServerReply ──> daemon
//
// Messages name a client by the server's number for it (ClientStatus::id), which is never reused. Process ids are for
// display: clients in different PID namespaces may share one, and the id a client reports for itself is not trusted.
// End of file on the socket means that the daemon is gone (server/daemon_link.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "wire/device_traits.h"
#include "wire/limit_text.h"
#include "wire/messages.h"
#include "wire/sm_range.h"

namespace tutti::wire {

struct ServedDevice {
  uint8_t uuid[16] = {};
  std::string name;
  uint64_t total_bytes = 0;
  uint32_t sm_count = 0;
  uint32_t sms_per_chunk = 1;  // partitions get SMs in multiples of this
  uint32_t compute_major = 0;
  uint32_t compute_minor = 0;
  uint32_t pci_domain = 0;
  uint32_t pci_bus = 0;
  uint32_t pci_device = 0;
  uint32_t traits = 0;  // wire/device_traits.h
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

// A collective limit on the memory of several clients on one device: those of a namespace ("namespace:server/name") or
// a cgroup ("cgroup:/path"). The server keeps one account per name and device; the first Attach that names it creates
// it, and each Attach sets its limits. Memory above the soft limit is borrowed: when the device is full and a client
// within its own soft limit needs memory, the server terminates a client of a borrowing group, which sees
// CUDA_ERROR_MPS_CLIENT_TERMINATED.
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
  std::vector<SmRange> sm_ranges;  // of its partition; of a device that none names: all SMs
  std::string name_space;  // "server/namespace" it connected to; clients of one share a collective limit
  // What the client itself asked for. The server only repeats it in ClientStatus, where the daemon needs it to compute
  // effective limits.
  double own_percentage = 100;
  std::vector<MemoryLimit> own_memory_limits;
  std::vector<MemoryGroupLimit> memory_groups;  // that it belongs to
  uint64_t kernel_ns = 0;  // that one of its kernels may run; 0: no limit
  uint32_t withheld_devices = 0;  // bit per device: the client may not use it
  // whose quota in the server it counts against (daemon/access/visitor.h); "": the owner's, who has none
  std::string party;
  MemorySharing sharing = MemorySharing::kSameUser;
};
void Put(ByteWriter& out, const Attach& attach);
Result<Attach> GetAttach(ByteReader& in);

enum class QueryKind : uint32_t { kClients = 1, kTrace = 2, kFaults = 3 };

// fd 0: a memory file that takes a reply longer than a packet (kBodyInAskersFile), and the trace. The daemon brings it
// because it accepts no descriptors from servers.
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
  double share = 0;  // of the device's recent time, 0 .. 1
  uint64_t used_bytes = 0;
  uint64_t limit_bytes = ~0ull;
  uint64_t launches = 0;
  uint64_t busy_ns = 0;
  int32_t priority = 0;
  std::string name_space;
  double own_percentage = 100;  // as attached
  uint64_t own_limit_bytes = ~0ull;
  uint64_t kernel_ns = 0;  // limit on the time of a kernel; 0: none
  std::vector<MemoryGroupLimit> memory_groups;  // on this device, and
  std::vector<uint64_t> memory_group_bytes;  // what each of them holds now
  std::vector<uint64_t> counters;  // of the client on all devices, in the order of metrics/counters.def
};

// kClients fills `clients`, and `text` with the running kernels, one JSON object per line (server/running_kernels.h).
// kFaults fills `text` with the last faults, oldest first, one JSON object per line. kTrace writes one Chrome trace
// event per line into the query's file (ph X, pid = client's pid, tid = SM, ts and dur in microseconds, name = kernel)
// and empties the trace.
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
  kKernelTime = 6,  // of the running client `client`; number: ns that a kernel may run, 0: no limit
  kMemoryGroup = 7,  // text: name, device; number: hard limit in bytes, second: soft limit; ~0: none
  kLog = 8,  // fd 0: the file for the log, and all other output, from now on
  // number: for running clients of the namespace `text` (all if empty) that have no priority of their own
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

// The servers of a daemon share the machine's devices: each tells the others what its clients have (server_page.h). A
// server gets a page of its own to write first, then one of each other.
enum class PeerKind : uint32_t {
  kOwn = 0,  // fd 0: its own page, for writing
  kOther = 1,  // fd 0: the page of the server `server`, for reading; in place of an earlier one
  kGone = 2,  // that server has ended
  kSettled = 3,  // all others read its latest page: it need not write earlier ones
};
struct ServerPeer {
  PeerKind what = PeerKind::kOwn;
  uint32_t server = 0;  // process id
};
void Put(ByteWriter& out, const ServerPeer& peer);
Result<ServerPeer> GetServerPeer(ByteReader& in);

// Answered when the client's session has ended; its calls fail with CUDA_ERROR_MPS_CLIENT_TERMINATED from then on.
struct TerminateClient {
  uint32_t client = 0;
};
void Put(ByteWriter& out, const TerminateClient& request);
Result<TerminateClient> GetTerminateClient(ByteReader& in);

// Without force the server refuses new clients and exits with its last one; with force it terminates all clients at
// once.
struct ServerShutdown {
  bool force = false;
};
void Put(ByteWriter& out, const ServerShutdown& request);
Result<ServerShutdown> GetServerShutdown(ByteReader& in);

}  // namespace tutti::wire
