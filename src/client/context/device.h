// A device of the server, as the channel describes it.
#pragma once

#include <cstdint>

#include "client/base/answer.h"
#include "cuda/types.h"
#include "wire/channel_layout.h"

namespace tutti::client {

class Context;

// Lives as long as the process. Thread-safe.
class Device {
 public:
  // By CUDA ordinal; null if there is none. The devices are made by Install.
  static Device* Find(cuda::CUdevice ordinal);
  static int count() { return count_; }
  // Reads the session's devices: those that CUDA_VISIBLE_DEVICES names, in that order. False if out of memory.
  static bool Install();
  // Maps the same devices to a new session; false if one of them no longer exists.
  static bool Reinstall();

  int ordinal() const { return ordinal_; }
  // The server's number for it.
  uint32_t index() const { return index_; }
  const wire::DeviceInfo& info() const { return *info_; }
  bool Has(wire::DeviceTraits trait) const { return (info_->traits & trait) != 0; }
  // The attribute's value; 0 for unknown ones.
  int Attribute(cuda::CUdevice_attribute attribute) const;
  // The sticky error of this process's work on the device, 0: none.
  int error() const { return state_->error.load(std::memory_order_relaxed); }
  // That error, or the error the session ended with. When it returns an error, this process no longer accesses the
  // program's memory for the device (Attachment::WindUp), so the error may be reported.
  int Check() const;
  // Its number of SMs, and how many of them this process may use (live: follows percentage and partition); 0 if the
  // process would have to name a partition.
  uint32_t sm_count() const;
  uint32_t given_sms() const;
  uint64_t total_bytes() const;
  uint64_t free_bytes() const;
  // Of the process's memory on the device (not of its host memory): freed, and still in use by earlier work.
  uint64_t freed_bytes() const;
  // Its primary context, active or not.
  Context& primary() const { return *primary_; }

 private:
  uint64_t UsedBytes() const;  // of the device, by all clients

  inline static Device* devices_ = nullptr;
  inline static int count_ = 0;

  int ordinal_ = 0;
  uint32_t index_ = 0;
  const wire::DeviceInfo* info_ = nullptr;
  const wire::DeviceState* state_ = nullptr;
  Context* primary_ = nullptr;
};

}  // namespace tutti::client
