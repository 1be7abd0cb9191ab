// Windows that are one memory file each: equal slots of a part of the address space. A window has the same addresses in
// the client and in the server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "os/fd.h"
#include "os/memory.h"
#include "wire/limits.h"

namespace tutti::device {

// A mapped window: its memory file and our mapping. Its destructor returns the slot.
class Window {
 public:
  Window(Window&& other) noexcept
      : file_(std::move(other.file_)),
        mapping_(std::move(other.mapping_)),
        give_back_(std::exchange(other.give_back_, nullptr)) {}
  Window& operator=(Window&&) = delete;
  ~Window();

  uint64_t base() const { return reinterpret_cast<uint64_t>(mapping_.data()); }
  uint64_t bytes() const { return mapping_.size(); }
  int fd() const { return file_->get(); }
  // These bytes, which lie at the same addresses here; null if not all lie in the first `most` ones of the window.
  uint8_t* Reached(uint64_t address, uint64_t bytes, uint64_t most) const {
    const bool inside = address >= base() && InRange<uint64_t>(address - base(), bytes, most);
    return inside ? reinterpret_cast<uint8_t*>(address) : nullptr;
  }
  // For who needs the file for longer than the window.
  const std::shared_ptr<const os::Fd>& file() const { return file_; }

 private:
  friend class WindowArena;
  Window(os::Fd fd, os::Mapping mapping, std::function<void()> give_back)
      : file_(std::make_shared<const os::Fd>(std::move(fd))),
        mapping_(std::move(mapping)),
        give_back_(std::move(give_back)) {}

  std::shared_ptr<const os::Fd> file_;
  os::Mapping mapping_;
  std::function<void()> give_back_;
};

// Thread-safe. Outlives its windows.
class WindowArena {
 public:
  // Within those addresses: all that windows are cut from (wire/limits.h), or a part of that.
  explicit WindowArena(uint64_t window_bytes, uint64_t begin = wire::kWindowArenaBase,
                       uint64_t end = wire::kWindowArenaEnd);
  ~WindowArena();
  WindowArena(const WindowArena&) = delete;

  uint64_t slots() const;
  // A fresh window of zeros. Slots are taken round-robin, so a slot just freed is not reused next and a client that
  // could not map one address is offered another. Fails with MPS_MAX_CLIENTS_REACHED when all are taken.
  Result<Window> Create();

 private:
  struct State;
  const uint64_t window_bytes_, first_;
  State* state_;
};

}  // namespace tutti::device
