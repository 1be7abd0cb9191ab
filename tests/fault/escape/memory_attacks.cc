// Attacks on the shared memory itself: data changes after the server has read it, cursors lie, pages disappear.
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "raw_attack.h"

namespace tutti::fault {
namespace {

using namespace std::chrono_literals;
using wire::RecordKind;

// Publishes a slot as it is.
void Publish(Attacker& a, uint64_t position, RecordKind kind, uint8_t slots = 1) {
  wire::Slot& slot = a.channel().ring[position % wire::kRingSlots];
  slot.head.kind = kind;
  slot.head.slots = slots;
  slot.head.reply = 0;
  slot.head.stream = 1;
  slot.head.published.store(position + 1);
  a.connection().producer().ForceBell();
}

constexpr RawAttack kAttacks[] = {
    // The source of a copy alternates between its own memory and the victim's while the server reads the record. The
    // server must see either record as a whole: one is valid, the other is a fault.
    {"changes_records_while_they_are_read", End::kFault,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(4096);
       std::atomic<bool> stop{false};
       std::thread flipper([&] {
         for (uint64_t i = 0; !stop.load(); ++i) {
           for (wire::Slot& slot : std::span(a.channel().ring).subspan(0, 512)) {
             const uint64_t source = i % 2 == 0 ? own : a.targets().victim;
             std::memcpy(slot.body + 8, &source, sizeof source);
           }
         }
       });
       for (int i = 0; i < 2000; ++i) {
         a.Submit(RecordKind::kCopy, wire::CopyBody{.destination = own,
                                                    .source = i % 50 == 0 ? a.targets().victim : own,
                                                    .row_bytes = 64,
                                                    .rows = 1,
                                                    .planes = 1});
       }
       stop.store(true);
       flipper.join();
     }},
    {"changes_launch_arguments_while_they_are_read", End::kNothing,
     [](Attacker& a) {
       struct {
         wire::LaunchBody body{
             .grid = {1, 1, 1}, .block = {1, 1, 1}, .flags = wire::kLaunchArgumentsInWindow, .argument_bytes = 8};
         uint64_t address = 0;
       } launch;
       a.Load(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) { ret; }\n",
              &launch.body.kernel);
       launch.address = a.Allocate(4096, wire::MemoryKind::kScratch);
       auto* const argument = reinterpret_cast<std::atomic<uint64_t>*>(launch.address);
       for (int i = 0; i < 1000; ++i) {
         argument->store(static_cast<uint64_t>(i) << 40);
         a.Submit(RecordKind::kLaunch, launch);
       }
     }},
    {"says_that_its_ring_is_endless", End::kNothing,
     [](Attacker& a) {
       a.Settle();
       a.channel().header.tail.store(~0ull - 8);
       a.channel().header.head.store(~0ull - 8);
       a.connection().producer().ForceBell();
       std::this_thread::sleep_for(20ms);
       a.channel().header.tail.store(2);
       a.channel().header.head.store(2);
     }},
    {"publishes_a_record_of_all_slots", End::kSession,
     [](Attacker& a) { Publish(a, a.channel().header.tail.fetch_add(1), RecordKind::kLaunch, 255); }},
    {"publishes_a_record_of_no_slots", End::kSession,
     [](Attacker& a) { Publish(a, a.channel().header.tail.fetch_add(1), RecordKind::kMarker, 0); }},
    {"publishes_noise", End::kSession,
     [](Attacker& a) {
       std::mt19937 random(3);
       for (int i = 0; i < 64; ++i) {
         const uint64_t position = a.channel().header.tail.fetch_add(1);
         for (uint8_t& byte : a.channel().ring[position % wire::kRingSlots].body) byte = static_cast<uint8_t>(random());
         Publish(a, position, static_cast<RecordKind>(random()));
       }
     }},
    {"scribbles_all_over_its_channel", End::kNothing,
     [](Attacker& a) {
       auto* const words = reinterpret_cast<std::atomic<uint64_t>*>(&a.channel());
       constexpr size_t kWords = sizeof(wire::Channel) / sizeof(uint64_t),
                        kRingBegin = offsetof(wire::Channel, ring) / 8;
       // Everything except the ring, which is another attack, and the head, from which this program knows its own
       // state.
       std::mt19937_64 random(5);
       for (int i = 0; i < 100'000; ++i) {
         const size_t at = kRingBegin + sizeof(wire::Channel::ring) / 8 +
                           random() % (kWords - kRingBegin - sizeof(wire::Channel::ring) / 8);
         words[at].store(random(), std::memory_order_relaxed);
         if (i % 1000 == 0) a.connection().producer().ForceBell();
       }
       std::memset(reinterpret_cast<uint8_t*>(&a.channel()) + offsetof(wire::Channel, replies), 0,
                   sizeof(wire::Channel) - offsetof(wire::Channel, replies));
     }},
    {"claims_that_all_texts_are_read", End::kNothing,
     [](Attacker& a) {
       a.channel().print.consumed.store(~0ull);
       a.channel().asserts.consumed.store(1ull << 63);
       uint32_t kernel = 0;
       a.Load(
           ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) vprintf(.param .b64 f, .param "
           ".b64 a);\n"
           ".global .align 1 .b8 text[3] = {65, 10, 0};\n.visible .entry k() { .reg .b64 %d<2>; mov.u64 %d0, text; "
           "cvta.global.u64 %d0, %d0;\n"
           "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d0; st.param.b64 [a], %d0; call.uni (r), "
           "vprintf, (f, a); } ret; }\n",
           &kernel);
       a.Submit(RecordKind::kLaunch, wire::LaunchBody{.kernel = kernel, .grid = {64, 1, 1}, .block = {32, 1, 1}});
     }},
    {"claims_that_all_host_calls_are_taken", End::kNothing,
     [](Attacker& a) {
       for (uint32_t stream = 2; stream < 600; ++stream) {
         a.Submit(RecordKind::kStreamCreate, wire::StreamCreateBody{.device = 0, .context = 1}, stream);
         a.Submit(RecordKind::kHostCall, wire::HostCallBody{.token = stream}, stream);
         a.channel().host_calls.consumed.store(stream * 77);
       }
     }},
    {"rings_its_bell_without_an_end", End::kNothing,
     [](Attacker& a) {
       for (int i = 0; i < 200'000; ++i) a.connection().producer().ForceBell();
     }},
    {"completes_its_own_work", End::kNothing,
     [](Attacker& a) {
       auto& word = const_cast<wire::Completions::Word&>(a.connection().completions().streams[1]);
       auto* const page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(&word) / 4096 * 4096);
       if (mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0) return a.Submit(RecordKind::kNone, 0), void();
       a.channel().sleepers[1].awaited.store(~0ull);
       a.Mark();
       a.channel().sleepers[1].awaited.store(1);
     }},
    {"takes_its_windows_pages_away", End::kNothing,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(16 << 20);
       for (int i = 0; i < 50; ++i) {
         a.Submit(RecordKind::kFill,
                  wire::FillBody{.destination = own, .width = 4 << 20, .height = 1, .value = 1, .element_bytes = 4});
         fallocate(a.connection().window().fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                   static_cast<off_t>(own - a.window()), 16 << 20);
       }
     }},
    {"shortens_its_window", End::kNothing,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(4096);
       for (const off_t bytes : {off_t{0}, off_t{4096}, off_t{1} << 50})
         a.refused = a.refused || ftruncate(a.connection().window().fd(), bytes) == 0;
       a.Submit(RecordKind::kFill,
                wire::FillBody{.destination = own, .width = 1024, .height = 1, .value = 1, .element_bytes = 4});
     }},
    // With its own mapping gone, and before the server reopens the window, nobody could write.
    {"forbids_the_server_to_write_its_window", End::kNothing,
     [](Attacker& a) {
       munmap(reinterpret_cast<void*>(a.window()), a.channel().header.window.bytes);
       for (const int seal : {F_SEAL_WRITE, F_SEAL_FUTURE_WRITE})
         a.refused = a.refused || fcntl(a.connection().window().fd(), F_ADD_SEALS, seal) == 0;
       const uint64_t own = a.Allocate(64 << 20);
       a.Submit(RecordKind::kFill,
                wire::FillBody{.destination = own, .width = 16 << 20, .height = 1, .value = 1, .element_bytes = 4});
     }},
    {"takes_its_channels_pages_away", End::kNothing,
     [](Attacker& a) {
       a.Settle();
       // Everything except the first page, which says where the ring is read.
       auto* const bytes = reinterpret_cast<uint8_t*>(&a.channel());
       for (int i = 0; i < 20; ++i)
         madvise(bytes + offsetof(wire::Channel, replies), sizeof(wire::Channel) - offsetof(wire::Channel, replies),
                 MADV_REMOVE);
     }},
    {"reserves_a_slot_and_never_fills_it", End::kNothing,
     [](Attacker& a) {
       a.Settle();
       const uint64_t position = a.channel().header.tail.fetch_add(1);
       for (int i = 0; i < 100; ++i) a.Mark();
       std::this_thread::sleep_for(20ms);
       Publish(a, position, RecordKind::kMarker);
     }},
};

}  // namespace

std::span<const RawAttack> MemoryAttacks() { return kAttacks; }

}  // namespace tutti::fault
