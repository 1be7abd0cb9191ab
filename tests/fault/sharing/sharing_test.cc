// Memory and events that processes share, between clients of one server: both see the same bytes, nobody sees more than
// what was shared, and whoever goes first, in whatever way, disturbs nobody and leaves nothing.
//
//   memory_sharing_test      with CUDA_MPS_PIPE_DIRECTORY of a running daemon
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "../actor.h"
#include "ipc/client_connection.h"
#include "os/socket.h"
#include "wire/share_handle.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
using namespace cuda;

constexpr size_t kWords = 64 << 10;
constexpr size_t kBytes = kWords * 4;
constexpr size_t kPiece = 2 << 20;
constexpr uint32_t kSecret = 0x5ec2e75e;

// What the processes of a test tell each other.
struct Exchange {
  CUipcMemHandle memory;
  CUipcEventHandle event;
  CUmemPoolPtrExportData pointer;
  std::atomic<uint32_t> step{0};  // of the test
  std::atomic<uint32_t> done{0};  // of the one that is asked

  void Await(uint32_t wanted) {
    while (step.load() < wanted) std::this_thread::sleep_for(1ms);
  }
  void AwaitDone(uint32_t wanted) {
    while (done.load() < wanted) std::this_thread::sleep_for(1ms);
  }
};

class Sharing : public testing::Test {
 protected:
  Sharing()
      : exchange_(*new(mmap(nullptr, sizeof(Exchange), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                      Exchange) {
    auto pair = os::SocketPair().value();
    here_ = std::move(pair.first);
    there_ = std::move(pair.second);
  }
  ~Sharing() override { munmap(&exchange_, sizeof(Exchange)); }
  void SetUp() override;

  Exchange& exchange_;
  os::Fd here_, there_;  // for descriptors
};

CUdeviceptr Filled(ActorPage& page, uint32_t value, size_t words = kWords) {
  CUdeviceptr address = 0;
  Check(page, "cuMemAlloc", cuMemAlloc_v2(&address, words * 4));
  Check(page, "cuMemsetD32", cuMemsetD32_v2(address, value, words));
  return address;
}

void Expect(ActorPage& page, const char* what, CUdeviceptr address, uint32_t value, size_t words = kWords) {
  std::vector<uint32_t> found(words);
  Check(page, what, cuMemcpyDtoH_v2(found.data(), address, words * 4));
  for (size_t i = 0; i < words; ++i) {
    if (found[i] != value) GiveUp(page, fmt::format("{}: word {} is {:#x}, not {:#x}", what, i, found[i], value));
  }
}

CUdeviceptr Opened(ActorPage& page, const CUipcMemHandle& handle) {
  CUdeviceptr address = 0;
  Check(page, "cuIpcOpenMemHandle", cuIpcOpenMemHandle_v2(&address, handle, 1));
  return address;
}

void ExpectStatus(ActorPage& page, const char* what, CUresult got, CUresult wanted) {
  if (got != wanted) GiveUp(page, fmt::format("{}: {}, not {}", what, static_cast<int>(got), static_cast<int>(wanted)));
}

uint64_t UsedNow() {
  auto connection =
      ipc::ClientConnection::Connect(std::getenv("CUDA_MPS_PIPE_DIRECTORY"), {.command_line = "looks"}, 60'000);
  return connection ? (*connection)->header().states[0].used_bytes.load() : ~0ull;
}

// The server tears clients down after they are gone.
void ExpectUsed(uint64_t bytes) {
  for (int i = 0; i < 2000 && UsedNow() != bytes; ++i) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(UsedNow(), bytes);
}

// What the clients of earlier tests had is no part of what a test sees.
void Sharing::SetUp() {
  static const uint64_t idle = UsedNow();
  ExpectUsed(idle);
}

CUmemAllocationProp Exportable() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return properties;
}

CUdeviceptr MapForUse(ActorPage& page, CUmemGenericAllocationHandle handle, int flags = 3) {
  CUdeviceptr address = 0;
  const CUmemAccessDesc access{.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, .flags = flags};
  Check(page, "cuMemAddressReserve", cuMemAddressReserve(&address, kPiece, 0, 0, 0));
  Check(page, "cuMemMap", cuMemMap(address, kPiece, 0, handle, 0));
  Check(page, "cuMemSetAccess", cuMemSetAccess(address, kPiece, &access, 1));
  return address;
}

void* AsPointer(int fd) { return reinterpret_cast<void*>(static_cast<uintptr_t>(fd)); }

// --- by handles of 64 bytes

TEST_F(Sharing, BothProcessesSeeTheSameBytes) {
  Actor exporter([&](ActorPage& page) {
    const CUdeviceptr memory = Filled(page, 1);
    Check(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&exchange_.memory, memory + 64));
    WaitToLeave(page);
    Expect(page, "what the other has written", memory, 2);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  Actor importer([&](ActorPage& page) {
    const CUdeviceptr memory = Opened(page, exchange_.memory);
    if (Opened(page, exchange_.memory) != memory) GiveUp(page, "the same memory is elsewhere the second time");
    Expect(page, "what the exporter has written", memory, 1);
    Check(page, "cuMemsetD32", cuMemsetD32_v2(memory, 2, kWords));
    Check(page, "cuIpcCloseMemHandle", cuIpcCloseMemHandle(memory));
    Expect(page, "after one of two closes", memory, 2);
    Check(page, "cuIpcCloseMemHandle", cuIpcCloseMemHandle(memory));
    ExpectStatus(page, "a third close", cuIpcCloseMemHandle(memory), CUDA_ERROR_INVALID_VALUE);
    uint32_t word;
    ExpectStatus(page, "a copy after it", cuMemcpyDtoH_v2(&word, memory, 4), CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_EQ(importer.AwaitEnd(), "");
  EXPECT_EQ(exporter.Leave(), "");
}

TEST_F(Sharing, NeighboursOfTheMemoryAreNotShared) {
  Actor exporter([&](ActorPage& page) {
    CUdeviceptr shared = 0;
    for (int i = 0; i < 16; ++i) {
      const CUdeviceptr small = Filled(page, i == 8 ? 1 : kSecret, 8);
      if (i == 8) shared = small;
    }
    Check(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&exchange_.memory, shared));
    WaitToLeave(page);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  Actor importer([&](ActorPage& page) {
    const CUdeviceptr memory = Opened(page, exchange_.memory);
    CUdeviceptr base = 0;
    size_t bytes = 0;
    Check(page, "cuMemGetAddressRange", cuMemGetAddressRange_v2(&base, &bytes, memory));
    Expect(page, "what was shared", memory, 1, 8);
    Expect(page, "behind it", memory + 32, 0, (bytes - 32) / 4);
  });
  EXPECT_EQ(importer.AwaitEnd(), "");
  EXPECT_EQ(exporter.Leave(), "");
}

TEST_F(Sharing, WhatIsFreedStaysForWhoHasItOpenAndForNobodyElse) {
  const uint64_t before = UsedNow();
  Actor exporter([&](ActorPage& page) {
    const CUdeviceptr memory = Filled(page, 1);
    Check(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&exchange_.memory, memory));
    page.ready.store(true);
    exchange_.Await(1);
    Check(page, "cuMemFree", cuMemFree_v2(memory));
    for (int i = 0; i < 64; ++i) Filled(page, kSecret);
    exchange_.done.store(1);
    WaitToLeave(page);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  Actor importer([&](ActorPage& page) {
    const CUdeviceptr memory = Opened(page, exchange_.memory);
    exchange_.step.store(1);
    exchange_.AwaitDone(1);
    Expect(page, "what the exporter has freed", memory, 1);
    WaitToLeave(page);
  });
  ASSERT_EQ(importer.AwaitReady(), "");
  Actor late([&](ActorPage& page) {
    CUdeviceptr address;
    ExpectStatus(page, "opening it now", cuIpcOpenMemHandle_v2(&address, exchange_.memory, 1),
                 CUDA_ERROR_INVALID_HANDLE);
  });
  EXPECT_EQ(late.AwaitEnd(), "");
  EXPECT_GE(UsedNow(), before + 65 * kBytes) << "it counts as long as it is open";
  EXPECT_EQ(importer.Leave(), "");
  EXPECT_EQ(exporter.Leave(), "");
  ExpectUsed(before);
}

TEST_F(Sharing, AKilledExportersMemoryStaysForWhoHasItOpen) {
  const uint64_t before = UsedNow();
  Actor exporter([&](ActorPage& page) {
    Filled(page, kSecret);
    const CUdeviceptr memory = Filled(page, 1);
    Check(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&exchange_.memory, memory));
    WaitToLeave(page);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  Actor importer([&](ActorPage& page) {
    const CUdeviceptr memory = Opened(page, exchange_.memory);
    page.ready.store(true);
    exchange_.Await(1);
    Expect(page, "the memory of a dead process", memory, 1);
    Check(page, "cuMemsetD32", cuMemsetD32_v2(memory, 3, kWords));
    Expect(page, "and what is written there", memory, 3);
    WaitToLeave(page);
  });
  ASSERT_EQ(importer.AwaitReady(), "");
  exporter.Kill();
  ExpectUsed(before + kBytes);
  exchange_.step.store(1);
  Actor late([&](ActorPage& page) {
    CUdeviceptr address;
    ExpectStatus(page, "opening it now", cuIpcOpenMemHandle_v2(&address, exchange_.memory, 1),
                 CUDA_ERROR_INVALID_HANDLE);
  });
  EXPECT_EQ(late.AwaitEnd(), "");
  EXPECT_EQ(importer.Leave(), "");
  ExpectUsed(before);
}

TEST_F(Sharing, AKilledImporterLeavesTheExporterAsItWas) {
  const uint64_t before = UsedNow();
  Actor exporter([&](ActorPage& page) {
    const CUdeviceptr memory = Filled(page, 1);
    Check(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&exchange_.memory, memory));
    page.ready.store(true);
    exchange_.Await(1);
    Expect(page, "its own memory", memory, 1);
    Check(page, "cuMemFree", cuMemFree_v2(memory));
    WaitToLeave(page);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  for (int i = 0; i < 10; ++i) {
    Actor importer([&](ActorPage& page) {
      Opened(page, exchange_.memory);
      WaitToLeave(page);
    });
    ASSERT_EQ(importer.AwaitReady(), "");
    importer.Kill();
  }
  exchange_.step.store(1);
  ExpectUsed(before);
  EXPECT_EQ(exporter.Leave(), "");
}

// Again and again, a little sooner or later.
TEST_F(Sharing, WhatIsOpenedAsItIsFreedIsTheOldMemoryOrNone) {
  constexpr uint32_t kRounds = 400;
  const uint64_t before = UsedNow();
  Actor exporter([&](ActorPage& page) {
    page.ready.store(true);
    exchange_.Await(1);
    for (uint32_t round = 1; round <= kRounds; ++round) {
      const CUdeviceptr memory = Filled(page, round);
      exchange_.done.store(0);
      Check(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&exchange_.memory, memory));
      exchange_.done.store(round);
      std::this_thread::sleep_for(std::chrono::microseconds(5 * (round % 40)));
      Check(page, "cuMemFree", cuMemFree_v2(memory));
      Check(page, "cuMemFree", cuMemFree_v2(Filled(page, kSecret)));
    }
    exchange_.done.store(kRounds + 1);
    WaitToLeave(page);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  Actor importer([&](ActorPage& page) {
    ComputeOnce(page);
    exchange_.step.store(1);
    for (uint32_t last = 0; last <= kRounds;) {
      const uint32_t round = exchange_.done.load();
      CUipcMemHandle handle;
      std::memcpy(&handle, &exchange_.memory, sizeof handle);
      if (round == 0 || round == last || exchange_.done.load() != round) continue;
      last = round;
      CUdeviceptr memory = 0;
      const CUresult opened = cuIpcOpenMemHandle_v2(&memory, handle, 1);
      if (round > kRounds || opened == CUDA_ERROR_INVALID_HANDLE) continue;
      Check(page, "cuIpcOpenMemHandle", opened);
      Expect(page, "what was opened as it was freed", memory, round);
      Check(page, "cuIpcCloseMemHandle", cuIpcCloseMemHandle(memory));
    }
    WaitToLeave(page);
  });
  ASSERT_EQ(importer.AwaitReady(), "");
  EXPECT_EQ(exporter.Leave(), "");
  EXPECT_EQ(importer.Leave(), "");
  ExpectUsed(before);
}

// Its holders may find other bytes, which the owner may write at any time.
TEST_F(Sharing, WhatAnOwnerDoesToTheFileOfItsMemoryHarmsNobody) {
  Actor exporter([&](ActorPage& page) {
    const CUdeviceptr memory = Filled(page, 1);
    Check(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&exchange_.memory, memory));
    page.ready.store(true);
    exchange_.Await(1);
    (void)madvise(reinterpret_cast<void*>(memory), kBytes, MADV_REMOVE);  // punches a hole, where it reaches its memory
    for (int fd = 3; fd < 256; ++fd) {
      char link[64] = "";
      if (readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), link, sizeof link - 1) < 0 ||
          std::strncmp(link, "/memfd:tutti-", 13) != 0)
        continue;
      if (ftruncate(fd, 0) == 0) GiveUp(page, fmt::format("{} was truncated", link));
      if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0)
        GiveUp(page, fmt::format("{} was sealed", link));
      (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1ll << 40);
    }
    exchange_.done.store(1);
    WaitToLeave(page);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  Actor importer([&](ActorPage& page) {
    const CUdeviceptr memory = Opened(page, exchange_.memory);
    exchange_.step.store(1);
    exchange_.AwaitDone(1);
    std::vector<uint32_t> found(kWords);
    Check(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(found.data(), memory, kBytes));
    Check(page, "cuMemsetD32", cuMemsetD32_v2(memory, 3, kWords));
    Expect(page, "what it has written itself", memory, 3);
    ComputeOnce(page);
  });
  EXPECT_EQ(importer.AwaitEnd(), "");
  exporter.Kill();  // what it has done to its own window is its own affair
  Actor other([](ActorPage& page) { ComputeOnce(page); });
  EXPECT_EQ(other.AwaitEnd(), "");
}

TEST_F(Sharing, HandlesThatNobodyHasMadeAreRefused) {
  Actor exporter([&](ActorPage& page) {
    const CUdeviceptr memory = Filled(page, 1);
    CUdeviceptr address = 0;
    Check(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&exchange_.memory, memory));
    ExpectStatus(page, "opening its own", cuIpcOpenMemHandle_v2(&address, exchange_.memory, 1),
                 CUDA_ERROR_INVALID_CONTEXT);
    void* host = nullptr;
    CUdeviceptr managed = 0;
    Check(page, "cuMemAllocHost", cuMemAllocHost_v2(&host, 4096));
    Check(page, "cuMemAllocManaged", cuMemAllocManaged(&managed, 4096, 1));
    for (const auto other : {reinterpret_cast<CUdeviceptr>(host), managed, CUdeviceptr{12345}})
      ExpectStatus(page, "a handle of other memory", cuIpcGetMemHandle(&exchange_.memory, other),
                   CUDA_ERROR_INVALID_VALUE);
    WaitToLeave(page);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  Actor importer([&](ActorPage& page) {
    wire::ShareHandle real;
    std::memcpy(static_cast<void*>(&real), &exchange_.memory, sizeof real);
    const auto refused = [&](const char* what, auto change) {
      wire::ShareHandle forged = real;
      change(forged);
      CUipcMemHandle handle;
      std::memcpy(&handle, &forged, sizeof handle);
      CUdeviceptr address = 0;
      ExpectStatus(page, what, cuIpcOpenMemHandle_v2(&address, handle, 1), CUDA_ERROR_INVALID_HANDLE);
    };
    refused("another secret", [](wire::ShareHandle& h) { h.memory.secret[1] ^= 1; });
    refused("another number", [](wire::ShareHandle& h) { h.memory.id ^= 1; });
    refused("another version", [](wire::ShareHandle& h) { ++h.version; });
    refused("no handle at all", [](wire::ShareHandle& h) { h.magic = 0; });
    refused("an event's", [](wire::ShareHandle& h) { h.kind = wire::ShareKind::kEvent; });
    Opened(page, exchange_.memory);
  });
  EXPECT_EQ(importer.AwaitEnd(), "");
  EXPECT_EQ(exporter.Leave(), "");
}

// --- by descriptors

TEST_F(Sharing, ADescriptorKeepsMemoryWhoeverHasMadeIt) {
  const uint64_t before = UsedNow();
  Actor exporter([&](ActorPage& page) {
    CUmemGenericAllocationHandle memory = 0;
    const CUmemAllocationProp properties = Exportable();
    Check(page, "cuMemCreate", cuMemCreate(&memory, kPiece, &properties, 0));
    const CUdeviceptr address = MapForUse(page, memory);
    Check(page, "cuMemsetD32", cuMemsetD32_v2(address, 1, kPiece / 4));
    int fd = -1;
    Check(page, "cuMemExportToShareableHandle",
          cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (!os::Send(there_.get(), std::vector<uint8_t>{1}, std::vector<int>{fd})) GiveUp(page, "send");
  });
  ASSERT_EQ(exporter.AwaitEnd(), "");
  auto received = os::Receive(here_.get(), 10'000);
  ASSERT_TRUE(received.has_value() && received->fds.size() == 1);
  ExpectUsed(before + kPiece);
  for (int round = 0; round < 2; ++round) {
    Actor importer([&](ActorPage& page) {
      CUmemGenericAllocationHandle memory = 0;
      Check(page, "cuMemImportFromShareableHandle",
            cuMemImportFromShareableHandle(&memory, AsPointer(received->fds.front().get()),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
      const CUdeviceptr address = MapForUse(page, memory);
      Expect(page, "what a process that is gone has written", address, 1, kPiece / 4);
    });
    EXPECT_EQ(importer.AwaitEnd(), "");
  }
  received->fds.clear();
  ExpectUsed(before);
}

TEST_F(Sharing, AReadOnlyMappingCannotBeWritten) {
  Actor exporter([&](ActorPage& page) {
    CUmemGenericAllocationHandle memory = 0;
    const CUmemAllocationProp properties = Exportable();
    Check(page, "cuMemCreate", cuMemCreate(&memory, kPiece, &properties, 0));
    const CUdeviceptr address = MapForUse(page, memory);
    Check(page, "cuMemsetD32", cuMemsetD32_v2(address, 1, kPiece / 4));
    int fd = -1;
    Check(page, "cuMemExportToShareableHandle",
          cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (!os::Send(there_.get(), std::vector<uint8_t>{1}, std::vector<int>{fd})) GiveUp(page, "send");
    WaitToLeave(page);
    Expect(page, "after another has tried to write", address, 1, kPiece / 4);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  auto received = os::Receive(here_.get(), 10'000);
  ASSERT_TRUE(received.has_value() && received->fds.size() == 1);
  Actor importer([&](ActorPage& page) {
    CUmemGenericAllocationHandle memory = 0;
    Check(page, "cuMemImportFromShareableHandle",
          cuMemImportFromShareableHandle(&memory, AsPointer(received->fds.front().get()),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    const CUdeviceptr address = MapForUse(page, memory, 1);
    Expect(page, "what it may read", address, 1, kPiece / 4);
    CUresult written = cuMemsetD32_v2(address, 2, kPiece / 4);
    if (written == 0) written = cuCtxSynchronize();
    ExpectStatus(page, "writing what it may only read", written, CUDA_ERROR_ILLEGAL_ADDRESS);
  });
  EXPECT_EQ(importer.AwaitEnd(), "");
  EXPECT_EQ(exporter.Leave(), "");
}

TEST_F(Sharing, DescriptorsOfOtherThingsAreRefused) {
  Actor actor([&](ActorPage& page) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) GiveUp(page, "pipe");
    const int file = memfd_create("no handle", 0);
    const wire::ShareHandle forged{.memory = {.id = 1, .secret = {2, 3}}};
    const int forgery = memfd_create("forgery", 0);
    if (write(forgery, &forged, sizeof forged) != sizeof forged) GiveUp(page, "write");
    CUmemGenericAllocationHandle memory = 0;
    const auto import = [&](int fd) {
      return cuMemImportFromShareableHandle(&memory, AsPointer(fd), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    };
    for (const int fd : {-1, pipe_ends[0], pipe_ends[1], file, here_.get()})
      ExpectStatus(page, "a descriptor of something else", import(fd), CUDA_ERROR_INVALID_VALUE);
    ExpectStatus(page, "a forged one", import(forgery), CUDA_ERROR_INVALID_HANDLE);
    const CUmemAllocationProp properties = Exportable();
    CUmemAllocationProp plain = properties;
    plain.requestedHandleTypes = 0;
    Check(page, "cuMemCreate", cuMemCreate(&memory, kPiece, &plain, 0));
    int fd = -1;
    ExpectStatus(page, "exporting what was not made for it",
                 cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                 CUDA_ERROR_INVALID_VALUE);
  });
  EXPECT_EQ(actor.AwaitEnd(), "");
}

// What holders of a descriptor do to it harms its other holders at most.
TEST_F(Sharing, ADescriptorCannotBeFilledOrGrown) {
  Actor actor([&](ActorPage& page) {
    CUmemGenericAllocationHandle memory = 0, again = 0;
    const CUmemAllocationProp properties = Exportable();
    Check(page, "cuMemCreate", cuMemCreate(&memory, kPiece, &properties, 0));
    int fd = -1;
    Check(page, "cuMemExportToShareableHandle",
          cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (send(fd, &fd, sizeof fd, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) GiveUp(page, "the server was sent something");
    if (ftruncate(fd, 0) == 0) GiveUp(page, "it was truncated");
    for (int i = 0; i < 3; ++i) {
      Check(page, "cuMemImportFromShareableHandle",
            cuMemImportFromShareableHandle(&again, AsPointer(fd), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
      Check(page, "cuMemRelease", cuMemRelease(again));
    }
    shutdown(fd, SHUT_RDWR);
    Check(page, "cuMemRelease", cuMemRelease(memory));
    ComputeOnce(page);
  });
  EXPECT_EQ(actor.AwaitEnd(), "");
}

// --- memory pools

TEST_F(Sharing, MemoryOfAPoolIsImportedByItsPointer) {
  const uint64_t before = UsedNow();
  Actor exporter([&](ActorPage& page) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemoryPool pool = nullptr;
    CUdeviceptr memory = 0;
    Check(page, "cuMemPoolCreate", cuMemPoolCreate(&pool, &properties));
    Check(page, "cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync(&memory, kBytes, pool, nullptr));
    Check(page, "cuMemsetD32", cuMemsetD32_v2(memory, 1, kWords));
    int fd = -1;
    Check(page, "cuMemPoolExportToShareableHandle",
          cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    Check(page, "cuMemPoolExportPointer", cuMemPoolExportPointer(&exchange_.pointer, memory));
    if (!os::Send(there_.get(), std::vector<uint8_t>{1}, std::vector<int>{fd})) GiveUp(page, "send");
    WaitToLeave(page);
    Expect(page, "what the other has written", memory, 2);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  auto received = os::Receive(here_.get(), 10'000);
  ASSERT_TRUE(received.has_value() && received->fds.size() == 1);
  Actor importer([&](ActorPage& page) {
    CUmemoryPool pool = nullptr;
    CUdeviceptr memory = 0;
    Check(page, "cuMemPoolImportFromShareableHandle",
          cuMemPoolImportFromShareableHandle(&pool, AsPointer(received->fds.front().get()),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    Check(page, "cuMemPoolImportPointer", cuMemPoolImportPointer(&memory, pool, &exchange_.pointer));
    Expect(page, "what the exporter has written", memory, 1);
    Check(page, "cuMemsetD32", cuMemsetD32_v2(memory, 2, kWords));
    Check(page, "cuMemFreeAsync", cuMemFreeAsync(memory, nullptr));
    ExpectStatus(page, "allocating from it", cuMemAllocFromPoolAsync(&memory, kBytes, pool, nullptr),
                 CUDA_ERROR_OUT_OF_MEMORY);
  });
  EXPECT_EQ(importer.AwaitEnd(), "");
  EXPECT_EQ(exporter.Leave(), "");
  ExpectUsed(before);
}

// --- events

CUevent SharedEventOf(ActorPage& page, CUipcEventHandle* handle) {
  CUevent event = nullptr;
  Check(page, "cuEventCreate", cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  Check(page, "cuIpcGetEventHandle", cuIpcGetEventHandle(handle, event));
  return event;
}

void Gate(void* flag) {
  while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::sleep_for(1ms);
}

TEST_F(Sharing, WorkWaitsForAnEventOfAnotherProcess) {
  Actor exporter([&](ActorPage& page) {
    const CUdeviceptr memory = Filled(page, 0);
    Check(page, "cuIpcGetMemHandle", cuIpcGetMemHandle(&exchange_.memory, memory));
    const CUevent event = SharedEventOf(page, &exchange_.event);
    CUstream stream = nullptr;
    Check(page, "cuStreamCreate", cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    // More recordings than there are words for them.
    for (uint32_t round = 1; round <= 2000; ++round) {
      Check(page, "cuMemsetD32Async", cuMemsetD32Async(memory, round, kWords, stream));
      Check(page, "cuEventRecord", cuEventRecord(event, stream));
    }
    Check(page, "cuLaunchHostFunc", cuLaunchHostFunc(stream, Gate, &page.leave));
    Check(page, "cuMemsetD32Async", cuMemsetD32Async(memory, 2001, kWords, stream));
    Check(page, "cuEventRecord", cuEventRecord(event, stream));
    WaitToLeave(page);
    Check(page, "cuEventSynchronize", cuEventSynchronize(event));
    exchange_.Await(2);
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  Actor importer([&](ActorPage& page) {
    CUevent event = nullptr;
    CUstream stream = nullptr;
    Check(page, "cuIpcOpenEventHandle", cuIpcOpenEventHandle(&event, exchange_.event));
    const CUdeviceptr memory = Opened(page, exchange_.memory);
    CUdeviceptr copy = Filled(page, 0);
    Check(page, "cuStreamCreate", cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ExpectStatus(page, "cuEventQuery", cuEventQuery(event), CUDA_ERROR_NOT_READY);
    Check(page, "cuStreamWaitEvent", cuStreamWaitEvent(stream, event, 0));
    Check(page, "cuMemcpyDtoDAsync", cuMemcpyDtoDAsync_v2(copy, memory, kBytes, stream));
    page.ready.store(true);
    Check(page, "cuStreamSynchronize", cuStreamSynchronize(stream));
    Expect(page, "what came before the event", copy, 2001);
    Check(page, "cuEventQuery", cuEventQuery(event));
    // It may record it as well.
    Check(page, "cuEventRecord", cuEventRecord(event, stream));
    Check(page, "cuEventSynchronize", cuEventSynchronize(event));
    Check(page, "cuEventDestroy", cuEventDestroy_v2(event));
  });
  ASSERT_EQ(importer.AwaitReady(), "");
  exporter.page().leave.store(true);
  EXPECT_EQ(importer.AwaitEnd(), "");
  exchange_.step.store(2);
  EXPECT_EQ(exporter.AwaitEnd(), "");
}

TEST_F(Sharing, NobodyWaitsForAnEventOfAProcessThatIsGone) {
  Actor exporter([&](ActorPage& page) {
    const CUevent event = SharedEventOf(page, &exchange_.event);
    Check(page, "cuLaunchHostFunc", cuLaunchHostFunc(nullptr, Gate, &page.leave));
    Check(page, "cuEventRecord", cuEventRecord(event, nullptr));
    page.ready.store(true);
    pause();
  });
  ASSERT_EQ(exporter.AwaitReady(), "");
  Actor importer([&](ActorPage& page) {
    CUevent event = nullptr;
    Check(page, "cuIpcOpenEventHandle", cuIpcOpenEventHandle(&event, exchange_.event));
    ExpectStatus(page, "cuEventQuery", cuEventQuery(event), CUDA_ERROR_NOT_READY);
    Check(page, "cuStreamWaitEvent", cuStreamWaitEvent(nullptr, event, 0));
    page.ready.store(true);
    Check(page, "cuEventSynchronize", cuEventSynchronize(event));
    Check(page, "cuCtxSynchronize", cuCtxSynchronize());
    ComputeOnce(page);
  });
  ASSERT_EQ(importer.AwaitReady(), "");
  exporter.Kill();
  EXPECT_EQ(importer.AwaitEnd(), "");
}

TEST_F(Sharing, EventsThatAreNotMadeForItAreNotShared) {
  Actor actor([&](ActorPage& page) {
    CUevent event = nullptr;
    ExpectStatus(page, "one with times", cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    Check(page, "cuEventCreate", cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUipcEventHandle handle;
    ExpectStatus(page, "cuIpcGetEventHandle", cuIpcGetEventHandle(&handle, event), CUDA_ERROR_INVALID_VALUE);
    ExpectStatus(page, "cuIpcOpenEventHandle", cuIpcOpenEventHandle(&event, CUipcEventHandle{}),
                 CUDA_ERROR_INVALID_HANDLE);
    SharedEventOf(page, &exchange_.event);
    ExpectStatus(page, "its own", cuIpcOpenEventHandle(&event, exchange_.event), CUDA_ERROR_INVALID_CONTEXT);
  });
  EXPECT_EQ(actor.AwaitEnd(), "");
}

// --- host memory

TEST_F(Sharing, SharedMemoryOfTheHostStaysSharedWhenItIsRegistered) {
  void* const pages = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const words = static_cast<uint32_t*>(pages);
  Actor writer([&](ActorPage& page) {
    Check(page, "cuMemHostRegister", cuMemHostRegister_v2(pages, kBytes, 0));
    const CUdeviceptr memory = Filled(page, 7);
    Check(page, "cuMemcpyDtoHAsync", cuMemcpyDtoHAsync_v2(pages, memory, kBytes, nullptr));
    Check(page, "cuStreamSynchronize", cuStreamSynchronize(nullptr));
    WaitToLeave(page);
    if (words[0] != 9 || words[kWords - 1] != 9) GiveUp(page, "it does not see what the other has written");
  });
  ASSERT_EQ(writer.AwaitReady(), "");
  Actor reader([&](ActorPage& page) {
    Check(page, "cuMemHostRegister", cuMemHostRegister_v2(pages, kBytes, 0));
    const CUdeviceptr memory = Filled(page, 0);
    Check(page, "cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2(memory, pages, kBytes, nullptr));
    Expect(page, "what the other has written", memory, 7);
    std::fill_n(words, kWords, 9);
    Check(page, "cuMemHostUnregister", cuMemHostUnregister(pages));
  });
  EXPECT_EQ(reader.AwaitEnd(), "");
  EXPECT_EQ(words[0], 9u) << "for who has not registered it as well";
  EXPECT_EQ(writer.Leave(), "");
  munmap(pages, kBytes);
}

}  // namespace
}  // namespace tutti::fault
