// Collective memory limits: what clients hold together, and who is ended for it. The null device has 3 GiB.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "server/testing/server_process.h"

namespace tutti::server::testing {
namespace {

using wire::RecordKind;

constexpr uint64_t kGiB = 1ull << 30;
constexpr int32_t kOutOfMemory = 2;

class MemoryGroups : public ::testing::Test {
 protected:
  std::unique_ptr<ipc::ClientConnection> Client(uint32_t pid, const std::string& group, uint64_t soft_bytes,
                                                uint64_t hard_bytes = ~0ull) {
    auto client = server_.ConnectHere(
        pid, wire::Attach{.memory_groups = {{.name = group, .soft_bytes = soft_bytes, .hard_bytes = hard_bytes}}});
    EXPECT_TRUE(client.has_value());
    return std::move(*client);
  }
  static int32_t Allocate(ipc::ClientConnection& client, uint64_t bytes) {
    return client.replies().Call(RecordKind::kAllocate, wire::AllocateBody{.bytes = bytes, .alignment = 256}).status;
  }

  ServerProcess server_;
};

TEST_F(MemoryGroups, ClientsOfAGroupHaveItsLimitTogether) {
  const auto one = Client(1, "pod", ~0ull, kGiB), two = Client(2, "pod", ~0ull, kGiB), other = Client(3, "free", ~0ull);
  EXPECT_EQ(Allocate(*one, kGiB / 2), 0);
  EXPECT_EQ(Allocate(*two, kGiB), kOutOfMemory);
  EXPECT_EQ(Allocate(*two, kGiB / 2), 0);
  EXPECT_EQ(Allocate(*one, 4096), kOutOfMemory);
  EXPECT_EQ(Allocate(*other, kGiB), 0);
  const auto clients = server_.Clients();
  ASSERT_EQ(clients.size(), 3u);
  EXPECT_EQ(clients[0].memory_group_bytes.at(0), kGiB);
  EXPECT_EQ(clients[0].memory_groups.at(0).hard_bytes, kGiB);
}

TEST_F(MemoryGroups, ALimitChangesLive) {
  const auto one = Client(1, "pod", ~0ull, kGiB);
  ByteWriter body;
  wire::Put(body, wire::ServerSet{
                      .what = wire::SettingKind::kMemoryGroup, .number = 2 * kGiB, .second = ~0ull, .text = "pod"});
  EXPECT_EQ(server_.Ask(wire::MessageKind::kServerSet, std::move(body)).status, 0);
  EXPECT_EQ(Allocate(*one, 2 * kGiB), 0);
  ByteWriter unknown;
  wire::Put(unknown, wire::ServerSet{.what = wire::SettingKind::kMemoryGroup, .number = kGiB, .text = "nobody"});
  EXPECT_NE(server_.Ask(wire::MessageKind::kServerSet, std::move(unknown)).status, 0);
}

TEST_F(MemoryGroups, ABorrowerIsEndedForWhoeverIsWithinItsLimit) {
  const auto borrower = Client(1, "borrows", kGiB / 2), small = Client(2, "borrows", kGiB / 2);
  const auto bystander = Client(3, "modest", kGiB), asker = Client(4, "asks", 2 * kGiB);
  ASSERT_EQ(Allocate(*borrower, kGiB), 0) << "there is room, so it may be borrowed";
  ASSERT_EQ(Allocate(*small, kGiB / 4), 0);
  ASSERT_EQ(Allocate(*bystander, kGiB / 2), 0);
  EXPECT_EQ(Allocate(*asker, 2 * kGiB), 0);
  EXPECT_EQ(borrower->header().ended.load(), 810u);
  EXPECT_EQ(small->header().ended.load(), 0u) << "one was enough";
  EXPECT_EQ(bystander->header().ended.load(), 0u);
}

TEST_F(MemoryGroups, NobodyIsEndedForABorrower) {
  const auto borrower = Client(1, "borrows", kGiB / 2), asker = Client(2, "asks", kGiB / 2);
  ASSERT_EQ(Allocate(*borrower, 2 * kGiB), 0);
  EXPECT_EQ(Allocate(*asker, 2 * kGiB), kOutOfMemory) << "more than its own soft limit";
  EXPECT_EQ(borrower->header().ended.load(), 0u);
}

TEST_F(MemoryGroups, NobodyIsEndedWhoHasBorrowedNothing) {
  const auto modest = Client(1, "modest", 2 * kGiB), asker = Client(2, "asks", 2 * kGiB);
  ASSERT_EQ(Allocate(*modest, 2 * kGiB), 0);
  EXPECT_EQ(Allocate(*asker, 2 * kGiB), kOutOfMemory);
  EXPECT_EQ(Allocate(*asker, kGiB), 0) << "and its ring goes on";
}

}  // namespace
}  // namespace tutti::server::testing
