#include "kubernetes/device_table.h"

#include <algorithm>

#include "base/log.h"

namespace tutti::kubernetes {

void DeviceTable::Set(size_t index, const std::string& ailment) {
  std::string& now = state_.ailments[index];
  if (now == ailment) return;
  const std::string& uuid = state_.devices[index].uuid;
  if (ailment.empty()) {
    log::Info("device {} is healthy again", uuid);
  } else if (now.empty()) {
    log::Warning("device {} is unhealthy, with all its replicas: {}", uuid, ailment);
  }
  now = ailment;
  ++state_.version;
}

void DeviceTable::Publish(const std::vector<sharing::DeviceFacts>& present) {
  const std::lock_guard lock(mutex_);
  for (const sharing::DeviceFacts& device : present) {
    const auto same = [&](const sharing::DeviceFacts& known) { return known.uuid == device.uuid; };
    if (std::any_of(state_.devices.begin(), state_.devices.end(), same)) continue;
    state_.devices.push_back(device);
    state_.ailments.emplace_back();
    ++state_.version;
  }
  for (size_t i = 0; i < state_.devices.size(); ++i) {
    const auto same = [&](const sharing::DeviceFacts& device) { return device.uuid == state_.devices[i].uuid; };
    Set(i, std::any_of(present.begin(), present.end(), same) ? "" : "the server no longer has it");
  }
  changed_.notify_all();
}

void DeviceTable::MarkAllSick(const std::string& why) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < state_.devices.size(); ++i) Set(i, why);
  changed_.notify_all();
}

void DeviceTable::MarkSick(const std::string& uuid, const std::string& why) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < state_.devices.size(); ++i) {
    if (state_.devices[i].uuid == uuid) Set(i, why);
  }
  changed_.notify_all();
}

DeviceTable::State DeviceTable::Get() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

DeviceTable::State DeviceTable::WaitForChange(uint64_t version, std::chrono::steady_clock::time_point until) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&, wakes = wakes_] { return state_.version != version || wakes_ != wakes; });
  return state_;
}

void DeviceTable::Wake() {
  const std::lock_guard lock(mutex_);
  ++wakes_;
  changed_.notify_all();
}

}  // namespace tutti::kubernetes
