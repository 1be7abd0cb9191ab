// Graphs that kernels launch: forged descriptions, forged names, and launches without end.
#include <cstring>
#include <vector>

#include "raw_attack.h"
#include "wire/graph_description.h"

namespace tutti::fault {
namespace {

using wire::RecordKind;

template <typename Body>
std::span<const uint8_t> BytesOf(const Body& body) {
  return {reinterpret_cast<const uint8_t*>(&body), sizeof body};
}

int UploadFrom(Attacker& a, uint64_t graph, uint64_t address, uint64_t bytes, uint32_t flags = 0) {
  const wire::GraphUploadBody body{.graph = graph, .address = address, .bytes = bytes, .device = 0, .flags = flags};
  return a.connection().replies().Call(RecordKind::kGraphUpload, body).status;
}
int Upload(Attacker& a, uint64_t graph, std::span<const uint8_t> description, uint32_t flags = 0) {
  const uint64_t scratch = a.Allocate(description.size(), wire::MemoryKind::kScratch);
  std::memcpy(reinterpret_cast<void*>(scratch), description.data(), description.size());
  return UploadFrom(a, graph, scratch, description.size(), flags);
}
std::vector<uint8_t> Copying(uint64_t destination, uint64_t source) {
  wire::GraphWriter writer;
  writer.Add(
      RecordKind::kCopy, {},
      BytesOf(wire::CopyBody{.destination = destination, .source = source, .row_bytes = 4096, .rows = 1, .planes = 1}));
  return writer.Take();
}
wire::LaunchBody LaunchOf(uint32_t kernel, uint32_t environment = 0) {
  return {.kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}, .environment = environment};
}
std::vector<uint8_t> Launching(uint32_t kernel) {
  wire::GraphWriter writer;
  writer.Add(RecordKind::kLaunch, {}, BytesOf(LaunchOf(kernel)));
  return writer.Take();
}
void LaunchGraph(Attacker& a, uint64_t graph, uint32_t stream = 1) {
  a.Submit(RecordKind::kGraphLaunch, wire::GraphLaunchBody{.graph = graph}, stream);
}
// A stream (2) for work without end.
void MakeStream(Attacker& a) {
  a.Submit(RecordKind::kStreamCreate,
           wire::StreamCreateBody{.device = 0, .context = 1, .flags = wire::kStreamNonBlocking}, 2);
}

#define HEAD                                                                                         \
  ".version 8.0\n.target sm_80\n.address_size 64\n"                                                  \
  ".extern .func (.param .b32 r) cudaGraphLaunch(.param .b64 graph, .param .b64 stream);\n"          \
  ".extern .func (.param .b32 r) cudaGraphKernelNodeSetEnabled(.param .b64 node, .param .b32 on);\n" \
  ".visible .entry k()\n{\n  .reg .b32 %r<3>;\n  .reg .b64 %d<3>;\n  .reg .pred %p;\n"

constexpr char kLaunchesItself[] = HEAD
    "  mov.u64 %d0, %current_graph_exec;\n"
    "  call.uni (%r0), cudaGraphLaunch, (%d0, 0x0100000000000000);\n  ret;\n}\n";
constexpr char kForgetsGraphOne[] = HEAD "  call.uni (%r0), cudaGraphLaunch, (1, 0x0200000000000000);\n  ret;\n}\n";
constexpr char kForgetsGraphTwo[] = HEAD
    "  call.uni (%r0), cudaGraphLaunch, (2, 0x0200000000000000);\n"
    "  call.uni (%r0), cudaGraphLaunch, (1, 0x0100000000000000);\n  ret;\n}\n";
constexpr char kGuessesGraphs[] = HEAD
    "  mov.u64 %d0, 0;\n"
    "again:\n"
    "  call.uni (%r0), cudaGraphLaunch, (%d0, 0x0100000000000000);\n"
    "  call.uni (%r0), cudaGraphLaunch, (%d0, %d0);\n"
    "  call.uni (%r0), cudaGraphKernelNodeSetEnabled, (%d0, 0);\n"
    "  add.u64 %d0, %d0, 1;\n"
    "  setp.lt.u64 %p, %d0, 4096;\n"
    "  @%p bra again;\n  ret;\n}\n";
constexpr char kWaits[] = HEAD "again:\n  nanosleep.u32 100000;\n  bra again;\n}\n";

#undef HEAD

// Launches itself with two threads, which do nothing, in this stream; then goes on for a while.
#define LAUNCHES_A_CHILD_IN(stream)                                                                           \
  ".version 8.0\n.target sm_80\n.address_size 64\n"                                                           \
  ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 alignment, .param .b64 bytes);\n"         \
  ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 function, .param .b64 buffer,\n"                \
  "  .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared, .param .b64 stream);\n" \
  ".visible .entry k()\n{\n  .reg .b32 %r<3>;\n  .reg .b64 %d<4>;\n  .reg .pred %p;\n"                        \
  "  .param .align 4 .b8 grid[12];\n  .param .align 4 .b8 block[12];\n"                                       \
  "  mov.u32 %r0, %ntid.x;\n  setp.ne.u32 %p, %r0, 1;\n  @%p bra end;\n"                                      \
  "  mov.u64 %d0, k;\n  call.uni (%d1), cudaGetParameterBuffer, (8, 8);\n"                                    \
  "  st.param.b32 [grid], 1; st.param.b32 [grid+4], 1; st.param.b32 [grid+8], 1;\n"                           \
  "  st.param.b32 [block], 2; st.param.b32 [block+4], 1; st.param.b32 [block+8], 1;\n"                        \
  "  call.uni (%r1), cudaLaunchDevice, (%d0, %d1, grid, block, 0, " stream                                    \
  ");\n"                                                                                                      \
  "  mov.u64 %d2, %clock64;\nagain:\n  mov.u64 %d3, %clock64;\n  sub.u64 %d3, %d3, %d2;\n"                    \
  "  setp.lt.u64 %p, %d3, 20000000;\n  @%p bra again;\nend:\n  ret;\n}\n"
constexpr char kLaunchesAtItsTail[] = LAUNCHES_A_CHILD_IN("3"), kForgetsAChild[] = LAUNCHES_A_CHILD_IN("4");
#undef LAUNCHES_A_CHILD_IN

// Twice, or for ever: `body` in stream 2.
void Loop(Attacker& a, void (*body)(Attacker&)) {
  MakeStream(a);
  const uint64_t condition =
      a.connection().replies().Call(RecordKind::kConditionCreate, wire::ConditionCreateBody{.device = 0}).value[0];
  a.Submit(RecordKind::kConditionSet, wire::ConditionSetBody{.condition = condition, .value = 1}, 2);
  a.Submit(RecordKind::kConditional,
           wire::ConditionalBody{.condition = condition, .kind = wire::ConditionalKind::kWhile}, 2);
  a.Submit(RecordKind::kBody, wire::BodyBody{.number = 0}, 2);
  body(a);
  a.Submit(RecordKind::kConditionalEnd, wire::ConditionalEndBody{}, 2);
}

constexpr RawAttack kAttacks[] = {
    {"launches_a_graph_that_nobody_has_uploaded", End::kFault, [](Attacker& a) { LaunchGraph(a, 7); }},
    {"launches_a_graph_that_it_has_dropped", End::kFault,
     [](Attacker& a) {
       Upload(a, 7, Copying(a.Allocate(4096), a.Allocate(4096)));
       LaunchGraph(a, 7);
       a.Submit(RecordKind::kGraphDrop, wire::GraphDropBody{.graph = 7}, 0);
       LaunchGraph(a, 7);
     }},
    {"copies_from_the_victim_by_a_graph", End::kFault,
     [](Attacker& a) {
       Upload(a, 7, Copying(a.Allocate(4096), a.targets().victim));
       LaunchGraph(a, 7);
     }},
    {"copies_into_the_victim_by_a_graph", End::kFault,
     [](Attacker& a) {
       Upload(a, 7, Copying(a.targets().victim, a.Allocate(4096)));
       LaunchGraph(a, 7);
     }},
    {"uploads_graphs_of_kernels_it_has_not", End::kRefused,
     [](Attacker& a) {
       for (uint32_t kernel = 0; kernel < 1024; ++kernel) {
         if (Upload(a, 7, Launching(kernel)) == 0) return;
       }
       a.refused = true;
     }},
    {"uploads_two_nodes_as_one", End::kRefused,
     [](Attacker& a) {
       uint32_t kernel = 0;
       a.Load(kWaits, &kernel);
       wire::GraphWriter writer;
       for (int i = 0; i < 2; ++i) writer.Add(RecordKind::kLaunch, {}, BytesOf(LaunchOf(kernel)), {}, 7);
       a.refused = Upload(a, 7, writer.Take(), wire::kGraphIsNode) != 0;
     }},
    {"uploads_what_is_no_graph", End::kSession,
     [](Attacker& a) {
       const std::vector<uint8_t> bytes(4096, 0x5a);
       Upload(a, 7, bytes);
     }},
    {"uploads_a_graph_with_a_circle", End::kSession,
     [](Attacker& a) {
       wire::GraphWriter writer;
       const uint32_t itself[] = {0};
       writer.Add(RecordKind::kMarker, itself);
       Upload(a, 7, writer.Take());
     }},
    {"uploads_the_victims_memory_as_a_graph", End::kSession,
     [](Attacker& a) { UploadFrom(a, 7, a.targets().victim, 4096); }},
    {"uploads_a_graph_across_the_end_of_its_window", End::kSession,
     [](Attacker& a) { UploadFrom(a, 7, a.window() + a.connection().window_shape().bytes - 64, 4096); }},
    {"uploads_more_graphs_than_there_may_be", End::kRefused,
     [](Attacker& a) {
       const std::vector<uint8_t> description = Copying(a.window(), a.window());
       const uint64_t scratch = a.Allocate(4096, wire::MemoryKind::kScratch);
       std::memcpy(reinterpret_cast<void*>(scratch), description.data(), description.size());
       for (uint64_t graph = 0; graph <= wire::kMostGraphs && !a.refused; ++graph)
         a.refused = UploadFrom(a, graph, scratch, description.size()) != 0;
     }},
    {"guesses_the_names_of_graphs_and_nodes_in_a_kernel", End::kNothing,
     [](Attacker& a) {
       uint32_t kernel = 0;
       a.Load(kGuessesGraphs, &kernel);
       a.Submit(RecordKind::kLaunch, LaunchOf(kernel));
       a.Submit(RecordKind::kLaunch, LaunchOf(kernel, 5));
     }},
    {"goes_on_by_the_tail_of_a_graph_for_ever", End::kNothing,
     [](Attacker& a) {
       uint32_t kernel = 0;
       a.Load(kLaunchesItself, &kernel);
       MakeStream(a);
       Upload(a, 1, Launching(kernel));
       LaunchGraph(a, 1, 2);
     }},
    // Two graphs, of which each launches the other, as often as that goes.
    {"launches_graphs_by_each_other_for_ever", End::kNothing,
     [](Attacker& a) {
       uint32_t one = 0, two = 0;
       a.Load(kForgetsGraphTwo, &one);
       a.Load(kForgetsGraphOne, &two);
       MakeStream(a);
       Upload(a, 1, Launching(one));
       Upload(a, 2, Launching(two));
       for (int i = 0; i < 10; ++i) LaunchGraph(a, 1, 2);
     }},
    // What runs belongs to no record, its module is unloaded and its graph dropped.
    {"unloads_what_runs_in_environments_that_never_end", End::kNothing,
     [](Attacker& a) {
       uint32_t launcher = 0, waits = 0;
       a.Load(kForgetsGraphOne, &launcher);
       const uint32_t module = a.Load(kWaits, &waits);
       Upload(a, 1, Launching(waits));
       for (uint32_t environment = 1; environment < 100; ++environment)
         a.Submit(RecordKind::kLaunch, LaunchOf(launcher, environment));
       a.Settle();
       a.Submit(RecordKind::kGraphDrop, wire::GraphDropBody{.graph = 1}, 0);
       a.Submit(RecordKind::kModuleUnload, wire::ModuleUnloadBody{.module = module}, 0);
     }},
    {"ends_environments_that_have_not_begun", End::kNothing,
     [](Attacker& a) {
       uint32_t launcher = 0;
       a.Load(kForgetsGraphOne, &launcher);
       Upload(a, 1, Copying(a.Allocate(4096), a.Allocate(4096)));
       for (int i = 0; i < 100; ++i) {
         a.Submit(RecordKind::kEnvironmentEnd, wire::EnvironmentEndBody{.environment = 3});
         a.Submit(RecordKind::kLaunch, LaunchOf(launcher, 3));
         a.Submit(RecordKind::kEnvironmentEnd, wire::EnvironmentEndBody{.environment = 3});
         a.Submit(RecordKind::kEnvironmentEnd, wire::EnvironmentEndBody{.environment = 3});
       }
     }},
    {"launches_graphs_in_a_loop_without_end", End::kNothing,
     [](Attacker& a) {
       Upload(a, 1, Copying(a.Allocate(4096), a.Allocate(4096)));
       Loop(a, [](Attacker& in) {
         LaunchGraph(in, 1, 2);
         in.Submit(RecordKind::kEnvironmentEnd, wire::EnvironmentEndBody{.environment = 3}, 2);
       });
     }},
    {"ends_no_environment_in_a_loop_without_end", End::kNothing,
     [](Attacker& a) {
       Loop(a, [](Attacker& in) {
         in.Submit(RecordKind::kEnvironmentEnd, wire::EnvironmentEndBody{.environment = 3}, 2);
       });
     }},
    {"launches_a_graph_of_nothing_in_a_loop_without_end", End::kNothing,
     [](Attacker& a) {
       wire::GraphWriter writer;
       writer.Add(RecordKind::kMarker, {});
       Upload(a, 1, writer.Take());
       Loop(a, [](Attacker& in) { LaunchGraph(in, 1, 2); });
     }},
    {"launches_a_grid_at_the_tail_of_a_node", End::kNothing,
     [](Attacker& a) {
       uint32_t kernel = 0;
       a.Load(kLaunchesAtItsTail, &kernel);
       wire::GraphWriter writer;
       writer.Add(RecordKind::kLaunch, {}, BytesOf(LaunchOf(kernel)), {}, 7);
       Upload(a, 1, writer.Take(), wire::kGraphIsNode);
       for (int i = 0; i < 10; ++i) LaunchGraph(a, 1);
       a.Settle();
     }},
    // The second round begins what its first one had children of.
    {"has_children_in_a_loop_without_end", End::kNothing,
     [](Attacker& a) {
       static uint32_t kernel = 0;
       a.Load(kForgetsAChild, &kernel);
       Loop(a, [](Attacker& in) { in.Submit(RecordKind::kLaunch, LaunchOf(kernel), 2); });
     }},
    {"uploads_a_graph_of_more_nodes_than_there_may_be", End::kSession,
     [](Attacker& a) {
       wire::GraphWriter writer;
       for (uint32_t i = 0; i <= wire::kMostGraphNodes; ++i) writer.Add(RecordKind::kMarker, {});
       Upload(a, 1, writer.Take());
     }},
};

}  // namespace

std::span<const RawAttack> GraphAttacks() { return kAttacks; }

}  // namespace tutti::fault
