#include "frame/progress.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "frame/settings.h"

namespace tutti::gpu {
namespace {

struct Slot {
  char role[24];
  char call[40];
};
constexpr uint32_t kSlots = 60;
struct Page {
  std::atomic<uint32_t> used;
  uint32_t rest[15];
  Slot slots[kSlots];
};

// A slot belongs to one thread.
Page* page = nullptr;
const char* role = "";
thread_local Slot unseen;
thread_local Slot* mine = nullptr;

Page* Map(int fd) {
  void* const page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return page == MAP_FAILED ? nullptr : static_cast<Page*>(page);
}

void Store(char* to, size_t room, const char* text) {
  std::strncpy(to, text, room - 1);
  to[room - 1] = '\0';
}

}  // namespace

int MakeProgressPage() {
  const int fd = memfd_create("tutti-gpu-progress", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, sizeof(Page)) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

std::string ReadProgress(int fd) {
  Page* const page = Map(fd);  // another one, of the run
  if (page == nullptr) return "";
  std::string text;
  for (uint32_t i = 0; i < page->used.load() && i < kSlots; ++i) {
    const Slot& slot = page->slots[i];
    if (slot.call[0] == '\0') continue;
    text += (text.empty() ? "" : ", ") + std::string(slot.call, strnlen(slot.call, sizeof slot.call));
    if (slot.role[0] != '\0') text += " of " + std::string(slot.role, strnlen(slot.role, sizeof slot.role));
  }
  munmap(page, sizeof(Page));
  return text;
}

void JoinProgress(const char* name) {
  page = Map(kProgressFd);
  role = name;
}

void EnterCall(const char* symbol) {
  if (mine == nullptr) {
    const uint32_t slot = page == nullptr ? kSlots : page->used.fetch_add(1);
    mine = slot < kSlots ? &page->slots[slot] : &unseen;
    Store(mine->role, sizeof mine->role, role);
  }
  Store(mine->call, sizeof mine->call, symbol);
}

void LeaveCall() { mine->call[0] = '\0'; }

}  // namespace tutti::gpu
