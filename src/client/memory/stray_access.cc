#include "client/memory/stray_access.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <mutex>

#include "client/memory/allocation_table.h"
#include "client/session/attachment.h"

namespace tutti::client {
namespace {

struct sigaction before;

// In a signal handler: no memory is allocated, and no lock is waited for.
void Report(uint64_t address) {
  std::array<char, 320> line;
  char* end = line.data();
  const auto add = [&]<typename... Args>(fmt::format_string<Args...> text, Args&&... args) {
    const auto room = static_cast<size_t>(line.data() + line.size() - end);
    end = fmt::format_to_n(end, static_cast<std::ptrdiff_t>(room), text, std::forward<Args>(args)...).out;
  };
  add("tutti: host code reads or writes device memory at {:#x}", address);
  if (const auto found = AllocationTable::Get().FindAtOnce(address)) {
    add(", byte {} of the {} bytes allocated at {:#x}", address - found->address, found->bytes, found->address);
  } else {
    add(", where no allocation lies");
  }
  add(": on a GPU it cannot; copy with cuMemcpy (cudaMemcpy), or use managed or pinned memory\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), static_cast<size_t>(end - line.data()));
}

// The instruction runs again when we return, so the signal goes to whoever had it before.
void OnSignal(int number, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const Attachment& attachment = Attachment::Get();
  if (attachment.InWindow(address) && !attachment.Reaches(address, 1)) Report(address);
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    sigaction(number, &before, nullptr);
  }
}

}  // namespace

void ReportStrayAccesses() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGSEGV, nullptr, &before) == 0) sigaction(SIGSEGV, &action, nullptr);
  });
}

}  // namespace tutti::client
