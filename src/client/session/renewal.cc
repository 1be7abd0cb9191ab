#include "client/session/renewal.h"

#include "client/session/attachment.h"
#include "cuda/result.h"

namespace tutti::client {

Renewal& Renewal::Get() {
  static auto* const instance = new Renewal;
  return *instance;
}

void Renewal::Use(int (*attach_again)()) {
  std::lock_guard lock(mutex_);
  attach_again_ = attach_again;
}

int Renewal::Begin() {
  std::lock_guard lock(mutex_);
  const int ended = Attachment::Get().connection().watch().Check();
  if (ended != 0) {
    if (ended != cuda::CUDA_ERROR_MPS_RPC_FAILURE || active_ != 0) return ended;
    if (const int status = attach_again_(); status != 0) return status;
  }
  ++active_;
  return cuda::CUDA_SUCCESS;
}

void Renewal::Ended() {
  std::lock_guard lock(mutex_);
  --active_;
}

}  // namespace tutti::client
