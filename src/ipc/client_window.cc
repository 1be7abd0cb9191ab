#include "ipc/client_window.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/checked.h"

namespace tutti::ipc {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLeastStep = 2u << 20;
// an eighth more than needed, so that the window is opened some tens of times at most
constexpr uint64_t kPartOfStep = 8;
// A range that lies further beyond is opened by itself: constants of modules lie at the end of the window.
constexpr uint64_t kApart = 1ull << 30;

uint64_t WithStep(uint64_t bytes) { return AlignUp(bytes + bytes / kPartOfStep, kLeastStep); }

bool Access(uint64_t begin, uint64_t end) {
  return mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) == 0;
}

}  // namespace

Result<ClientWindow> ClientWindow::Map(uint64_t address, os::Fd file, const wire::WindowShape& shape) {
  if (!shape.IsSound()) return Fail("a window smaller than its parts");
  TUTTI_ASSIGN(os::Mapping mapping, os::Mapping::SharedAt(address, file.get(), shape.bytes, false));
  if (madvise(mapping.data(), shape.bytes, MADV_DONTFORK) != 0) return FailErrno("keeping the window from children");
  return ClientWindow(std::move(file), std::move(mapping), shape);
}

bool ClientWindow::OpenDown(uint64_t depth) {
  std::lock_guard lock(mutex_);
  const uint64_t opened = below_.load(std::memory_order_relaxed);
  if (depth <= opened) return true;
  const uint64_t reach = std::min(WithStep(depth), shape_.host_bytes);
  if (!Access(border() - reach, border() - opened)) return false;
  below_.store(reach, std::memory_order_release);
  return true;
}

bool ClientWindow::OpenUp(uint64_t begin, uint64_t end) {
  std::lock_guard lock(mutex_);
  const uint64_t opened = above_.load(std::memory_order_relaxed);
  if (end <= opened) return true;
  if (begin > opened + kApart || begin >= shape_.device_bytes)
    return Access(border() + begin / kPage * kPage, border() + AlignUp(end, kPage));
  const uint64_t reach = std::min(WithStep(end), shape_.device_bytes);
  if (!Access(border() + opened, border() + reach)) return false;
  above_.store(reach, std::memory_order_release);
  return true;
}

void ClientWindow::Share(uint64_t address, uint64_t bytes) {
  if (shared_.fetch_add(1, std::memory_order_relaxed) >= kMostShared) return;
  const uint64_t begin = address / kPage * kPage;
  // If the kernel refuses another mapping, the child does without.
  madvise(reinterpret_cast<void*>(begin), AlignUp(address + bytes, kPage) - begin, MADV_DOFORK);
}

// The first and last page may hold a neighbour that is shared as well.
void ClientWindow::Hide(uint64_t address, uint64_t bytes) {
  shared_.fetch_sub(1, std::memory_order_relaxed);
  const uint64_t begin = AlignUp(address, kPage), end = (address + bytes) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTFORK);
}

}  // namespace tutti::ipc
