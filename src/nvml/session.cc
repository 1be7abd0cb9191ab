#include "nvml/session.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "wire/limits.h"

namespace tutti::nvml {
namespace {

constexpr int kPatienceMs = 5'000;  // for all that one call asks of the daemon
constexpr uint64_t kMomentNs = 50'000'000;

struct State {
  std::mutex mutex;  // held for moments, never while the daemon is asked
  unsigned inits = 0;
  std::vector<std::string> uuids;  // by handle, of all devices ever seen
  std::shared_ptr<const View> seen;
  uint64_t seen_ns = 0;
  uint64_t quiet_until_ns = 0;  // after a failure
};

// Never destroyed: threads may still call while the process exits.
State& Our() {
  static State* const state = [] {
    auto* const made = new State();
    // A child must not inherit the lock taken.
    pthread_atfork([] { Our().mutex.lock(); }, [] { Our().mutex.unlock(); }, [] { Our().mutex.unlock(); });
    return made;
  }();
  return *state;
}

// A handle is the address of one of these.
constinit std::array<char, wire::kMaxDevices> handles{};

void Remember(State& state, std::shared_ptr<const View> view) {
  for (const Device& device : view->devices) {
    if (state.uuids.size() < handles.size() && std::ranges::find(state.uuids, device.uuid) == state.uuids.end())
      state.uuids.push_back(device.uuid);
  }
  state.seen = std::move(view);
  state.seen_ns = NowNs();
}

std::shared_ptr<const View> LookNow() {
  auto view = Look(kPatienceMs);
  if (!view) {
    log::Info("NVML: {}", view.error().text);
    return nullptr;
  }
  return std::make_shared<const View>(std::move(*view));
}

size_t NumberOf(nvmlDevice_t handle) {
  return reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(handles.data());
}

}  // namespace

nvmlReturn_t Session::Begin() {
  State& state = Our();
  {
    const std::scoped_lock lock(state.mutex);
    if (state.inits > 0) {
      ++state.inits;
      return NVML_SUCCESS;
    }
  }
  auto view = LookNow();
  if (view == nullptr) return NVML_ERROR_DRIVER_NOT_LOADED;
  const std::scoped_lock lock(state.mutex);
  Remember(state, std::move(view));
  ++state.inits;
  return NVML_SUCCESS;
}

nvmlReturn_t Session::End() {
  State& state = Our();
  const std::scoped_lock lock(state.mutex);
  if (state.inits == 0) return NVML_ERROR_UNINITIALIZED;
  if (--state.inits == 0) state.seen = nullptr;
  return NVML_SUCCESS;
}

bool Session::active() {
  State& state = Our();
  const std::scoped_lock lock(state.mutex);
  return state.inits > 0;
}

std::shared_ptr<const View> Session::Now() {
  State& state = Our();
  const uint64_t begin_ns = NowNs();
  {
    const std::scoped_lock lock(state.mutex);
    if (state.seen != nullptr && begin_ns - state.seen_ns < kMomentNs) return state.seen;
    if (begin_ns < state.quiet_until_ns) return nullptr;
  }
  auto view = LookNow();
  const uint64_t end_ns = NowNs();
  const std::scoped_lock lock(state.mutex);
  if (view == nullptr) {
    state.quiet_until_ns = end_ns + 2 * (end_ns - begin_ns);
  } else {
    Remember(state, view);
  }
  return view;
}

void Session::Forget() {
  State& state = Our();
  const std::scoped_lock lock(state.mutex);
  state.seen_ns = 0;
}

nvmlDevice_t HandleOf(const Device& device) {
  State& state = Our();
  const std::scoped_lock lock(state.mutex);
  const auto found = std::ranges::find(state.uuids, device.uuid);
  if (found == state.uuids.end()) return nullptr;
  return reinterpret_cast<nvmlDevice_t>(&handles[static_cast<size_t>(found - state.uuids.begin())]);
}

Found Find(const View& view, nvmlDevice_t handle) {
  const size_t number = NumberOf(handle);
  std::string uuid;
  {
    State& state = Our();
    const std::scoped_lock lock(state.mutex);
    if (number >= state.uuids.size()) return {};
    uuid = state.uuids[number];
  }
  const auto found = std::ranges::find(view.devices, uuid, &Device::uuid);
  if (found == view.devices.end()) return {};
  return {&*found, static_cast<uint32_t>(found - view.devices.begin())};
}

bool IsHandle(nvmlDevice_t handle) {
  State& state = Our();
  const std::scoped_lock lock(state.mutex);
  return NumberOf(handle) < state.uuids.size();
}

}  // namespace tutti::nvml
