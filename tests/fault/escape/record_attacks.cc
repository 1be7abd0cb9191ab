// Well-formed records that name what is not the attacker's (other clients' memory, modules and kernels), what does not
// exist, and work without end.
#include "raw_attack.h"

namespace tutti::fault {
namespace {

using wire::RecordKind;

constexpr char kNothingToDo[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

// A copy of one row.
wire::CopyBody Row(uint64_t destination, uint64_t source, uint64_t bytes) {
  return {.destination = destination, .source = source, .row_bytes = bytes, .rows = 1, .planes = 1};
}
wire::FillBody Words(uint64_t destination, uint64_t count) {
  return {.destination = destination, .width = count, .height = 1, .value = 0xdeadbeef, .element_bytes = 4};
}

// A stream (2) that may have conditional nodes, and a condition with this value.
uint64_t ConditionWith(Attacker& a, uint32_t value) {
  a.Submit(RecordKind::kStreamCreate,
           wire::StreamCreateBody{.device = 0, .context = 1, .flags = wire::kStreamNonBlocking}, 2);
  const uint64_t condition =
      a.connection().replies().Call(RecordKind::kConditionCreate, wire::ConditionCreateBody{.device = 0}).value[0];
  a.Submit(RecordKind::kConditionSet, wire::ConditionSetBody{.condition = condition, .value = value}, 2);
  return condition;
}
void BeginLoop(Attacker& a, uint64_t condition, uint32_t stream = 2) {
  a.Submit(RecordKind::kConditional,
           wire::ConditionalBody{.condition = condition, .kind = wire::ConditionalKind::kWhile}, stream);
  a.Submit(RecordKind::kBody, wire::BodyBody{.number = 0}, stream);
}
void EndLoop(Attacker& a) { a.Submit(RecordKind::kConditionalEnd, wire::ConditionalEndBody{}, 2); }

constexpr uint64_t kPiece = 1 << 20;

// Addresses; 0 if they are refused.
uint64_t Reserve(Attacker& a, uint64_t bytes, uint64_t wish = 0) {
  const wire::AllocateBody body{
      .bytes = bytes, .alignment = 4096, .kind = wire::MemoryKind::kAddresses, .device = 0, .wish = wish};
  return a.connection().replies().Call(RecordKind::kAllocate, body).value[0];
}
int Map(Attacker& a, const wire::MapBody& body) { return a.connection().replies().Call(RecordKind::kMap, body).status; }
// Breaks the protocol if it is not refused.
void ExpectNoMapping(Attacker& a, const wire::MapBody& body) {
  if (Map(a, body) == 0) a.Submit(RecordKind::kNone, body);
}

constexpr RawAttack kAttacks[] = {
    {"copies_from_the_victim", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kCopy, Row(a.Allocate(4096), a.targets().victim, 4096)); }},
    {"copies_into_the_victim", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kCopy, Row(a.targets().victim, a.Allocate(4096), 4096)); }},
    {"copies_from_the_servers_heap", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kCopy, Row(a.Allocate(4096), a.targets().heap, 4096)); }},
    {"copies_into_the_victims_channel", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kCopy, Row(a.targets().channel, a.Allocate(4096), 4096)); }},
    {"copies_across_the_end_of_its_window", End::kFault,
     [](Attacker& a) {
       const uint64_t end = a.window() + a.connection().window_shape().bytes;
       a.Submit(RecordKind::kCopy, Row(a.Allocate(4096), end - 8, 16));
     }},
    {"copies_rows_that_step_out_of_its_window", End::kFault,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(4096);
       a.Submit(RecordKind::kCopy, wire::CopyBody{.destination = own,
                                                  .source = own,
                                                  .row_bytes = 8,
                                                  .rows = 3,
                                                  .planes = 1,
                                                  .source_pitch = a.connection().window_shape().bytes});
     }},
    {"copies_with_a_pitch_that_overflows", End::kSession,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(4096);
       a.Submit(RecordKind::kCopy, wire::CopyBody{.destination = own,
                                                  .source = own,
                                                  .row_bytes = 8,
                                                  .rows = 1ull << 40,
                                                  .planes = 1,
                                                  .source_pitch = 1ull << 40});
     }},
    {"fills_the_victim", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kFill, Words(a.targets().victim, 1024)); }},
    {"fills_the_servers_stack", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kFill, Words(a.targets().stack, 16)); }},
    {"fills_beyond_its_window", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kFill, Words(a.window() + a.connection().window_shape().bytes - 8, 16)); }},
    {"fills_more_than_there_is", End::kSession,
     [](Attacker& a) { a.Submit(RecordKind::kFill, Words(a.Allocate(4096), 1ull << 62)); }},
    {"frees_the_victims_memory", End::kNothing,
     [](Attacker& a) { a.Submit(RecordKind::kFree, wire::FreeBody{.address = a.targets().victim}, 0); }},
    {"frees_its_memory_twice", End::kNothing,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(4096);
       for (int i = 0; i < 2; ++i) a.Submit(RecordKind::kFree, wire::FreeBody{.address = own}, 0);
     }},
    {"frees_the_victims_memory_in_a_stream", End::kNothing,
     [](Attacker& a) { a.Submit(RecordKind::kStreamFree, wire::FreeBody{.address = a.targets().victim}); }},
    {"frees_its_memory_twice_in_a_stream", End::kNothing,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(4096);
       for (int i = 0; i < 2; ++i) a.Submit(RecordKind::kStreamFree, wire::FreeBody{.address = own});
     }},
    // What the device itself holds in the window, too: the variables of a module, which is unloaded then.
    {"frees_all_that_could_be_in_its_window", End::kNothing,
     [](Attacker& a) {
       const uint32_t module = a.Load(
           ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 variable = 1;\n.const .u32 constant = 2;\n"
           ".visible .entry k() { ret; }\n");
       for (uint64_t offset = 0; offset < 1 << 20; offset += 256)
         a.Submit(RecordKind::kFree, wire::FreeBody{.address = a.window() + offset}, 0);
       a.Submit(RecordKind::kModuleUnload, wire::ModuleUnloadBody{.module = module});
     }},
    {"unloads_every_module_there_could_be", End::kNothing,
     [](Attacker& a) {
       for (uint32_t module = 0; module < 4096; ++module)
         a.Submit(RecordKind::kModuleUnload, wire::ModuleUnloadBody{.module = module});
     }},
    {"launches_every_kernel_there_could_be", End::kFault,
     [](Attacker& a) {
       for (uint32_t kernel = 0; kernel < 1024; ++kernel) {
         a.Submit(RecordKind::kLaunch, wire::LaunchBody{.kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}});
       }
     }},
    {"prepares_kernels_of_modules_it_has_not", End::kRefused,
     [](Attacker& a) {
       for (uint32_t module = 0; module < 64; ++module) {
         if (a.connection()
                 .replies()
                 .Call(RecordKind::kPrepare, wire::PrepareBody{.module = module, .function = 0})
                 .status == 0)
           return;
       }
       a.refused = true;
     }},
    {"launches_with_the_victims_memory_as_arguments", End::kSession,
     [](Attacker& a) {
       struct {
         wire::LaunchBody body{
             .grid = {1, 1, 1}, .block = {1, 1, 1}, .flags = wire::kLaunchArgumentsInWindow, .argument_bytes = 4096};
         uint64_t address = 0;
       } launch;
       a.Load(kNothingToDo, &launch.body.kernel);
       launch.address = a.targets().victim;
       a.Submit(RecordKind::kLaunch, launch);
     }},
    {"launches_with_arguments_across_the_end_of_its_window", End::kSession,
     [](Attacker& a) {
       struct {
         wire::LaunchBody body{
             .grid = {1, 1, 1}, .block = {1, 1, 1}, .flags = wire::kLaunchArgumentsInWindow, .argument_bytes = 4096};
         uint64_t address = 0;
       } launch;
       a.Load(kNothingToDo, &launch.body.kernel);
       launch.address = a.window() + a.connection().window_shape().bytes - 64;
       a.Submit(RecordKind::kLaunch, launch);
     }},
    {"launches_with_too_few_arguments", End::kFault,
     [](Attacker& a) {
       uint32_t kernel = 0;
       a.Load(
           ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b) { ret; }\n",
           &kernel);
       a.Submit(RecordKind::kLaunch,
                wire::LaunchBody{.kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}, .argument_bytes = 3});
     }},
    {"launches_with_all_the_shared_memory_there_is", End::kFault,
     [](Attacker& a) {
       uint32_t kernel = 0;
       a.Load(kNothingToDo, &kernel);
       a.Submit(
           RecordKind::kLaunch,
           wire::LaunchBody{.kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared_bytes = 1 << 20});
     }},
    {"launches_a_cluster_that_does_not_fit", End::kSession,
     [](Attacker& a) {
       a.Submit(RecordKind::kLaunch,
                wire::LaunchBody{.grid = {255, 1, 1}, .block = {1, 1, 1}, .cluster_packed = 0x0101ff});
     }},
    {"launches_a_cluster_of_no_blocks", End::kSession,
     [](Attacker& a) {
       a.Submit(RecordKind::kLaunch,
                wire::LaunchBody{.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster_packed = 0x010002});
     }},
    {"launches_a_cluster_of_more_blocks_than_any_has", End::kSession,
     [](Attacker& a) {
       a.Submit(RecordKind::kLaunch,
                wire::LaunchBody{.grid = {32, 16, 16}, .block = {1, 1, 1}, .cluster_packed = 0x101010});
     }},
    {"launches_a_cluster_across_the_end_of_its_grid", End::kSession,
     [](Attacker& a) {
       a.Submit(RecordKind::kLaunch,
                wire::LaunchBody{.grid = {7, 1, 1}, .block = {1, 1, 1}, .cluster_packed = 0x010104});
     }},
    {"launches_clusters_with_more_shared_memory_than_an_sm_has", End::kFault,
     [](Attacker& a) {
       uint32_t kernel = 0;
       a.Load(kNothingToDo, &kernel);
       a.Submit(RecordKind::kLaunch, wire::LaunchBody{.kernel = kernel,
                                                      .grid = {16, 1, 1},
                                                      .block = {1, 1, 1},
                                                      .dynamic_shared_bytes = 200 << 10,
                                                      .cluster_packed = 0x010110});
     }},
    {"records_an_event_far_outside", End::kSession,
     [](Attacker& a) { a.Submit(RecordKind::kEventRecord, wire::EventRecordBody{.event = 0xffff'ffff}); }},
    {"waits_for_its_own_future", End::kSession,
     [](Attacker& a) { a.Submit(RecordKind::kWait, wire::WaitBody{.stream = 1, .ticket = ~0ull}); }},
    {"uses_a_stream_far_outside", End::kSession,
     [](Attacker& a) { a.Submit(RecordKind::kHostCall, wire::HostCallBody{.token = 1}, 0x8000'0000); }},
    {"asks_for_an_answer_far_outside", End::kSession,
     [](Attacker& a) {
       a.connection().producer().Submit(RecordKind::kAllocate, 0, wire::AllocateBody{.bytes = 1, .alignment = 256}, {},
                                        ipc::WaitHint::kNow, 0xffff);
     }},
    {"answers_a_host_call_that_nobody_made", End::kNothing,
     [](Attacker& a) {
       for (int i = 0; i < 100; ++i) a.connection().producer().Submit(RecordKind::kHostCallDone, 1);
     }},
    {"allocates_all_addresses", End::kRefused,
     [](Attacker& a) {
       a.refused = a.Allocate(~0ull) == 0 && a.Allocate(1ull << 63) == 0 && a.Allocate(1ull << 46) == 0;
     }},
    {"allocates_with_the_largest_alignment", End::kRefused,
     [](Attacker& a) {
       const auto reply = a.connection().replies().Call(RecordKind::kAllocate,
                                                        wire::AllocateBody{.bytes = 1, .alignment = 1ull << 63});
       a.refused = reply.status != 0;
     }},
    {"resets_a_device_that_is_not_there", End::kSession,
     [](Attacker& a) {
       a.connection().producer().Submit(RecordKind::kReset, 0, wire::ResetBody{.device = 15}, {}, ipc::WaitHint::kNow,
                                        1);
     }},
    {"loops_for_ever_over_nothing", End::kNothing,
     [](Attacker& a) {
       BeginLoop(a, ConditionWith(a, 1));
       EndLoop(a);
     }},
    {"loops_for_ever_in_loops_that_end_at_once", End::kNothing,
     [](Attacker& a) {
       BeginLoop(a, ConditionWith(a, 1));
       const uint64_t never =
           a.connection().replies().Call(RecordKind::kConditionCreate, wire::ConditionCreateBody{.device = 0}).value[0];
       for (int i = 0; i < 100; ++i) {
         BeginLoop(a, never);
         EndLoop(a);
       }
       EndLoop(a);
     }},
    {"never_ends_a_body", End::kNothing, [](Attacker& a) { BeginLoop(a, ConditionWith(a, 1)); }},
    {"destroys_the_condition_of_a_loop_that_runs", End::kNothing,
     [](Attacker& a) {
       const uint64_t condition = ConditionWith(a, 1);
       BeginLoop(a, condition);
       EndLoop(a);
       for (int i = 0; i < 2; ++i)
         a.Submit(RecordKind::kConditionDestroy, wire::ConditionDestroyBody{.condition = condition}, 0);
     }},
    {"nests_more_bodies_than_allowed", End::kSession,
     [](Attacker& a) {
       const uint64_t condition = ConditionWith(a, 1);
       for (uint32_t i = 0; i <= wire::kMostConditionalDepth; ++i) BeginLoop(a, condition);
     }},
    {"ends_a_body_that_has_not_begun", End::kSession,
     [](Attacker& a) {
       ConditionWith(a, 1);
       EndLoop(a);
     }},
    {"waits_for_its_own_end_in_a_body", End::kSession,
     [](Attacker& a) {
       const uint64_t condition = ConditionWith(a, 1), before = a.Mark();
       BeginLoop(a, condition);
       a.Submit(RecordKind::kWait, wire::WaitBody{.stream = 1, .ticket = before}, 2);
     }},
    {"calls_itself_in_a_body", End::kSession,
     [](Attacker& a) {
       BeginLoop(a, ConditionWith(a, 1));
       a.Submit(RecordKind::kHostCall, wire::HostCallBody{.token = 1}, 2);
     }},
    {"loops_in_a_stream_that_blocks", End::kSession, [](Attacker& a) { BeginLoop(a, ConditionWith(a, 1), 1); }},
    {"decides_by_every_condition_there_could_be", End::kFault,
     [](Attacker& a) {
       const uint64_t own = ConditionWith(a, 0);
       for (uint64_t number = 0; number < 100; ++number) {
         a.Submit(RecordKind::kConditionSet, wire::ConditionSetBody{.condition = own + 1 + number, .value = 1}, 2);
         BeginLoop(a, number);
         EndLoop(a);
       }
     }},
    {"has_more_conditions_than_there_may_be", End::kRefused,
     [](Attacker& a) {
       for (uint32_t i = 0; i <= wire::kMostConditions && !a.refused; ++i) {
         const auto reply =
             a.connection().replies().Call(RecordKind::kConditionCreate, wire::ConditionCreateBody{.device = 0});
         a.refused = reply.status != 0;
       }
     }},
    // Through the memory file, as constants are written: pages that count against nobody.
    {"fills_where_constants_could_be", End::kFault,
     [](Attacker& a) {
       const uint64_t constants = a.window() + a.connection().window_shape().constants_begin();
       a.Submit(RecordKind::kFill, Words(constants + (64 << 20), 64 << 20));
     }},
    {"fills_from_its_addresses_to_where_constants_could_be", End::kFault,
     [](Attacker& a) {
       const uint64_t constants = a.window() + a.connection().window_shape().constants_begin();
       a.Submit(RecordKind::kFill, Words(constants - (64 << 20), 32 << 20));
     }},
    {"fills_addresses_where_nothing_is_mapped", End::kFault,
     [](Attacker& a) { a.Submit(RecordKind::kFill, Words(Reserve(a, kPiece), 1024)); }},
    {"adds_to_words_that_are_not_its_own", End::kNothing,
     [](Attacker& a) {
       const wire::WindowShape& shape = a.connection().window_shape();
       for (const uint64_t address : {Reserve(a, kPiece), a.targets().victim, a.targets().heap, a.targets().stack,
                                      a.window() + shape.constants_begin(), a.window() + shape.bytes - 8,
                                      a.window() + shape.bytes, a.window() - 8, uint64_t{0}, ~uint64_t{7}}) {
         const wire::WordBody word{.address = address, .add = 1, .bytes = 8, .reserved = 0};
         if (a.connection().replies().Call(RecordKind::kWord, word).status == 0) a.Submit(RecordKind::kNone, word);
       }
     }},
    {"reads_a_word_across_its_end", End::kSession,
     [](Attacker& a) {
       a.connection().replies().Call(RecordKind::kWord,
                                     wire::WordBody{.address = a.window() + 4, .add = 0, .bytes = 8});
     }},
    {"maps_what_and_where_it_may_not", End::kNothing,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(kPiece), addresses = Reserve(a, 2 * kPiece);
       const wire::WindowShape& shape = a.connection().window_shape();
       for (const uint64_t memory :
            {a.targets().victim, own + 4096, addresses, a.window(), uint64_t{0}, ~uint64_t{0}}) {
         for (const wire::MapSource source : {wire::MapSource::kOwn, wire::MapSource::kImported})
           ExpectNoMapping(a, {addresses, kPiece, memory, source, wire::MapAccess::kReadWrite});
       }
       for (const uint64_t at : {own, addresses + 2 * kPiece, addresses - 4096, a.window(), a.targets().victim,
                                 a.window() + shape.constants_begin(), a.window() + shape.bytes - 4096})
         ExpectNoMapping(a, {at, kPiece, own, wire::MapSource::kOwn, wire::MapAccess::kReadWrite});
       ExpectNoMapping(a, {addresses, 2 * kPiece, own, wire::MapSource::kOwn, wire::MapAccess::kReadWrite});
     }},
    {"maps_beyond_the_end_of_memory", End::kSession,
     [](Attacker& a) {
       Map(a, {~uint64_t{4095}, 4 * kPiece, a.Allocate(kPiece), wire::MapSource::kOwn, wire::MapAccess::kReadWrite});
     }},
    {"unmaps_parts_of_mappings", End::kNothing,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(kPiece), at = Reserve(a, 2 * kPiece);
       Map(a, {at, kPiece, own, wire::MapSource::kOwn, wire::MapAccess::kReadWrite});
       for (const uint64_t from : {at, at + 4096, at + kPiece - 4096})
         ExpectNoMapping(a, {from, kPiece / 2, 0, wire::MapSource::kOwn, wire::MapAccess::kNone});
     }},
    {"frees_what_it_has_mapped_in_every_order", End::kNothing,
     [](Attacker& a) {
       for (int i = 0; i < 200; ++i) {
         const uint64_t own = a.Allocate(kPiece), at = Reserve(a, 2 * kPiece);
         Map(a, {at, kPiece, own, wire::MapSource::kOwn, wire::MapAccess::kReadWrite});
         Map(a, {at + kPiece, kPiece, own, wire::MapSource::kOwn, wire::MapAccess::kRead});
         a.Submit(RecordKind::kFill, Words(at, 1024));
         a.Submit(RecordKind::kFree, wire::FreeBody{.address = i % 2 == 0 ? own : at}, 0);
         a.Submit(RecordKind::kFree, wire::FreeBody{.address = i % 2 == 0 ? at : own}, 0);
         a.Settle();
       }
     }},
    {"maps_more_often_than_it_may", End::kRefused,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(4096), at = Reserve(a, uint64_t{wire::kMostMappings + 1} * 8192);
       for (uint32_t i = 0; i <= wire::kMostMappings && !a.refused; ++i)
         a.refused = Map(a, {at + i * 8192, 4096, own, wire::MapSource::kOwn, wire::MapAccess::kReadWrite}) != 0;
     }},
    {"reserves_more_addresses_than_there_are", End::kRefused,
     [](Attacker& a) {
       for (int i = 0; i < 100'000 && !a.refused; ++i) a.refused = Reserve(a, 1ull << 30, a.targets().victim) == 0;
     }},
    {"imports_what_nobody_has_exported", End::kNothing,
     [](Attacker& a) {
       for (uint64_t i = 0; i < 1000; ++i) {
         const wire::ImportBody body{.memory = {.id = i, .secret = {i, 0}}};
         if (a.connection().replies().Call(RecordKind::kImport, body).status == 0) a.Submit(RecordKind::kNone, body);
         a.Submit(RecordKind::kImportDrop, wire::ImportDropBody{.number = i}, 0);
       }
     }},
    {"exports_what_is_not_its_own", End::kNothing,
     [](Attacker& a) {
       for (const uint64_t address : {a.targets().victim, a.targets().heap, a.window(), Reserve(a, kPiece), uint64_t{0},
                                      a.Allocate(4096, wire::MemoryKind::kHost)}) {
         const wire::ExportBody body{.address = address, .end_with_largest = 0, .source = wire::MapSource::kOwn};
         if (a.connection().replies().Call(RecordKind::kExport, body).status == 0) a.Submit(RecordKind::kNone, body);
       }
     }},
    // What a client gets of memory of the host is its file; of other memory, and of what it has only imported, nothing.
    {"exports_and_opens_memory_that_it_has_only_imported", End::kRefused,
     [](Attacker& a) {
       const auto call = [&](RecordKind kind, const auto& body) { return a.connection().replies().Call(kind, body); };
       const auto name = call(RecordKind::kExport, wire::ExportBody{.address = a.Allocate(kPiece)});
       const uint64_t imported =
           call(RecordKind::kImport,
                wire::ImportBody{.memory = {.id = name.value[0], .secret = {name.value[1], name.value[2]}}})
               .value[0];
       a.refused = true;
       for (const uint64_t number : {imported, uint64_t{0}, imported + 1, ~uint64_t{0}, a.targets().victim}) {
         const wire::ExportBody body{.address = number, .end_with_largest = 0, .source = wire::MapSource::kImported};
         a.refused = a.refused && call(RecordKind::kExport, body).status != 0;
         ByteWriter request;
         wire::Put(request, wire::HostMemoryFile{.number = number});
         const auto file = a.connection().Call(wire::MessageKind::kHostMemoryFile, std::move(request), {},
                                               wire::MessageKind::kHostMemoryFileReply);
         a.refused = a.refused && file && file->fds.empty();
       }
     }},
    {"makes_more_memory_of_the_host_than_there_is", End::kRefused,
     [](Attacker& a) {
       for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, ~uint64_t{4095}, uint64_t{1} << 62}) {
         const wire::HostMemoryBody body{.bytes = bytes};
         if (a.connection().replies().Call(RecordKind::kHostMemory, body).status == 0) return;
       }
       for (int i = 0; i < 100'000 && !a.refused; ++i) {
         const wire::HostMemoryBody body{.bytes = kPiece};
         a.refused = a.connection().replies().Call(RecordKind::kHostMemory, body).status != 0;
       }
     }},
    // Its own, which it lets go while it is imported and mapped.
    {"imports_its_own_memory_again_and_again", End::kRefused,
     [](Attacker& a) {
       const uint64_t own = a.Allocate(kPiece), at = Reserve(a, kPiece);
       const auto name = a.connection().replies().Call(RecordKind::kExport, wire::ExportBody{.address = own});
       const wire::ImportBody body{.memory = {.id = name.value[0], .secret = {name.value[1], name.value[2]}}};
       for (int i = 0; i < 1000; ++i) {
         const auto import = a.connection().replies().Call(RecordKind::kImport, body);
         if (i == 500) Map(a, {at, kPiece, import.value[0], wire::MapSource::kImported, wire::MapAccess::kReadWrite});
       }
       a.Submit(RecordKind::kFree, wire::FreeBody{.address = own}, 0);
       a.Settle();
       a.refused = a.connection().replies().Call(RecordKind::kImport, body).status != 0;
     }},
    {"creates_every_stream_there_is", End::kNothing,
     [](Attacker& a) {
       for (uint32_t stream = 2; stream < wire::kMaxStreams; ++stream) {
         a.Submit(RecordKind::kStreamCreate, wire::StreamCreateBody{.device = 0, .context = stream}, stream);
       }
     }},
};

}  // namespace

std::span<const RawAttack> RecordAttacks() { return kAttacks; }

}  // namespace tutti::fault
