// Where clients' device windows lie in the address space: equal slots of the arena (wire/limits.h), each at the same
// addresses in the client and here.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/error.h"
#include "os/fd.h"
#include "os/memory.h"

namespace tutti::server {

// A window in place: its memory file and our mapping. Gives the slot back when destroyed.
class Window {
 public:
  Window(Window&& other) noexcept
      : fd_(std::move(other.fd_)),
        mapping_(std::move(other.mapping_)),
        give_back_(std::exchange(other.give_back_, nullptr)) {}
  Window& operator=(Window&&) = delete;
  ~Window();

  uint64_t base() const { return reinterpret_cast<uint64_t>(mapping_.data()); }
  uint64_t bytes() const { return mapping_.size(); }
  int fd() const { return fd_.get(); }

 private:
  friend class WindowArena;
  Window(os::Fd fd, os::Mapping mapping, std::function<void()> give_back)
      : fd_(std::move(fd)), mapping_(std::move(mapping)), give_back_(std::move(give_back)) {}

  os::Fd fd_;
  os::Mapping mapping_;
  std::function<void()> give_back_;
};

// Thread-safe. Outlives its windows.
class WindowArena {
 public:
  explicit WindowArena(uint64_t window_bytes);
  ~WindowArena();
  WindowArena(const WindowArena&) = delete;

  uint64_t slots() const;
  // A fresh window of zeros. Slots are handed out in turn, so that one just freed is not the next: a client that could
  // not map one address is offered another. Fails with MPS_MAX_CLIENTS_REACHED when all are taken.
  Result<Window> Create();

 private:
  struct State;
  uint64_t window_bytes_;
  State* state_;
};

}  // namespace tutti::server
