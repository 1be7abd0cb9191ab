// SM partitions: SMs reserved for one partition's clients. Daemon thread only.
//
// SMs are allocated in chunks. On a GPU a chunk is the unit that the hardware can isolate (8 SMs since Hopper); on the
// CPU device it is one SM, unless TUTTI_CPU_SM_GROUP says otherwise. The daemon owns the table, not a server, because
// all servers share the SMs: one table keeps partitions of different servers disjoint, too.
//
// A client names its partition as "<device UUID>/<id>" in CUDA_MPS_SM_PARTITION; a unique prefix of either is enough.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "wire/server_messages.h"

namespace tutti::daemon {

struct Partition {
  std::string device;  // UUID
  std::string id;
  std::string server;  // protocol 3: whose it is, and its name there
  std::string name;
  uint32_t chunks = 0;
  bool include_remainder = false;  // include the SMs left over when the device is divided into chunks
  std::vector<wire::SmRange> sms;  // empty: configured, its server does not run

  bool created() const { return !sms.empty(); }
  uint32_t sm_count() const;
  std::string full_id() const { return device + "/" + id; }
};

// The clients that servers have.
struct LivingClients {
  std::set<uint32_t> pids;
  // Every server has answered. One that has not, since it is about to be adopted or cannot be asked, may have clients.
  bool all = true;
};

class PartitionTable {
 public:
  // Allocates SMs of the device to the partition, whose device, chunks and include_remainder are set. Fails if not
  // enough are free.
  Status Create(Partition& partition, const wire::ServedDevice& device) const;

  Partition& Add(Partition partition);
  // Fails if none or several match.
  Result<const Partition*> Find(std::string_view device, std::string_view id) const;
  void Remove(const Partition& partition);

  std::vector<Partition>& all() { return partitions_; }
  const std::vector<Partition>& all() const { return partitions_; }
  std::vector<const Partition*> Of(std::string_view device) const;
  Partition* Named(std::string_view server, std::string_view device, std::string_view name);
  uint32_t FreeSms(std::string_view device, uint32_t sm_count) const;

  // The SMs for a client that names the partition `wanted` ("": none). `every_client` (-S): a client without a
  // partition gets no SM; otherwise it gets the SMs outside all partitions. An unknown name gets no SM at all.
  std::vector<wire::SmRange> RangesFor(std::string_view wanted, std::string_view server,
                                       const std::vector<wire::ServedDevice>& devices, bool every_client) const;

  // The attached clients of a partition. A query with the living ones drops the others, and so does adding one when the
  // list has grown.
  void NoteClient(std::string_view wanted, uint32_t pid);
  bool InUse(const Partition& partition, const LivingClients& living);
  // Process ids, some of which may have ended.
  std::set<uint32_t> ClientsOf(const Partition& partition) const;

 private:
  std::vector<bool> Taken(std::string_view device, uint32_t sm_count) const;

  std::vector<Partition> partitions_;
  struct Noted {
    std::set<uint32_t> pids;
    size_t most = 64;  // above it, ended ones are dropped
  };
  std::map<std::string, Noted> clients_;  // by full id
};

// Protocol 2: 36 letters and digits; protocol 3: 32 hexadecimal digits.
std::string NewPartitionId(int protocol);

}  // namespace tutti::daemon
