// The gate that every call into the library passes. It decides whether the process may use the library at all, and
// whether calls are traced.
//
// The gate is one word. It is 0 in normal operation, so entering costs one load and one branch. Otherwise:
//
//   before cuInit, or cuInit failed    CUDA_ERROR_NOT_INITIALIZED
//   in a forked child                  CUDA_ERROR_NOT_INITIALIZED, also for cuInit: server and rings are the parent's
//   after exit handlers ran            CUDA_ERROR_DEINITIALIZED
//   after a bug of ours was noticed    CUDA_ERROR_UNKNOWN (poison.h)
//   TUTTI_TRACE=1                      calls take the slow path and are printed
//
// A child forked before its parent's first cuInit may call cuInit itself. A fork while another thread is inside cuInit
// closes the child's gate like a fork after it, since nobody in the child will ever release the locks that thread
// holds. The atfork handler is therefore installed when the library is loaded (exit_and_fork.cc).
//
// Thread-safe.
#pragma once

#include <atomic>

#include "cuda/result.h"

namespace tutti::client {

class Gate {
 public:
  // 0: the call may proceed, nothing special.
  static int attention() { return word_.load(std::memory_order_acquire); }
  // The CUresult that calls return; CUDA_SUCCESS if they may proceed.
  static int status() { return word_.load(std::memory_order_acquire) & kStatusMask; }
  static bool tracing() { return (word_.load(std::memory_order_relaxed) & kTraceBit) != 0; }

  // cuInit has succeeded.
  static void Open();
  // While it lives, the thread is in cuInit.
  class Opening {
   public:
    Opening() { opening_.fetch_add(1, std::memory_order_seq_cst); }
    ~Opening() { opening_.fetch_sub(1, std::memory_order_seq_cst); }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
  };
  static bool opening() { return opening_.load(std::memory_order_seq_cst) != 0; }
  // Closes the gate for good; calls return `status` from then on.
  static void Close(cuda::Result status);
  // True once Close has been called: not even cuInit may open it.
  static bool closed() { return closed_.load(std::memory_order_acquire); }
  static void ReadEnvironment();

 private:
  static constexpr int kStatusMask = 0xffff;
  static constexpr int kTraceBit = 0x10000;
  inline static constinit std::atomic<int> word_{cuda::CUDA_ERROR_NOT_INITIALIZED};
  inline static constinit std::atomic<bool> closed_{false};
  inline static constinit std::atomic<int> opening_{0};
};

}  // namespace tutti::client
