// What one client leaves behind is never seen by another: not in memory of any kind, in blocks' resources, in
// registers, or in modules that both load. A donor puts a secret everywhere; a finder reads everything that it gets and
// has not written, while the donor lives, while its kernel is suspended, when it has ended, and when it was killed.
//
//   leak_test      with CUDA_MPS_PIPE_DIRECTORY of a running daemon, whose device should have one SM: so both use it
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>

#include "ipc/client_connection.h"
#include "kernels.h"
#include "memory.h"

namespace tutti::fault {
namespace {

using namespace cuda;

constexpr size_t kBytes = 4 << 20;

// --- what blocks work with

void Plant(ActorPage& page) {
  LeakModule(page).Plant();
  WaitToLeave(page);
}

// With the secret in the registers of a kernel that goes on until the actor may leave.
void Hold(ActorPage& page) {
  void* flag = nullptr;
  Check(page, "cuMemAllocHost", cuMemAllocHost_v2(&flag, 4));
  LeakModule module(page);
  module.Hold(reinterpret_cast<CUdeviceptr>(flag));
  WaitToLeave(page);
  static_cast<std::atomic<uint32_t>*>(flag)->store(1);
  Check(page, "cuCtxSynchronize", cuCtxSynchronize());
}

void ExpectZero(ActorPage& page, const char* what, const std::vector<uint32_t>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != 0) GiveUp(page, fmt::format("{}: word {} is {:#x}", what, i, words[i]));
  }
}

// Loading its own module must not overwrite any of it: reads everything before it writes anything.
void LookAround(ActorPage& page) {
  LeakModule module(page);
  ExpectZero(page, "shared memory", module.SharedMemory());
  ExpectZero(page, "local memory", module.LocalMemory());
  ExpectZero(page, "memory of malloc", module.Heap());
  if (HasSecret(module.Registers())) GiveUp(page, "the secret is in a register");
  if (module.Variables() != std::vector<uint32_t>{kBuilt, kBuilt})
    GiveUp(page, "a variable of the module is not what it was built with");
}

std::string Finder() {
  Actor finder(LookAround);
  return finder.AwaitEnd();
}

TEST(Leak, NothingOfAKernelIsSeenWhileItsClientLives) {
  Actor donor(Plant);
  ASSERT_EQ(donor.AwaitReady(), "");
  EXPECT_EQ(Finder(), "");
  EXPECT_EQ(donor.Leave(), "");
}

TEST(Leak, NothingOfAKernelIsSeenWhileItIsSuspended) {
  Actor donor(Hold);
  ASSERT_EQ(donor.AwaitReady(), "");
  EXPECT_EQ(Finder(), "");
  EXPECT_EQ(Finder(), "");
  EXPECT_EQ(donor.Leave(), "") << "its registers are not its own after the others have run";
}

TEST(Leak, NothingOfAKernelIsSeenAfterItsClientsEnd) {
  Actor donor(Plant);
  ASSERT_EQ(donor.AwaitReady(), "");
  ASSERT_EQ(donor.Leave(), "");
  EXPECT_EQ(Finder(), "");
}

TEST(Leak, NothingOfAKernelIsSeenAfterItsClientWasKilled) {
  Actor donor(Hold);
  ASSERT_EQ(donor.AwaitReady(), "");
  donor.Kill();
  EXPECT_EQ(Finder(), "");
}

// Shows that the finder finds a secret that is there.
TEST(Leak, AClientFindsWhatItHasLeftItself) {
  Actor both([](ActorPage& page) {
    LeakModule module(page);
    module.Plant();
    if (!HasSecret(module.SharedMemory())) GiveUp(page, "not in shared memory");
    if (!HasSecret(module.LocalMemory())) GiveUp(page, "not in local memory");
    if (module.Variables() != std::vector<uint32_t>{kSecretWord, kSecretWord})
      GiveUp(page, "not in the module's variables");
  });
  EXPECT_EQ(both.AwaitEnd(), "");
}

// --- memory

void FillAllWays(ActorPage& page, std::vector<CUdeviceptr>* addresses) {
  for (const MemoryWay& way : MemoryWays()) {
    const CUdeviceptr address = addresses->emplace_back(way.get(page, kBytes));
    Check(page, way.name, cuMemsetD32_v2(address, kSecretWord, kBytes / 4));
  }
  // Through whatever copies are staged in, and memory of its own that the device uses.
  std::vector<uint32_t> secret(kBytes / 4, kSecretWord);
  Check(page, "cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2(addresses->front(), secret.data(), kBytes, nullptr));
  void* const registered = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(registered, secret.data(), kBytes);
  Check(page, "cuMemHostRegister", cuMemHostRegister_v2(registered, kBytes, 0));
  Check(page, "cuMemcpyHtoD of registered memory", cuMemcpyHtoD_v2(addresses->front(), registered, kBytes));
  Check(page, "cuCtxSynchronize", cuCtxSynchronize());
  Check(page, "cuMemHostUnregister", cuMemHostUnregister(registered));
}

void GiveAllBack(ActorPage& page, const std::vector<CUdeviceptr>& addresses) {
  for (size_t i = 0; i < addresses.size(); ++i) MemoryWays()[i].give_back(page, addresses[i], kBytes);
  Check(page, "cuCtxSynchronize", cuCtxSynchronize());
}

void ExpectAllZero(ActorPage& page) {
  std::vector<uint32_t> found(kBytes / 4);
  for (const MemoryWay& way : MemoryWays()) {
    for (int i = 0; i < 2; ++i) {
      std::ranges::fill(found, 1u);
      Check(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(found.data(), way.get(page, kBytes), kBytes));
      ExpectZero(page, way.name, found);
    }
  }
}

std::string MemoryFinder() {
  Actor finder(ExpectAllZero);
  return finder.AwaitEnd();
}

TEST(Leak, MemoryOfEveryKindIsZeroWhenItIsFirstSeen) {
  Actor donor([](ActorPage& page) {
    std::vector<CUdeviceptr> addresses;
    FillAllWays(page, &addresses);
    WaitToLeave(page);
  });
  ASSERT_EQ(donor.AwaitReady(), "");
  EXPECT_EQ(MemoryFinder(), "") << "while another lives";
  donor.Kill();
  EXPECT_EQ(MemoryFinder(), "") << "after another was killed";
}

TEST(Leak, MemoryThatOneClientFreesIsZeroForAnother) {
  Actor donor([](ActorPage& page) {
    std::vector<CUdeviceptr> addresses;
    FillAllWays(page, &addresses);
    GiveAllBack(page, addresses);
    WaitToLeave(page);
  });
  ASSERT_EQ(donor.AwaitReady(), "");
  EXPECT_EQ(MemoryFinder(), "");
  EXPECT_EQ(donor.Leave(), "");
}

// --- addresses, windows

TEST(Leak, AnAddressOfAnotherClientMeansNothing) {
  Actor donor([](ActorPage& page) {
    const CUdeviceptr secret = MemoryWays()[0].get(page, kBytes);
    Check(page, "cuMemsetD32", cuMemsetD32_v2(secret, kSecretWord, kBytes / 4));
    page.address.store(secret);
    WaitToLeave(page);
    std::vector<uint32_t> found(kBytes / 4);
    Check(page, "cuMemcpyDtoH", cuMemcpyDtoH_v2(found.data(), secret, kBytes));
    if (found != std::vector<uint32_t>(kBytes / 4, kSecretWord)) GiveUp(page, "it has been written to");
  });
  ASSERT_EQ(donor.AwaitReady(), "");
  static uint32_t words[64];
  using Use = CUresult (*)(CUdeviceptr);
  static constexpr std::pair<const char*, Use> kUses[] = {
      {"cuMemcpyDtoH", [](CUdeviceptr a) { return cuMemcpyDtoH_v2(words, a, sizeof words); }},
      {"cuMemcpyHtoD", [](CUdeviceptr a) { return cuMemcpyHtoD_v2(a, words, sizeof words); }},
      {"cuMemcpyDtoD",
       [](CUdeviceptr a) -> CUresult {
         CUdeviceptr own = 0;
         if (cuMemAlloc_v2(&own, sizeof words) != CUDA_SUCCESS) return CUDA_SUCCESS;
         const CUresult copied = cuMemcpyDtoD_v2(own, a, sizeof words);
         return copied != CUDA_SUCCESS ? copied : cuCtxSynchronize();
       }},
      {"cuMemsetD32",
       [](CUdeviceptr a) -> CUresult {
         return cuMemsetD32_v2(a, 0, 64) != CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : cuCtxSynchronize();
       }},
      {"cuMemFree", [](CUdeviceptr a) { return cuMemFree_v2(a); }},
      {"cuMemFreeAsync", [](CUdeviceptr a) { return cuMemFreeAsync(a, nullptr); }},
      {"cuMemGetAddressRange",
       [](CUdeviceptr a) {
         CUdeviceptr base;
         size_t bytes;
         return cuMemGetAddressRange_v2(&base, &bytes, a);
       }},
  };
  for (const auto& [name, use] : kUses) {
    const CUdeviceptr secret = donor.page().address.load();
    Actor thief([name = name, use = use, secret](ActorPage& page) {
      if (use(secret) == CUDA_SUCCESS) GiveUp(page, fmt::format("{} takes another's address", name));
      if (HasSecret({std::begin(words), std::end(words)}))
        GiveUp(page, fmt::format("{} has given the secret away", name));
    });
    EXPECT_EQ(thief.AwaitEnd(), "");
  }
  EXPECT_EQ(donor.Leave(), "");
}

// Memory that a client frees goes back to the machine, however long the client lives.
TEST(Leak, PagesOfFreedMemoryAreGivenBack) {
  constexpr uint64_t kBytesEach = 8 << 20;
  auto connection =
      ipc::ClientConnection::Connect(std::getenv("CUDA_MPS_PIPE_DIRECTORY"), {.command_line = "leak"}, 60'000);
  ASSERT_TRUE(connection.has_value()) << connection.error().text;
  ipc::ClientConnection& client = **connection;
  const auto pages = [&client] {
    struct stat info{};
    fstat(client.window().fd(), &info);
    return static_cast<uint64_t>(info.st_blocks) * 512;
  };
  for (int i = 0; i < 20; ++i) {
    const auto reply = client.replies().Call(
        wire::RecordKind::kAllocate,
        wire::AllocateBody{.bytes = kBytesEach, .alignment = 256, .kind = wire::MemoryKind::kManaged});
    ASSERT_EQ(reply.status, 0);
    ASSERT_TRUE(client.window().Open(reply.value[0], kBytesEach));
    std::memset(reinterpret_cast<void*>(reply.value[0]), 1, kBytesEach);
    EXPECT_GE(pages(), kBytesEach);
    client.producer().Submit(wire::RecordKind::kFree, 0, wire::FreeBody{.address = reply.value[0]}, {},
                             ipc::WaitHint::kNow);
    // The answer comes after the free.
    ASSERT_EQ(
        client.replies().Call(wire::RecordKind::kAllocate, wire::AllocateBody{.bytes = 4096, .alignment = 256}).status,
        0);
  }
  EXPECT_LT(pages(), kBytesEach);
}

// An address slot is reused only after all others: after 1,536 clients with windows of the largest size.
TEST(Leak, AWindowThatIsUsedAgainHoldsNothing) {
  const auto connect = [] {
    auto connection =
        ipc::ClientConnection::Connect(std::getenv("CUDA_MPS_PIPE_DIRECTORY"), {.command_line = "leak"}, 60'000);
    EXPECT_TRUE(connection.has_value()) << (connection ? "" : connection.error().text);
    return std::move(*connection);
  };
  const auto blocks = [](ipc::ClientConnection& connection) {
    struct stat info{};
    fstat(connection.window().fd(), &info);
    return info.st_blocks;
  };
  uint64_t first = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto connection = connect();
    ASSERT_EQ(blocks(*connection), 0) << "a new client's window has pages";
    const auto reply = connection->replies().Call(
        wire::RecordKind::kAllocate,
        wire::AllocateBody{.bytes = 4096, .alignment = 256, .kind = wire::MemoryKind::kManaged});
    ASSERT_EQ(reply.status, 0);
    ASSERT_TRUE(connection->window().Open(reply.value[0], 4096));
    auto* const word = reinterpret_cast<uint32_t*>(reply.value[0]);
    ASSERT_EQ(*word, 0u);
    *word = kSecretWord;
    if (first == 0) {
      first = connection->window_base();
    } else if (first == connection->window_base()) {
      return;
    }
  }
  GTEST_SKIP() << "no window was used again";
}

}  // namespace
}  // namespace tutti::fault
