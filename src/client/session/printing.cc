#include "client/session/printing.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "client/session/attachment.h"

namespace tutti::client {
namespace {

std::mutex& PrintMutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

// Through stdio, so that the program's lines and the device's stay in order.
template <typename Fifo>
void Drain(Fifo& fifo, FILE* out) {
  if (fifo.produced.load(std::memory_order_acquire) == fifo.consumed.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(PrintMutex());
  uint64_t from = fifo.consumed.load(std::memory_order_relaxed);
  const uint64_t to = fifo.produced.load(std::memory_order_acquire);
  if (to - from > sizeof fifo.bytes) from = to;  // no correct server does this
  while (from != to) {
    const uint64_t place = from % sizeof fifo.bytes;
    const uint64_t part = std::min(to - from, sizeof fifo.bytes - place);
    std::fwrite(fifo.bytes + place, 1, part, out);
    from += part;
  }
  fifo.consumed.store(to, std::memory_order_release);
}

}  // namespace

void DrainPrints() {
  wire::Channel& channel = Attachment::Get().channel();
  Drain(channel.print, stdout);
  Drain(channel.asserts, stderr);
}

}  // namespace tutti::client
