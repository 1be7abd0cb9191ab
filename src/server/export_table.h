// The memory that clients of this server have exported to each other, and who may import it.
//
// Exported memory is found as long as its client holds it. A descriptor made of it extends that: as long as any process
// has the descriptor open, the memory exists and is found, whatever becomes of the client. The descriptor is one end of
// a socket pair that says what it stands for; the server learns by the other end that nobody has it any more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "device/device.h"
#include "os/fd.h"
#include "wire/messages.h"
#include "wire/server_messages.h"

namespace tutti::server {

// Thread-safe, but for Describe.
class ExportTable {
 public:
  // Of an exporter or importer.
  struct Client {
    uint32_t id = 0;
    uint32_t uid = 0;
    std::string party;  // of the user's containers, where they are told apart
    wire::MemorySharing policy = wire::MemorySharing::kSameUser;
  };
  // `watch` calls `gone` on the main thread when the other end of a socket is closed, until `unwatch`. At most
  // `most_descriptors` are open at a time, half of them made for one user or container.
  ExportTable(std::function<Status(int fd, std::function<void()> gone)> watch, std::function<void(int fd)> unwatch,
              size_t most_descriptors);
  ~ExportTable();

  // The same for the same memory. NOT_PERMITTED if the policy is off, OUT_OF_MEMORY beyond kMostOfOne of a client.
  static constexpr size_t kMostOfOne = 65536;
  Result<wire::ExportedMemory> Add(const Client& exporter, const std::shared_ptr<device::SharedMemory>& memory);

  struct Found {
    std::shared_ptr<device::SharedMemory> memory;
    bool own = false;  // the importer has exported it
  };
  // INVALID_HANDLE if there is none by that name or it is no longer there; NOT_PERMITTED if a policy forbids it.
  Result<Found> Find(const Client& importer, const wire::ExportedMemory& name);
  // A descriptor for memory that the client could import. Main thread.
  Result<os::Fd> Describe(const Client& client, const wire::ExportedMemory& name);

  // The client has ended: what it has exported is found by descriptors only.
  void Forget(uint32_t client);

 private:
  struct Entry {
    Client exporter;
    wire::ExportedMemory name;
    std::weak_ptr<device::SharedMemory> memory;
    bool ended = false;  // the exporter
    uint32_t descriptors = 0;
  };
  struct Descriptor {
    os::Fd end;  // ours
    uint64_t id;  // of its entry
    std::pair<uint32_t, std::string> holder;  // user and container it was made for
    std::shared_ptr<device::SharedMemory> memory;
  };
  Result<Found> FindLocked(const Client& importer, const wire::ExportedMemory& name);
  void DescriptorGone(int fd);
  void Sweep();

  const std::function<Status(int, std::function<void()>)> watch_;
  const std::function<void(int)> unwatch_;
  const size_t most_descriptors_;
  std::mutex mutex_;
  std::map<uint64_t, Entry> entries_;  // by id
  std::map<const device::SharedMemory*, uint64_t> by_memory_;
  std::map<int, Descriptor> descriptors_;  // by our end
  std::map<uint32_t, size_t> count_;  // of entries, by exporter
  size_t sweep_at_ = 64;  // entries
};

}  // namespace tutti::server
