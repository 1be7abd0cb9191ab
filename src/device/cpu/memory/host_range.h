// Memory of the host that devices and host code of several clients share (Space::CreateHostMemory): a memory file of
// its own, so that a client may have the file without having any other memory of the one that made it.
//
// It counts as its maker's host memory for as long as it exists, also when that client has ended. Its pages go with
// it: a client that keeps the file maps zeros, which count as its process's own.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "device/cpu/memory/shared_range.h"
#include "device/host_share.h"

namespace tutti::device::cpu {

class HostRange final : public SharedRange {
 public:
  static constexpr uint32_t kMostOfOne = 64;  // of a client
  static constexpr uint64_t kMostOfAll = 128;  // and no more than one of 32 files that this process may open

  // Of whole pages, more than none. OUT_OF_MEMORY beyond what the share has, or beyond these numbers.
  static Result<std::shared_ptr<SharedMemory>> Create(uint64_t bytes, std::shared_ptr<HostShare> share);
  ~HostRange() override;

  int host_file() const override { return file_->get(); }

 private:
  // Its place among all ranges and its maker's.
  class Place {
   public:
    // Holds nothing if there is no more room.
    explicit Place(std::shared_ptr<HostShare> share);
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&&) = delete;
    ~Place();
    explicit operator bool() const { return share_ != nullptr; }

   private:
    std::shared_ptr<HostShare> share_;
  };

  HostRange(std::shared_ptr<const os::Fd> file, uint64_t bytes, Place place, HostHold hold);

  const std::shared_ptr<const os::Fd> file_;
  const Place place_;  // keeps the share
  const HostHold hold_;
};

}  // namespace tutti::device::cpu
