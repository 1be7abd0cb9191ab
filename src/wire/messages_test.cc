// Every message comes back as it was written, and no prefix of one is taken for the whole.
#include "wire/messages.h"

#include <gtest/gtest.h>

#include "wire/server_messages.h"

namespace tutti::wire {
namespace {

Hello SomeHello() {
  return {.claimed_pid = 12,
          .pid_namespace = 4026531836,
          .command_line = "./nbody -n 3",
          .active_thread_percentage = "50",
          .pinned_memory_limit = "0=1G",
          .client_priority = "1",
          .sm_partition = "",
          .visible_devices = "0,1"};
}

// Writes, reads back, writes again: the bytes are the same. And each proper prefix is refused.
template <typename Message, typename Getter>
void ExpectRoundTrip(const Message& message, Getter get) {
  ByteWriter out;
  Put(out, message);
  const auto bytes = out.Take();
  ByteReader in(bytes);
  const auto back = get(in);
  ASSERT_TRUE(back.has_value()) << back.error().text;
  EXPECT_TRUE(in.at_end());
  ByteWriter again;
  Put(again, *back);
  EXPECT_EQ(again.Take(), bytes);
  for (size_t length = 0; length < bytes.size(); ++length) {
    ByteReader cut({bytes.data(), length});
    EXPECT_FALSE(get(cut).has_value()) << length << " of " << bytes.size();
  }
}

TEST(Messages, SessionMessagesComeBack) {
  ExpectRoundTrip(SomeHello(), GetHello);
  ExpectRoundTrip(Refuse{.status = 808, .text = "full"}, GetRefuse);
  ExpectRoundTrip(LoadModule{.device = 2}, GetLoadModule);
  ExpectRoundTrip(ImportFileReply{.status = 0, .text = "", .number = 7, .bytes = 1 << 21}, GetImportFileReply);
  ExpectRoundTrip(LoadModuleReply{.status = 218, .module = 3, .log = "line 3"}, GetLoadModuleReply);
  ExpectRoundTrip(QueryModule{.module = 1, .function = 2}, GetQueryModule);
  ExpectRoundTrip(QueryModuleReply{.log = "no"}, GetQueryModuleReply);
}

TEST(Messages, DaemonMessagesComeBack) {
  ServerReady ready{
      .devices = {{.uuid = {1, 2, 3}, .name = "CPU", .total_bytes = 5, .sm_count = 16, .sms_per_chunk = 8}}};
  ExpectRoundTrip(ready, GetServerReady);
  ready.devices[0].sms_per_chunk = 0;
  ByteWriter out;
  Put(out, ready);
  const std::vector<uint8_t> impossible = out.Take();
  ByteReader in(impossible);
  EXPECT_FALSE(GetServerReady(in)) << "the daemon divides by it";
  ExpectRoundTrip(Attach{.hello = SomeHello(),
                         .pid = 1,
                         .uid = 2,
                         .active_thread_percentage = 12.5,
                         .priority = 1,
                         .memory_limits = {{.device = 1, .bytes = 1 << 30}},
                         .party = "user 2"},
                  GetAttach);
  ExpectRoundTrip(ServerQuery{.what = QueryKind::kTrace}, GetServerQuery);
  ExpectRoundTrip(
      ServerReply{.status = 1, .text = "no", .clients = {{.id = 1, .command_line = "a"}, {.id = 2, .share = 0.5}}},
      GetServerReply);
  ExpectRoundTrip(ServerSet{.what = SettingKind::kMemoryLimit, .client = 3, .device = 1, .number = 9, .text = "x"},
                  GetServerSet);
  ExpectRoundTrip(TerminateClient{.client = 4}, GetTerminateClient);
  ExpectRoundTrip(ServerPeer{.what = PeerKind::kOther, .server = 77}, GetServerPeer);
  ExpectRoundTrip(ServerShutdown{.force = true}, GetServerShutdown);
}

TEST(Messages, HelloWithAVeryLongTextIsRefused) {
  Hello hello = SomeHello();
  hello.command_line.assign(4097, 'x');
  ByteWriter out;
  Put(out, hello);
  ByteReader in(out.bytes());
  EXPECT_FALSE(GetHello(in).has_value());
}

TEST(Messages, CountThatTheBytesCannotHoldReservesNothing) {
  ByteWriter out;
  out.Put<int32_t>(0);
  out.PutString("");
  out.Put<uint32_t>(0xffffffff);
  ByteReader in(out.bytes());
  EXPECT_FALSE(GetServerReply(in).has_value());
}

TEST(Messages, HeadOfAnotherVersionNamesBoth) {
  ByteWriter out;
  out.Put(MessageHead{.version = 9, .kind = MessageKind::kHello});
  ByteReader in(out.bytes());
  const auto head = ReadHead(in);
  ASSERT_FALSE(head.has_value());
  EXPECT_NE(head.error().text.find("protocol 9"), std::string::npos);
}

TEST(Messages, BytesThatAreNoMessageAreRefused) {
  const std::vector<uint8_t> noise(16, 0x5a);
  ByteReader in(noise);
  EXPECT_FALSE(ReadHead(in).has_value());
}

}  // namespace
}  // namespace tutti::wire
