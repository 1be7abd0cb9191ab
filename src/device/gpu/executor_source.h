// Where Spaces get their executors from: of one device, with open windows, which all lie at the same addresses. One is
// kept ready, since the driver's context takes a good part of a second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>

#include "base/error.h"
#include "device/gpu/executor_link.h"
#include "device/gpu/standby.h"
#include "os/fd.h"
#include "os/spawner.h"
#include "wire/window_shape.h"

namespace tutti::device::gpu {

class ExecutorSource {
 public:
  explicit ExecutorSource(std::shared_ptr<os::Spawner> spawner) : spawner_(std::move(spawner)) {}

  // Starts the first one, which says what the device is, and where the driver has room for windows. `host_bytes`: what
  // a client may have of host memory.
  Status Start(uint64_t host_bytes);

  // Of Start.
  const wire::DeviceInfo& device() const { return device_; }
  const wire::WindowShape& shape() const { return shape_; }
  uint64_t base() const { return base_; }

  // A window's host part: the memory file, and the executor that has it open already, if one does.
  struct Window {
    os::Fd file;
    std::shared_ptr<ExecutorLink> executor;
  };
  // Thread-safe.
  Result<Window> NewWindow();
  // An executor that has it open. Waits until one has started, and is told of each before the driver opens the window
  // in it, which may take long. Whoever waits and is told to stop fails at once. Thread-safe.
  using Expect = std::function<void(const std::shared_ptr<ExecutorLink>&)>;
  Result<std::shared_ptr<ExecutorLink>> Take(Window* window, const Expect& expect, const std::stop_token& stop);

 private:
  Status OpenFirst(std::shared_ptr<ExecutorLink> executor, std::span<const wire::WindowShape> shapes);
  Status OpenHere(ExecutorLink& executor, int file) const;

  const std::shared_ptr<os::Spawner> spawner_;
  wire::DeviceInfo device_{};
  wire::WindowShape shape_;
  uint64_t base_ = 0;
  std::mutex mutex_;
  std::optional<Window> first_;
  std::unique_ptr<Standby> standby_;
};

}  // namespace tutti::device::gpu
