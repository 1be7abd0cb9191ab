// SM partitions: SMs that belong to one partition's clients and to nobody else. Daemon thread only.
//
// SMs are given out in chunks. On a GPU a chunk is what the hardware can separate (8 SMs since Hopper); the CPU device
// can separate each SM, so there a chunk is one SM. The table is the daemon's, not a server's, because the SMs of all
// servers are the same: one table keeps partitions of different servers apart, too.
//
// A client names its partition as "<device UUID>/<id>" in CUDA_MPS_SM_PARTITION; of both a start is enough if it is
// unique.
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

inline constexpr uint32_t kSmsPerChunk = 1;

struct Partition {
  std::string device;  // UUID
  std::string id;
  std::string server;  // protocol 3: whose it is, and its name there
  std::string name;
  uint32_t chunks = 0;
  bool include_remainder = false;   // take the SMs that are left over when the device is cut into chunks
  std::vector<wire::SmRange> sms;   // empty: configured, its server does not run

  bool created() const { return !sms.empty(); }
  uint32_t sm_count() const;
  std::string full_id() const { return device + "/" + id; }
};

class PartitionTable {
 public:
  // Gives SMs of a device with `sm_count` SMs to the partition, whose device, chunks and include_remainder are set.
  // Fails if so many are not free.
  Status Create(Partition& partition, uint32_t sm_count) const;

  Partition& Add(Partition partition);
  // Fails if none or several are meant.
  Result<const Partition*> Find(std::string_view device, std::string_view id) const;
  void Remove(const Partition& partition);

  std::vector<Partition>& all() { return partitions_; }
  const std::vector<Partition>& all() const { return partitions_; }
  std::vector<const Partition*> Of(std::string_view device) const;
  Partition* Named(std::string_view server, std::string_view device, std::string_view name);
  uint32_t FreeSms(std::string_view device, uint32_t sm_count) const;

  // The SMs for a client that names the partition `wanted` ("": none). `every_client`: who has no partition has no SM
  // (-S); otherwise such a client has the SMs that no partition has. A name that means nothing gives no SM at all.
  std::vector<wire::SmRange> RangesFor(std::string_view wanted, std::string_view server,
                                       const std::vector<wire::ServedDevice>& devices, bool every_client) const;

  // Who runs in a partition, as far as attached; asking with the process ids that live forgets the others, and so does
  // noting one more when they have become many.
  void NoteClient(std::string_view wanted, uint32_t pid);
  bool InUse(const Partition& partition, const std::set<uint32_t>& living);
  // Process ids, of which some may have gone.
  std::set<uint32_t> ClientsOf(const Partition& partition) const;

 private:
  std::vector<bool> Taken(std::string_view device, uint32_t sm_count) const;

  std::vector<Partition> partitions_;
  struct Noted {
    std::set<uint32_t> pids;
    size_t most = 64;  // then those that have ended are forgotten
  };
  std::map<std::string, Noted> clients_;  // by full id
};

// Protocol 2: 36 letters and digits; protocol 3: 32 hexadecimal digits.
std::string NewPartitionId(int protocol);

}  // namespace tutti::daemon
