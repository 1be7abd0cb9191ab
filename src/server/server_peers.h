// The machine's other servers, as the daemon introduces them: what each says that its clients have of every device
// (wire/server_page.h). So the servers keep to the device's memory together, with no message on the way of an
// allocation, and whether there is a daemon or not.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/error.h"
#include "device/device.h"
#include "device/memory_peers.h"
#include "device/time_peers.h"
#include "os/memory.h"
#include "wire/server_page.h"

namespace tutti::server {

// Its accounts join it, and leave it when it ends. Thread-safe.
class ServerPeers {
 public:
  // `backend` outlives it.
  explicit ServerPeers(device::Backend& backend);
  ~ServerPeers();
  ServerPeers(const ServerPeers&) = delete;

  // A page to write from now on. Earlier ones, of daemons before, go on being written for those that know no other.
  Status WriteTo(int page);
  // No longer to earlier ones.
  void WriteToLatest();
  // The page of a server, which is hostile; in place of an earlier one.
  Status ReadFrom(uint32_t server, int page);
  void Forget(uint32_t server);

  // What is said and heard of one device; the backend has it while there are others. Lives as long as this.
  device::TimePeers& time(uint32_t device) { return *devices_[device]; }

 private:
  class OfDevice final : public device::MemoryPeers, public device::TimePeers {
   public:
    OfDevice(ServerPeers* peers, uint32_t device) : peers_(peers), device_(device) {}
    uint64_t Exchange(uint64_t bytes) override { return peers_->Exchange(device_, bytes); }
    uint64_t bytes() const override { return peers_->OthersHave(device_).used; }
    void SayLeaving(uint64_t bytes) override { peers_->SayLeaving(device_, bytes); }
    uint64_t leaving_bytes() const override { return peers_->OthersHave(device_).leaving; }
    void Pause() override;
    void Say(std::span<const device::TimeDemand> demands, uint64_t until_ns) override {
      peers_->Say(device_, demands, until_ns);
    }
    void SayUntil(uint64_t until_ns) override { peers_->SayUntil(device_, until_ns); }
    void SayNow(size_t place, double sms_now) override { peers_->SayNow(device_, place, sms_now); }
    size_t Hear(std::span<device::TimeDemand> room, uint64_t now_ns) const override {
      return peers_->Hear(device_, room, now_ns);
    }
    double HearUrgent(uint32_t band, const device::SmSet& region, uint64_t now_ns) const override {
      return peers_->HearUrgent(device_, band, region, now_ns);
    }

   private:
    ServerPeers* const peers_;
    const uint32_t device_;
  };
  struct Other {
    os::Mapping mapping;
    std::vector<std::optional<uint32_t>> places;  // in its page, of each of our devices

    const wire::ServerPage* page() const { return reinterpret_cast<const wire::ServerPage*>(mapping.data()); }
  };
  struct Bytes {
    uint64_t used = 0, leaving = 0;
  };
  uint64_t Exchange(uint32_t device, uint64_t bytes);
  void SayLeaving(uint32_t device, uint64_t bytes);
  Bytes OthersHave(uint32_t device) const;
  Bytes Sum(uint32_t device) const;  // the lock is held
  void Say(uint32_t device, std::span<const device::TimeDemand> demands, uint64_t until_ns);
  void SayUntil(uint32_t device, uint64_t until_ns);
  void SayNow(uint32_t device, size_t place, double sms_now);
  size_t Hear(uint32_t device, std::span<device::TimeDemand> room, uint64_t now_ns) const;
  double HearUrgent(uint32_t device, uint32_t band, const device::SmSet& region, uint64_t now_ns) const;
  template <typename Use>
  void ForEachDemand(uint32_t device, uint64_t now_ns, const Use& use) const;
  void ShareTime();

  device::Backend& backend_;
  std::vector<std::unique_ptr<OfDevice>> devices_;

  mutable std::mutex mutex_;
  std::vector<os::Mapping> own_;  // the latest last
  std::vector<uint64_t> used_bytes_, leaving_bytes_;  // by device, as said
  std::map<uint32_t, Other> others_;  // by process id
};

}  // namespace tutti::server
