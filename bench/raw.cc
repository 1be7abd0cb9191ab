#include "raw.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "timing.h"

namespace bench {
namespace {

struct alignas(128) Record {
  std::atomic<uint64_t> published;
  uint8_t body[120];
};

struct Shared {
  static constexpr uint64_t kSlots = 4096;
  alignas(64) std::atomic<uint64_t> tail;
  alignas(64) std::atomic<uint64_t> head;
  alignas(64) std::atomic<uint64_t> ping;
  alignas(64) std::atomic<uint64_t> pong;
  alignas(64) std::atomic<bool> stop;
  Record ring[kSlots];
};

Shared* MapShared() {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return static_cast<Shared*>(memory);
}

}  // namespace

std::vector<double> RawRingRecords(size_t count) {
  Shared* shared = MapShared();
  std::thread consumer([shared] {
    uint64_t sum = 0;
    for (uint64_t next = 0; !shared->stop.load(std::memory_order_relaxed);) {
      Record& record = shared->ring[next % Shared::kSlots];
      if (record.published.load(std::memory_order_acquire) != next + 1) {
        tutti::CpuRelax();
        continue;
      }
      sum += record.body[next % 120];
      shared->head.store(++next, std::memory_order_release);
    }
    shared->pong.store(sum);
  });
  uint8_t body[120];
  std::memset(body, 7, sizeof body);
  std::vector<double> samples;
  // In bursts that fit into the ring: this measures the producer, not the consumer.
  constexpr size_t kBurst = 256;
  for (size_t done = 0; done < count; done += kBurst) {
    const std::vector<double> burst = TimeEach(kBurst, [&] {
      const uint64_t ticket = shared->tail.fetch_add(1, std::memory_order_relaxed);
      Record& record = shared->ring[ticket % Shared::kSlots];
      std::memcpy(record.body, body, sizeof body);
      record.published.store(ticket + 1, std::memory_order_release);
    });
    samples.insert(samples.end(), burst.begin(), burst.end());
    while (shared->head.load(std::memory_order_acquire) != shared->tail.load()) tutti::CpuRelax();
  }
  shared->stop.store(true);
  consumer.join();
  munmap(shared, sizeof(Shared));
  return samples;
}

std::vector<double> SpinRoundTrips(size_t count) {
  Shared* shared = MapShared();
  std::thread peer([shared] {
    for (uint64_t seen = 0; !shared->stop.load(std::memory_order_relaxed);) {
      const uint64_t ping = shared->ping.load(std::memory_order_acquire);
      if (ping == seen) {
        tutti::CpuRelax();
        continue;
      }
      seen = ping;
      shared->pong.store(ping, std::memory_order_release);
    }
  });
  uint64_t value = 0;
  std::vector<double> samples = TimeEach(count, [&] {
    shared->ping.store(++value, std::memory_order_release);
    while (shared->pong.load(std::memory_order_acquire) != value) tutti::CpuRelax();
  });
  shared->stop.store(true);
  peer.join();
  munmap(shared, sizeof(Shared));
  return samples;
}

std::vector<double> SocketRoundTrips(size_t count) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) return {};
  std::thread peer([fd = fds[1]] {
    char byte;
    while (read(fd, &byte, 1) == 1) {
      if (write(fd, &byte, 1) != 1) break;
    }
  });
  char byte = 1;
  std::vector<double> samples = TimeEach(count, [&] {
    if (write(fds[0], &byte, 1) != 1 || read(fds[0], &byte, 1) != 1) _exit(1);
  });
  close(fds[0]);
  peer.join();
  close(fds[1]);
  return samples;
}

}  // namespace bench
