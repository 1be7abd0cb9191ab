// Settings of running clients, and of all that come.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "cuda/result.h"
#include "server/server.h"
#include "wire/device_traits.h"

namespace tutti::server {

Status Server::ChangeLimits(uint32_t client, const std::function<void(device::Limits&)>& change) {
  TUTTI_ASSIGN(Session* const session, Find(client));
  device::Limits limits = session->limits();
  change(limits);
  session->SetLimits(limits);
  return {};
}

Status Server::SetPercentage(uint32_t client, double percentage) {
  if (!(percentage > 0 && percentage <= 100))
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE,
                fmt::format("{} is not a percentage: give a number above 0, at most 100", percentage));
  return ChangeLimits(client, [=](device::Limits& limits) { limits.active_thread_percentage = percentage; });
}

Status Server::SetMemoryLimit(uint32_t client, uint32_t device, uint64_t bytes) {
  const size_t devices = backend_->devices().size();
  if (device >= devices) return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("there is no device {}", device));
  return ChangeLimits(client, [=](device::Limits& limits) {
    limits.memory_bytes.resize(devices, ~0ull);
    limits.memory_bytes[device] = bytes;
  });
}

Status Server::SetPriority(uint32_t client, int32_t priority) {
  if (priority != 0 && priority != 1)
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("{} is not a client priority: give 0 or 1", priority));
  TUTTI_ASSIGN(Session* const session, Find(client));
  session->KeepPriority();
  return ChangeLimits(client, [=](device::Limits& limits) { limits.priority = priority; });
}

Status Server::SetDefaultPriority(std::string_view name_space, int32_t priority) {
  if (priority != 0 && priority != 1)
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, fmt::format("{} is not a client priority: give 0 or 1", priority));
  for (const auto& [id, session] : sessions_) {
    const ClientInfo& info = session->info();
    if (info.own_priority || (!name_space.empty() && info.name_space != name_space)) continue;
    device::Limits limits = session->limits();
    limits.priority = priority;
    session->SetLimits(limits);
  }
  return {};
}

void Server::SayWhichLimitsHold() const {
  for (const wire::DeviceInfo& device : backend_->devices()) {
    const auto missing = wire::MissingLimits(device.traits);
    if (!missing.empty()) log::Warning("{}: limits of {} do not hold yet", device.name, fmt::join(missing, ", "));
  }
}

Status Server::SetKernelTime(uint32_t client, uint64_t ns) {
  return ChangeLimits(client, [=](device::Limits& limits) { limits.kernel_ns = ns; });
}

Status Server::SetMemoryGroup(const wire::MemoryGroupLimit& limit) {
  if (groups_.Change(limit)) return {};
  return Fail(cuda::CUDA_ERROR_INVALID_VALUE,
              fmt::format("no client belongs to \"{}\" on device {}", limit.name, limit.device));
}

}  // namespace tutti::server
