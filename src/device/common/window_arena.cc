#include "device/common/window_arena.h"

#include <fmt/format.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "base/checked.h"
#include "cuda/result.h"

namespace tutti::device {

struct WindowArena::State {
  std::mutex mutex;
  std::vector<bool> taken;
  size_t next = 0;
};

Window::~Window() {
  mapping_.Unmap();
  if (give_back_) give_back_();
}

WindowArena::WindowArena(uint64_t window_bytes, uint64_t begin, uint64_t end)
    : window_bytes_(window_bytes), first_(AlignUp(begin, window_bytes)), state_(new State) {
  state_->taken.resize(first_ < end ? (end - first_) / window_bytes : 0);
}

WindowArena::~WindowArena() { delete state_; }

uint64_t WindowArena::slots() const { return state_->taken.size(); }

Result<Window> WindowArena::Create() {
  TUTTI_ASSIGN(os::Fd fd, os::CreateMemory("tutti-window", window_bytes_));
  std::lock_guard lock(state_->mutex);
  for (size_t i = 0; i < state_->taken.size(); ++i) {
    const size_t slot = (state_->next + i) % state_->taken.size();
    if (state_->taken[slot]) continue;
    // A library may have mapped something there; the slot then stays unused.
    auto mapping = os::Mapping::SharedAt(first_ + slot * window_bytes_, fd.get(), window_bytes_);
    if (!mapping && mapping.error().code == EEXIST) continue;
    if (!mapping) return Fail(cuda::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, mapping.error().text);
    state_->taken[slot] = true;
    state_->next = slot + 1;
    return Window(std::move(fd), std::move(*mapping), [state = state_, slot] {
      std::lock_guard give_back(state->mutex);
      state->taken[slot] = false;
    });
  }
  return Fail(cuda::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
              fmt::format("no address space left for another client: all {} windows are in use", state_->taken.size()));
}

}  // namespace tutti::device
