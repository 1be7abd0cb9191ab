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
