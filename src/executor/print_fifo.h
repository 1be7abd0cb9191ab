// What the fenced kernels of a place print (guest/gpu/print_fifo.h): pinned memory, so that it is read while they run.
//
// Nothing in it is believed: whoever writes wherever it likes could write there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/types.h"
#include "guest/gpu/print_fifo.h"

namespace tutti::executor {

// Of one thread, but for Open, which comes before kernels that print.
class PrintFifo {
 public:
  // Of zeros, as this process and as kernels have it.
  void Open(guest::PrintFifo* fifo, cuda::CUdeviceptr address);
  // Nothing writes to it any more.
  void Close() { Open(nullptr, 0); }
  cuda::CUdeviceptr address() const { return address_; }

  struct Texts {
    std::string printed, failed;  // by vprintf, by assertions
    uint64_t bytes = 0;  // that it took in the ring; 0: nothing has come
  };
  // What has come, in the order in which it was begun; some of it, if it is much. Ends where kernels go on to print,
  // texts without characters, too.
  Texts Take();

 private:
  std::vector<uint8_t> TakeRecord();

  guest::PrintFifo* fifo_ = nullptr;
  cuda::CUdeviceptr address_ = 0;
  uint64_t consumed_ = 0;
  bool is_broken_ = false;  // it holds what no kernel of ours writes: nothing more is read
};

}  // namespace tutti::executor
