#include "ipc/peer_watch.h"

#include <poll.h>

#include "cuda/result.h"

namespace tutti::ipc {

int32_t PeerWatch::Check() {
  if (const int32_t status = ended(); status != 0) return status;
  pollfd look{socket_, 0, 0};
  const bool hung_up = poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
  if (hung_up || !HasSocket()) Lose();
  return ended();
}

void PeerWatch::Lose() { lost_.store(cuda::CUDA_ERROR_MPS_RPC_FAILURE, std::memory_order_relaxed); }

}  // namespace tutti::ipc
