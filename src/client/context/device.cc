#include "client/context/device.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "client/base/environment.h"
#include "client/context/context.h"
#include "client/session/attachment.h"
#include "cuda/device_attribute.h"
#include "wire/visible_devices.h"

namespace tutti::client {
namespace {

// Reads the list as CUDA does: an entry that names no device ends it. That is logged, unless it is the usual way to ask
// for no device.
std::vector<uint32_t> Named(std::string_view list, std::span<const wire::DeviceInfo> all) {
  const auto visible = wire::VisibleDevices(list, all);
  const size_t entries = list.empty() ? 0 : 1 + static_cast<size_t>(std::ranges::count(list, ','));
  if (visible.size() < entries && list != "-1") {
    log::Warning(
        "CUDA_VISIBLE_DEVICES=\"{}\": the first {} of {} entries are used, since the next one names no device, or one "
        "twice: there {} {} here, counted from 0 (tutti device lists them)",
        list, visible.size(), entries, all.size() == 1 ? "is" : "are", all.size());
  }
  return visible;
}

// The server's numbers of the devices this process may use, in order.
std::vector<uint32_t> Given(const wire::ChannelHeader& header) {
  std::vector<uint32_t> given;
  for (uint32_t i = 0; i < std::min(header.device_count, wire::kMaxDevices); ++i) {
    if (std::ranges::any_of(header.devices[i].uuid, [](uint8_t byte) { return byte != 0; })) given.push_back(i);
  }
  return given;
}

std::vector<uint32_t> Chosen(const wire::ChannelHeader& header) {
  const std::vector<uint32_t> given = Given(header);
  if (!IsSet("CUDA_VISIBLE_DEVICES")) return given;
  std::vector<wire::DeviceInfo> infos;
  for (const uint32_t index : given) infos.push_back(header.devices[index]);
  std::vector<uint32_t> chosen = Named(Environment("CUDA_VISIBLE_DEVICES"), infos);
  for (uint32_t& index : chosen) index = given[index];
  return chosen;
}

}  // namespace

bool Device::Install() {
  const wire::ChannelHeader& header = Attachment::Get().header();
  const auto chosen = Chosen(header);
  count_ = 0;
  devices_ = new Device[std::max<size_t>(chosen.size(), 1)];
  for (const uint32_t index : chosen) {
    Device& device = devices_[count_];
    device.ordinal_ = count_++;
    device.index_ = index;
    device.info_ = &header.devices[index];
    device.state_ = &header.states[index];
    device.primary_ = Context::MakePrimary(device);
    if (device.primary_ == nullptr) return false;
  }
  return true;
}

int Device::Check() const {
  if (const int failed = error(); failed != 0) [[unlikely]] {
    Attachment::WindUp(index_);
    return failed;
  }
  const int ended = Attachment::Get().ended();
  if (ended != 0) [[unlikely]]
    Attachment::WindUp();
  return ended;
}

bool Device::Reinstall() {
  const wire::ChannelHeader& header = Attachment::Get().header();
  const std::span all(header.devices, std::min(header.device_count, wire::kMaxDevices));
  for (Device& device : std::span(devices_, static_cast<size_t>(count_))) {
    const auto same = std::ranges::find_if(
        all, [&](const wire::DeviceInfo& i) { return std::ranges::equal(i.uuid, device.info_->uuid); });
    if (same == all.end()) return false;
    device.index_ = static_cast<uint32_t>(same - all.begin());
    device.info_ = &header.devices[device.index_];
    device.state_ = &header.states[device.index_];
  }
  return true;
}

Device* Device::Find(cuda::CUdevice ordinal) { return ordinal >= 0 && ordinal < count_ ? &devices_[ordinal] : nullptr; }

int Device::Attribute(cuda::CUdevice_attribute attribute) const {
  if (attribute == cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) {
    return static_cast<int>(std::max(1u, given_sms()));
  }
  if (attribute == cuda::CU_DEVICE_ATTRIBUTE_MPS_ENABLED) return Attachment::Get().header().shared_server != 0;
  if (attribute == cuda::CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
      attribute == cuda::CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
      attribute == cuda::CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) {
    return 1;
  }
  if (attribute <= 0 || attribute >= static_cast<int>(wire::kDeviceAttributes)) return 0;
  return info_->attributes[attribute];
}

uint32_t Device::sm_count() const {
  return static_cast<uint32_t>(info_->attributes[cuda::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]);
}

uint32_t Device::given_sms() const {
  return static_cast<uint32_t>(std::max(0, state_->sm_count.load(std::memory_order_relaxed)));
}

uint64_t Device::total_bytes() const {
  return std::min(info_->total_bytes, state_->limit_bytes.load(std::memory_order_relaxed));
}

uint64_t Device::freed_bytes() const { return state_->freed_bytes.load(std::memory_order_relaxed); }

// Asked, since a server of several users is not told of what others have; and behind what this client has freed and
// unloaded so far.
uint64_t Device::UsedBytes() const {
  Attachment& attachment = Attachment::Get();
  const uint64_t published = state_->used_bytes.load(std::memory_order_relaxed);
  const wire::MemoryUseBody body{.device = index_, .reserved = 0};
  const ipc::Reply reply = attachment.replies().Call(wire::RecordKind::kMemoryUse, body);
  return reply.status == 0 ? reply.value[0] : published;
}

uint64_t Device::free_bytes() const {
  constexpr int kMostLooks = 4;
  uint64_t freed = 0, own = 0, all = 0;
  // Of one time: what ends meanwhile is no longer used, and no longer freed.
  for (int look = 0; look < kMostLooks; ++look) {
    freed = freed_bytes();
    own = state_->client_bytes.load(std::memory_order_relaxed);
    all = UsedBytes();
    if (freed == freed_bytes() && own == state_->client_bytes.load(std::memory_order_relaxed)) break;
  }
  const uint64_t limit = state_->limit_bytes.load(std::memory_order_relaxed);
  // Memory that the client has freed counts as free: an allocation that needs it waits for the work that still uses it.
  const auto without_freed = [freed](uint64_t bytes) { return bytes - std::min(bytes, freed); };
  const uint64_t used = without_freed(all);
  const uint64_t mine = without_freed(own);
  const uint64_t of_device = info_->total_bytes - std::min(info_->total_bytes, used);
  return std::min(of_device, limit - std::min(limit, mine));
}

}  // namespace tutti::client
