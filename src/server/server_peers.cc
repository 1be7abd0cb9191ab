#include "server/server_peers.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/clock.h"

namespace tutti::server {
namespace {

constexpr double kThousandths = 1000;
constexpr size_t kMostOwn = 4;  // who has not heard of any of the last four daemons will hear of no other

wire::ServerPage* PageOf(const os::Mapping& mapping) { return reinterpret_cast<wire::ServerPage*>(mapping.data()); }

uint32_t Thousandths(double value) { return static_cast<uint32_t>(value * kThousandths); }

void Write(const device::TimeDemand& demand, wire::ServerPage::Demand& to) {
  to.band.store(demand.band, std::memory_order_relaxed);
  to.weight.store(Thousandths(demand.weight), std::memory_order_relaxed);
  to.sms.store(Thousandths(demand.sms), std::memory_order_relaxed);
  to.sms_now.store(Thousandths(demand.sms_now), std::memory_order_relaxed);
  const device::SmSet word(~0ull);
  for (size_t i = 0; i < std::size(to.region); ++i)
    to.region[i].store((demand.region >> (64 * i) & word).to_ullong(), std::memory_order_relaxed);
}

device::SmSet RegionOf(const wire::ServerPage::Demand& demand) {
  static_assert(64 * std::extent_v<decltype(demand.region)> == device::kMaxSms);
  device::SmSet region;
  for (size_t i = 0; i < std::size(demand.region); ++i)
    region |= device::SmSet(demand.region[i].load(std::memory_order_relaxed)) << (64 * i);
  return region;
}

// Whatever is there is mapped only if it cannot shrink.
Result<os::Mapping> MapPage(int file, bool writable) {
  TUTTI_ASSIGN(const uint64_t bytes, os::SealedMemorySize(file));
  if (bytes != sizeof(wire::ServerPage)) return Fail("a server's page of another version");
  return os::Mapping::Shared(file, bytes, writable);
}

}  // namespace

ServerPeers::ServerPeers(device::Backend& backend)
    : backend_(backend), used_bytes_(backend.devices().size()), leaving_bytes_(used_bytes_.size()) {
  for (uint32_t device = 0; device < used_bytes_.size(); ++device) {
    devices_.push_back(std::make_unique<OfDevice>(this, device));
    backend_.memory(device).Join(devices_.back().get());
  }
}

ServerPeers::~ServerPeers() {
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    backend_.ShareTime(device, nullptr);
    backend_.memory(device).Join(nullptr);
  }
}

Status ServerPeers::WriteTo(int page) {
  TUTTI_ASSIGN(os::Mapping mapping, MapPage(page, true));
  wire::ServerPage* const own = PageOf(mapping);
  const auto devices = backend_.devices();
  std::lock_guard lock(mutex_);
  own->device_count = static_cast<uint32_t>(std::min<size_t>(devices.size(), wire::kMaxDevices));
  for (uint32_t device = 0; device < own->device_count; ++device) {
    std::ranges::copy(devices[device].uuid, own->devices[device].uuid);
    own->devices[device].used_bytes.store(used_bytes_[device], std::memory_order_relaxed);
    own->devices[device].leaving_bytes.store(leaving_bytes_[device], std::memory_order_relaxed);
  }
  own->written.store(1, std::memory_order_seq_cst);
  if (own_.size() == kMostOwn) own_.erase(own_.begin());
  own_.push_back(std::move(mapping));
  return {};
}

void ServerPeers::WriteToLatest() {
  std::lock_guard lock(mutex_);
  if (!own_.empty()) own_.erase(own_.begin(), own_.end() - 1);
}

Status ServerPeers::ReadFrom(uint32_t server, int page) {
  Other other;
  TUTTI_ASSIGN(other.mapping, MapPage(page, false));
  if (other.page()->written.load(std::memory_order_acquire) == 0) return Fail("a server's page that is not written");
  const uint32_t count = std::min(other.page()->device_count, wire::kMaxDevices);
  for (const wire::DeviceInfo& device : backend_.devices()) {
    std::optional<uint32_t>& place = other.places.emplace_back();
    for (uint32_t i = 0; i < count && !place; ++i) {
      if (std::memcmp(device.uuid, other.page()->devices[i].uuid, sizeof device.uuid) == 0) place = i;
    }
  }
  {
    std::lock_guard lock(mutex_);
    others_.insert_or_assign(server, std::move(other));
  }
  ShareTime();
  return {};
}

void ServerPeers::Forget(uint32_t server) {
  {
    std::lock_guard lock(mutex_);
    others_.erase(server);
  }
  ShareTime();
}

// Main thread. Not under the lock, which the backend takes in its turn.
void ServerPeers::ShareTime() {
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    const bool shared =
        std::ranges::any_of(others_, [=](const auto& other) { return other.second.places[device].has_value(); });
    backend_.ShareTime(device, shared ? devices_[device].get() : nullptr);
  }
}

void ServerPeers::Say(uint32_t device, std::span<const device::TimeDemand> demands, uint64_t until_ns) {
  if (device >= wire::kMaxDevices) return;
  demands = demands.first(std::min<size_t>(demands.size(), wire::ServerPage::kMostDemands));
  std::lock_guard lock(mutex_);
  for (const os::Mapping& own : own_) {
    auto& place = PageOf(own)->devices[device];
    for (size_t i = 0; i < demands.size(); ++i) Write(demands[i], place.demands[i]);
    place.demand_count.store(static_cast<uint32_t>(demands.size()), std::memory_order_relaxed);
    place.wanted_until_ns.store(until_ns, std::memory_order_release);
  }
}

void ServerPeers::SayUntil(uint32_t device, uint64_t until_ns) {
  if (device >= wire::kMaxDevices) return;
  std::lock_guard lock(mutex_);
  for (const os::Mapping& own : own_)
    PageOf(own)->devices[device].wanted_until_ns.store(until_ns, std::memory_order_release);
}

void ServerPeers::SayNow(uint32_t device, size_t place, double sms_now) {
  if (device >= wire::kMaxDevices || place >= wire::ServerPage::kMostDemands) return;
  std::lock_guard lock(mutex_);
  for (const os::Mapping& own : own_) {
    PageOf(own)->devices[device].demands[place].sms_now.store(Thousandths(sms_now), std::memory_order_relaxed);
  }
}

// Those of others that hold. `use`: (server, demand); false ends it. The lock is held.
template <typename Use>
void ServerPeers::ForEachDemand(uint32_t device, uint64_t now_ns, const Use& use) const {
  for (const auto& [server, other] : others_) {
    if (!other.places[device]) continue;
    const auto& place = other.page()->devices[*other.places[device]];
    if (place.wanted_until_ns.load(std::memory_order_acquire) <= now_ns) continue;
    const uint32_t count = std::min(place.demand_count.load(std::memory_order_relaxed), wire::ServerPage::kMostDemands);
    for (uint32_t i = 0; i < count; ++i) {
      if (!use(server, place.demands[i])) return;
    }
  }
}

size_t ServerPeers::Hear(uint32_t device, std::span<device::TimeDemand> room, uint64_t now_ns) const {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  ForEachDemand(device, now_ns, [&](uint32_t server, const wire::ServerPage::Demand& demand) {
    if (count == room.size()) return false;
    room[count++] = {.weight = demand.weight.load(std::memory_order_relaxed) / kThousandths,
                     .sms = demand.sms.load(std::memory_order_relaxed) / kThousandths,
                     .sms_now = demand.sms_now.load(std::memory_order_relaxed) / kThousandths,
                     .band = demand.band.load(std::memory_order_relaxed),
                     .region = RegionOf(demand),
                     .server = server};
    return true;
  });
  return count;
}

double ServerPeers::HearUrgent(uint32_t device, uint32_t band, const device::SmSet& region, uint64_t now_ns) const {
  std::lock_guard lock(mutex_);
  double sms = 0;
  ForEachDemand(device, now_ns, [&](uint32_t, const wire::ServerPage::Demand& demand) {
    const uint32_t now = demand.sms_now.load(std::memory_order_relaxed);
    if (now != 0 && demand.band.load(std::memory_order_relaxed) < band)
      sms += now / kThousandths * device::Overlap(RegionOf(demand), region);
    return true;
  });
  return sms;
}

// seq_cst: two that exchange at once cannot both miss each other.
uint64_t ServerPeers::Exchange(uint32_t device, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  used_bytes_[device] = bytes;
  if (device < wire::kMaxDevices) {
    for (const os::Mapping& own : own_) PageOf(own)->devices[device].used_bytes.store(bytes, std::memory_order_seq_cst);
  }
  return Sum(device).used;
}

void ServerPeers::SayLeaving(uint32_t device, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  leaving_bytes_[device] = bytes;
  if (device >= wire::kMaxDevices) return;
  for (const os::Mapping& own : own_)
    PageOf(own)->devices[device].leaving_bytes.store(bytes, std::memory_order_relaxed);
}

ServerPeers::Bytes ServerPeers::OthersHave(uint32_t device) const {
  std::lock_guard lock(mutex_);
  return Sum(device);
}

// What one says beyond what the device has is not believed.
ServerPeers::Bytes ServerPeers::Sum(uint32_t device) const {
  const uint64_t most = backend_.devices()[device].total_bytes;
  Bytes sum;
  for (const auto& [server, other] : others_) {
    if (!other.places[device]) continue;
    const auto& place = other.page()->devices[*other.places[device]];
    const uint64_t used = std::min(place.used_bytes.load(std::memory_order_seq_cst), most - std::min(most, sum.used));
    sum.used += used;
    sum.leaving += std::min(used, place.leaving_bytes.load(std::memory_order_relaxed));
  }
  return sum;
}

void ServerPeers::OfDevice::Pause() {
  constexpr uint64_t kLeastNs = 10'000, kMostNs = 100'000;
  const uint64_t random = NowNs() * 0x9e3779b97f4a7c15 >> 32;  // nobody gains by knowing it
  std::this_thread::sleep_for(std::chrono::nanoseconds(kLeastNs + random % (kMostNs - kLeastNs)));
}

}  // namespace tutti::server
