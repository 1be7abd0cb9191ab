#include "client/startup.h"

#include <cstdlib>
#include <mutex>

#include "base/log.h"
#include "client/attach.h"
#include "client/device.h"
#include "client/gate.h"
#include "client/launch.h"
#include "client/mps_environment.h"
#include "client/session.h"

namespace tutti::client {
namespace {

std::mutex& StartMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

// To stderr, unless a file is named; only what a user must act on, unless more is asked for.
void OpenLog() {
  const char* path = std::getenv("TUTTI_CLIENT_LOG");
  log::Open(path != nullptr ? path : "", "Other");
  if (std::getenv("TUTTI_LOG_LEVEL") == nullptr) log::SetLevel(log::Level::kWarning);
}

}  // namespace

int Start() {
  std::lock_guard lock(StartMutex());
  if (Gate::closed()) return Gate::status();
  if (Gate::status() == 0) return cuda::CUDA_SUCCESS;
  if (Session::installed()) return cuda::CUDA_ERROR_NO_DEVICE;  // as found the first time
  OpenLog();
  Gate::ReadEnvironment();
  auto connection = Attach();
  if (!connection) {
    log::Error("CUDA cannot be used: {}", connection.error().text);
    return connection.error().code > 0 ? connection.error().code : cuda::CUDA_ERROR_SYSTEM_NOT_READY;
  }
  return StartWith(std::move(*connection));
}

int StartWith(std::unique_ptr<ipc::ClientConnection> connection) {
  Session::Install(std::move(connection));
  CheckMemoryLimits(Session::Get().header());
  if (!Device::Install()) return cuda::CUDA_ERROR_OUT_OF_MEMORY;
  if (const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING"); blocking != nullptr && *blocking == '1')
    launches_block = true;
  if (Device::count() == 0) return cuda::CUDA_ERROR_NO_DEVICE;
  Gate::Open();
  return cuda::CUDA_SUCCESS;
}

}  // namespace tutti::client
