// Where Spaces get their executors from: of one device, with open windows. One is kept ready, since the driver's
// context takes a good part of a second.
//
// Which Spaces share an executor is the isolation (device/gpu/gpu_settings.h). With `process` each has one of its own,
// and all windows lie at the same addresses. With `shared` those of one group have places in one executor, at addresses
// of their own: a window has a slot, a part of the addresses in which the driver has room for several, and executors
// take one Space for each slot. A Space that finds no executor of its group with its slot free begins another one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "device/gpu/executor_link.h"
#include "device/gpu/gpu_settings.h"
#include "device/gpu/shared_executors.h"
#include "device/gpu/standby.h"
#include "device/gpu/window_slots.h"
#include "os/fd.h"
#include "os/spawner.h"
#include "wire/window_shape.h"

namespace tutti::device::gpu {

class ExecutorSource {
 public:
  ExecutorSource(const GpuSettings& settings, std::shared_ptr<os::Spawner> spawner)
      : settings_(settings), spawner_(std::move(spawner)) {}

  // Starts the first one, which says what the device is, and where the driver has room for windows. `host_bytes`: what
  // a client may have of host memory.
  Status Start(uint64_t host_bytes);

  // Of Start.
  const wire::DeviceInfo& device() const { return device_; }
  const wire::WindowShape& shape() const { return shape_; }

  // A window's host part and its addresses, and the executor that has it open already, if one does.
  struct Window {
    os::Fd file;
    uint64_t base = 0;
    WindowSlots::Slot slot;
    std::string group;  // of Spaces that may share an executor; "": its Space shares it with nobody
    std::shared_ptr<ExecutorLink> executor;
  };
  // Thread-safe.
  Result<Window> NewWindow(const std::string& group);
  // A place in an executor that has it open; `alone`: in which nobody else will have one. Waits until one has started,
  // and tells of each before the driver opens the window in it, which may take long: false: it is not wanted any more.
  // Then, or told to stop as it waits, it fails at once. Thread-safe.
  using Expect = std::function<bool(const std::shared_ptr<ExecutorLink>&)>;
  Result<std::shared_ptr<ExecutorLink>> Take(Window* window, bool alone, const Expect& expect,
                                             const std::stop_token& stop);

 private:
  Status OpenFirst(const std::shared_ptr<ExecutorProcess>& executor, std::span<const wire::WindowShape> shapes);
  void FindSlots(ExecutorLink& executor);
  // A place in an executor that nobody else has one in. Waits until one has started.
  Result<std::shared_ptr<ExecutorLink>> EnterNew(const std::stop_token& stop);
  Status OpenHere(ExecutorLink& link, const Window& window) const;

  const GpuSettings settings_;
  const std::shared_ptr<os::Spawner> spawner_;
  wire::DeviceInfo device_{};
  wire::WindowShape shape_;
  uint64_t base_ = 0;
  uint64_t stride_ = 0;  // from slot to slot
  std::shared_ptr<WindowSlots> slots_;
  std::mutex mutex_;
  std::optional<Window> first_;
  std::unique_ptr<Standby> standby_;
  std::unique_ptr<SharedExecutors> shared_;
};

}  // namespace tutti::device::gpu
