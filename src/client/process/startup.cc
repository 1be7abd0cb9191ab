#include "client/process/startup.h"

#include <mutex>

#include "base/log.h"
#include "client/array/device_texture.h"
#include "client/base/environment.h"
#include "client/context/context.h"
#include "client/context/device.h"
#include "client/memory/memory.h"
#include "client/memory/stray_access.h"
#include "client/module/launch.h"
#include "client/module/module.h"
#include "client/process/attach_again.h"
#include "client/session/attach.h"
#include "client/session/attachment.h"
#include "client/session/gate.h"
#include "client/session/mps_environment.h"
#include "client/session/renewal.h"

namespace tutti::client {
namespace {

constinit std::mutex start_mutex;

// Logs to stderr unless a file is named, and only what a user must act on unless a lower level is set.
void OpenLog() {
  log::Open(Environment("TUTTI_CLIENT_LOG"), "Other");
  if (Environment("TUTTI_LOG_LEVEL").empty()) log::SetLevel(log::Level::kWarning);
}

void FreeMemoryOf(const Context& context) {
  DeviceTextures::Get().DestroyAllOf(context);
  FreeAllOf(context);
}

}  // namespace

int Start() {
  const Gate::Opening opening;
  if (Gate::closed()) return Gate::status();  // in a forked child the lock may never be released
  std::lock_guard lock(start_mutex);
  if (Gate::closed()) return Gate::status();
  if (Gate::status() == 0) return cuda::CUDA_SUCCESS;
  if (Attachment::installed()) return cuda::CUDA_ERROR_NO_DEVICE;  // as found the first time
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
  Attachment::Install(std::move(connection));
  Renewal::Get().Use(AttachAgain);
  Context::Use({.end_module = [](Module* module) { Module::Delete(module); }, .free_memory = FreeMemoryOf});
  if (!Attachment::Get().connection().window_shape().device_part_reachable) ReportStrayAccesses();
  CheckMemoryLimits(Attachment::Get().header());
  if (!Device::Install()) return cuda::CUDA_ERROR_OUT_OF_MEMORY;
  if (Environment("CUDA_LAUNCH_BLOCKING").starts_with('1')) launches_block = true;
  if (Device::count() == 0) return cuda::CUDA_ERROR_NO_DEVICE;
  Gate::Open();
  return cuda::CUDA_SUCCESS;
}

}  // namespace tutti::client
