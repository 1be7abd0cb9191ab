// Attacks by message: to the server on the session's socket, to the daemon on its own.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ipc/message.h"
#include "os/memory.h"
#include "os/socket.h"
#include "raw_attack.h"
#include "wire/server_messages.h"

namespace tutti::fault {
namespace {

using wire::MessageKind;

constexpr char kNothingToDo[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

os::Fd ToTheDaemon() { return os::Connect(Stage::Get().pipe_directory() + "/control").value(); }

// Whether the server refuses this image.
bool IsRefused(Attacker& a, int image) {
  ByteWriter body;
  wire::Put(body, wire::LoadModule{.device = 0});
  const int fds[] = {image};
  const auto reply = a.connection().Call(MessageKind::kLoadModule, std::move(body), fds, MessageKind::kLoadModuleReply);
  if (!reply) return true;
  ByteReader in(reply->body);
  const auto loaded = wire::GetLoadModuleReply(in);
  return !loaded || loaded->status != 0;
}

os::Fd FileOf(const std::string& bytes) {
  return os::CreateMemoryOf("image", {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}).value();
}

constexpr RawAttack kAttacks[] = {
    {"sends_what_only_the_daemon_may_send", End::kSession,
     [](Attacker& a) {
       ByteWriter body;
       wire::Put(body, wire::ServerShutdown{.force = true});
       (void)ipc::SendMessage(a.socket(), MessageKind::kServerShutdown, 1, std::move(body));
     }},
    {"sends_a_terminate_of_the_victim", End::kSession,
     [](Attacker& a) {
       ByteWriter body;
       wire::Put(body, wire::TerminateClient{.client = 0});
       (void)ipc::SendMessage(a.socket(), MessageKind::kTerminateClient, 1, std::move(body));
     }},
    {"sends_noise_on_its_socket", End::kSession,
     [](Attacker& a) {
       std::vector<uint8_t> noise(300, 0x5a);
       (void)os::Send(a.socket(), noise);
     }},
    {"sends_a_message_of_the_largest_size", End::kSession,
     [](Attacker& a) {
       std::vector<uint8_t> noise(os::kMaxMessageBytes, 0x11);
       (void)os::Send(a.socket(), noise);
     }},
    {"asks_and_never_reads_the_answers", End::kSession,
     [](Attacker& a) {
       for (int i = 0; i < 100'000 && a.connection().watch().ended() == 0; ++i) {
         ByteWriter body;
         wire::Put(body, wire::QueryModule{.module = 1, .function = 1});
         if (!ipc::SendMessage(a.socket(), MessageKind::kQueryModule, static_cast<uint32_t>(i), std::move(body))) break;
       }
     }},
    {"loads_a_thousand_modules_at_once", End::kSession,
     [](Attacker& a) {
       const os::Fd image = FileOf(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n");
       const int fds[] = {image.get()};
       for (uint32_t i = 0; i < 1000; ++i) {
         ByteWriter body;
         wire::Put(body, wire::LoadModule{.device = 0});
         if (!ipc::SendMessage(a.socket(), MessageKind::kLoadModule, i, std::move(body), fds)) break;
       }
     }},
    {"sends_descriptors_with_every_message", End::kSession,
     [](Attacker& a) {
       const int fds[] = {0, 1, 2, 0, 1, 2, 0, 1};
       for (uint32_t i = 0; i < 20; ++i) {
         ByteWriter body;
         wire::Put(body, wire::QueryModule{.module = 1, .function = 1});
         (void)ipc::SendMessage(a.socket(), MessageKind::kQueryModule, i, std::move(body), fds);
         (void)ipc::ReceiveMessage(a.socket(), 10'000);
       }
     }},
    {"loads_an_image_that_can_shrink", End::kRefused,
     [](Attacker& a) {
       const os::Fd file(memfd_create("image", MFD_CLOEXEC));
       if (ftruncate(file.get(), 1 << 20) == 0) a.refused = IsRefused(a, file.get());
     }},
    {"loads_an_image_from_a_terminal_or_device", End::kRefused,
     [](Attacker& a) {
       const os::Fd zero(open("/dev/zero", O_RDONLY | O_CLOEXEC)), folder(open("/", O_RDONLY | O_CLOEXEC));
       a.refused = IsRefused(a, zero.get()) && IsRefused(a, folder.get());
     }},
    {"loads_an_image_that_it_can_still_write", End::kRefused,
     [](Attacker& a) {
       const os::Fd file = os::CreateMemory("image", 4096).value();
       if (pwrite(file.get(), kNothingToDo, sizeof kNothingToDo, 0) > 0) a.refused = IsRefused(a, file.get());
     }},
    // Reading a hole makes its pages, and they would be the server's.
    {"loads_an_image_that_is_one_hole", End::kRefused,
     [](Attacker& a) {
       const os::Fd file(memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING));
       if (ftruncate(file.get(), 256 << 20) != 0) return;
       if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0)
         a.refused = IsRefused(a, file.get());
     }},
    {"loads_an_image_of_a_terabyte", End::kRefused,
     [](Attacker& a) {
       const os::Fd file = os::CreateMemory("image", 1ull << 40).value();
       a.refused = IsRefused(a, file.get());
     }},
    {"loads_noise", End::kRefused,
     [](Attacker& a) {
       std::mt19937 random(7);
       std::string noise(100'000, 0);
       for (char& byte : noise) byte = static_cast<char>(random());
       a.refused = IsRefused(a, FileOf(noise).get());
     }},
    {"loads_a_fatbin_with_lying_sizes", End::kRefused,
     [](Attacker& a) {
       std::string fatbin(4096, '\xff');
       const uint32_t magic = 0xba55ed50;
       std::memcpy(fatbin.data(), &magic, sizeof magic);
       const uint16_t version = 1, header = 16;
       std::memcpy(fatbin.data() + 4, &version, 2);
       std::memcpy(fatbin.data() + 6, &header, 2);
       a.refused = IsRefused(a, FileOf(fatbin).get());
     }},
    {"loads_ten_thousand_nested_blocks", End::kRefused,
     [](Attacker& a) {
       std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {";
       for (int i = 0; i < 10'000; ++i) ptx += "{";
       a.refused = IsRefused(a, FileOf(ptx).get());
     }},
    {"loads_an_expression_of_a_million_brackets", End::kRefused,
     [](Attacker& a) {
       const std::string ptx =
           ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 x = " + std::string(1'000'000, '(') + "1;\n";
       a.refused = IsRefused(a, FileOf(ptx).get());
     }},
    {"loads_text_without_an_end", End::kRefused,
     [](Attacker& a) {
       a.refused = IsRefused(a, FileOf(".version 8.0\n.target sm_80\n/*" + std::string(8 << 20, 'x')).get());
     }},
    {"shuts_its_socket_down", End::kSession, [](Attacker& a) { shutdown(a.socket(), SHUT_RDWR); }},
    {"opens_connections_to_the_daemon_and_says_nothing", End::kNothing,
     [](Attacker&) {
       std::vector<os::Fd> silent;
       for (int i = 0; i < 200; ++i) silent.push_back(ToTheDaemon());
     }},
    {"sends_noise_to_the_daemon", End::kNothing,
     [](Attacker&) {
       std::mt19937 random(9);
       for (int i = 0; i < 50; ++i) {
         std::vector<uint8_t> noise(1 + random() % 4000);
         for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
         const os::Fd socket = ToTheDaemon();
         (void)os::Send(socket.get(), noise);
       }
     }},
    {"sends_the_daemon_a_servers_messages", End::kNothing,
     [](Attacker&) {
       for (const auto kind : {MessageKind::kAttach, MessageKind::kServerReady, MessageKind::kServerReply,
                               MessageKind::kServerShutdown}) {
         const os::Fd socket = ToTheDaemon();
         ByteWriter body;
         body.Put<uint64_t>(1);
         (void)ipc::SendMessage(socket.get(), kind, 1, std::move(body));
         (void)ipc::ReceiveMessage(socket.get(), 5000);
       }
     }},
};

}  // namespace

std::span<const RawAttack> SocketAttacks() { return kAttacks; }

}  // namespace tutti::fault
