#include "client/process/attach_again.h"

#include "base/log.h"
#include "client/array/device_texture.h"
#include "client/context/device.h"
#include "client/context/stream_slots.h"
#include "client/copy/staging.h"
#include "client/memory/ipc_memory.h"
#include "client/memory/memory.h"
#include "client/memory/virtual_memory.h"
#include "client/session/attach.h"
#include "client/session/attachment.h"
#include "cuda/result.h"

namespace tutti::client {

int AttachAgain() {
  Attachment::WindUp();
  // The next server may well offer the same addresses.
  Attachment::Get().connection().ReleaseWindow();
  auto connection = Attach();
  if (!connection) {
    log::Error("the server is gone and there is no other: {}", connection.error().text);
    return cuda::CUDA_ERROR_MPS_RPC_FAILURE;
  }
  Attachment::Install(std::move(*connection));
  StreamSlots::Get().StartAgain();
  Staging::Get().StartAgain();
  VirtualMemory::Get().StartAgain();
  DeviceTextures::Get().StartAgain();
  IpcMemory::Get().StartAgain();
  ForgetFrees();
  if (!Device::Reinstall()) {
    log::Error("the server is gone and the next one lacks some of its devices");
    return cuda::CUDA_ERROR_DEVICE_UNAVAILABLE;
  }
  log::Info("attached again, to server {}", Attachment::Get().header().server_pid);
  return cuda::CUDA_SUCCESS;
}

}  // namespace tutti::client
