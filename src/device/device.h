// The device interface: what a server needs of a device, at a level that suits both an embedded CPU device and a real
// GPU. Contexts, libraries, graphs, pools, occupancy and capture are built on top of it in the client.
//
//   Backend   all devices of one kind in this server, and the threads that drive them
//   Space     one client's part of a backend: its device window, streams, modules, limits. The fault domain: a failure
//             in a Space affects no other.
//
// Streams are named by the client's own numbers (wire: slots below kMaxStreams), records by their tickets, so nothing
// is translated on the way. All operations on one Space come from one thread at a time (the one that holds the
// session); different Spaces are used from different threads at once. Sink methods are called from the backend's
// threads, many at once, and must neither block nor call back into the Space.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cuda/result.h"
#include "device/fault.h"
#include "device/memory_account.h"
#include "device/policy.h"
#include "device/time_peers.h"
#include "metrics/client_counters.h"
#include "module/module_info.h"
#include "os/fd.h"
#include "wire/arrays.h"
#include "wire/channel_layout.h"
#include "wire/graph_description.h"
#include "wire/ring_layout.h"
#include "wire/sm_range.h"
#include "wire/window_shape.h"

namespace tutti::device {

// What a Space reports to.
class Sink {
 public:
  virtual ~Sink() = default;
  // All work of `stream` up to and including `ticket` is done. True if somebody sleeps on it: the device then calls
  // Wake(stream) when it holds no lock, since the woken thread may take the core of the one that wakes it.
  virtual bool Completed(uint32_t stream, uint64_t ticket) = 0;
  virtual void Wake(uint32_t stream) = 0;
  virtual void EventReached(uint32_t event, uint64_t now_ns) = 0;
  // The stream has reached a host call and waits for Space::HostCallDone. `status`: the device's error, 0 if none.
  virtual void HostCallReached(uint32_t stream, uint64_t token, int32_t status) = 0;
  // printf output of a kernel.
  virtual void Printed(std::string_view text) = 0;
  // A device-side assert has failed: one line with its newline, for the client's stderr. Followed by Faulted.
  virtual void AssertFailed(std::string_view line) = 0;
  // The Space's work on `device` has failed for good. Called once per device until Reset; queued work is dropped, its
  // streams complete.
  virtual void Faulted(uint32_t device, const Fault& fault) = 0;
  // Reset has cleared that. In order with Faulted.
  virtual void Recovered(uint32_t /*device*/) {}
  // The memory this Space holds on `device` (what counts against its limit) is now `bytes`. Called before Allocate
  // returns, and whenever a free has taken effect.
  virtual void MemoryUsed(uint32_t device, uint64_t bytes) = 0;
  // Of that, `bytes` have been freed and are held until work before the free is done.
  virtual void MemoryFreed(uint32_t /*device*/, uint64_t /*bytes*/) {}
  // Has `close` run, which closes what the client may have come to send and may wait as long as the client likes: by
  // threads that hold up nobody else (os/close_aside.h). `close` may outlive the Space. As it is: now.
  virtual void LetGo(std::function<void()> close) { close(); }
};

// Space::Launch: see there.
inline constexpr int kNotLoaded = -1;

// A kernel compiled and loaded for one block shape.
struct PreparedKernel {
  uint32_t id = 0;  // names it in Grid
  uint32_t local_bytes = 0;
  uint32_t max_threads = 0;
};

struct Grid {
  uint32_t kernel = 0;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  bool explicit_cluster = false;  // asked for, be it of one block
  uint32_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  uint32_t environment = 0;  // wire::LaunchBody
  std::span<const uint8_t> arguments;  // copied during Launch
};

// CUDA's stream priorities 0 (least) to -5 (most urgent), as queue indexes 5 to 0. Others count as the nearest.
inline constexpr uint32_t kUrgencies = 6;
inline uint32_t UrgencyOf(int32_t priority) {
  constexpr int32_t kLeast = kUrgencies - 1;
  return static_cast<uint32_t>(kLeast + std::clamp(priority, -kLeast, 0));
}

struct StreamOptions {
  uint32_t device = 0;
  uint32_t context = 0;
  int32_t priority = 0;
  bool legacy = false;
  bool non_blocking = false;
};

// SMs that a client with this percentage may use at once, as reported to it: rounded down, at least one. Below one SM's
// worth it has one SM for a part of the time.
inline uint32_t EffectiveSms(uint32_t sms, double active_thread_percentage) {
  const auto rounded_down = static_cast<uint32_t>(sms * active_thread_percentage / 100 + 1e-6);
  return rounded_down < 1 ? 1 : rounded_down > sms ? sms : rounded_down;
}

struct Limits {
  double active_thread_percentage = 100;  // 0 < p <= 100
  std::vector<uint64_t> memory_bytes;  // per device; empty or ~0: none
  MemoryGroups memory_groups;  // whose limits hold as well; fixed when the Space is made
  int32_t priority = 0;  // 0 normal, 1 below normal
  std::vector<wire::SmRange> sm_ranges;  // of its partition; a device that is not named: all of its SMs
  // Where Spaces are to share a fault domain, with nothing that keeps their kernels from each other's memory: those
  // that may, by a name. "": it shares none. Fixed when the Space is made.
  std::string sharers;
  // Whose Space it is, where those of one must leave places to others; "": it need not. Fixed when the Space is made.
  std::string party;
  uint64_t kernel_ns = 0;  // time limit of a kernel on the device; 0: none
  bool small_window = false;  // where there are some (Backend::large_spaces); fixed when the Space is made
};

// SMs of `device` that a client with these limits is reported: what its partition has, or what its percentage gives
// (EffectiveSms). 0: a partition without SMs there.
inline uint32_t GrantedSms(const Limits& limits, uint32_t device, uint32_t sms) {
  uint32_t partition = 0;
  bool bound = false;
  for (const wire::SmRange& range : limits.sm_ranges) {
    if (range.device != device) continue;
    bound = true;
    if (range.first_sm < sms) partition += std::min(range.count, sms - range.first_sm);
  }
  return bound ? partition : EffectiveSms(sms, limits.active_thread_percentage);
}

// Memory of one Space that others may show at addresses of their own. It exists, and counts as its Space's, for as long
// as anybody holds it or has it mapped, also when it has been freed or its Space has ended. Thread-safe.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  virtual uint64_t bytes() const = 0;
  virtual uint32_t device() const = 0;
  // Its Space has freed it, or has ended.
  virtual bool withdrawn() const = 0;
  // Of Space::CreateHostMemory's: its memory file, borrowed, of which the size is sealed. Else -1.
  virtual int host_file() const { return -1; }
};

class Space {
 public:
  virtual ~Space() = default;  // drops all work, waits for running blocks, frees everything

  // Its window: the addresses, which are the client's, and the memory file of the parts that the client maps there,
  // borrowed.
  virtual const wire::WindowShape& window() const = 0;
  virtual uint64_t window_base() const = 0;
  virtual int window_fd() const = 0;
  // Where this process has these bytes of the part that clients reach; null if they do not lie in it.
  virtual uint8_t* Reached(uint64_t address, uint64_t bytes) = 0;

  // Whether Allocate, Reserve, Word, Share, CreateHostMemory, Map, Unmap, CreateArray, CreateTexture, CreateCondition
  // and SetKernelLimit may wait for another process. No other call does but those of modules and Reset.
  virtual bool memory_waits() const { return false; }

  // Memory. Addresses lie in the window, the memory is zeroed. OUT_OF_MEMORY over the limit or the device's size; since
  // frees wait for earlier work, a client may try again after synchronising.
  virtual Result<uint64_t> Allocate(uint32_t device, wire::MemoryKind kind, uint64_t bytes, uint64_t alignment) = 0;
  // Frees when all work submitted so far is done. INVALID_VALUE if no allocation begins at `address`.
  virtual Status Free(uint64_t address) = 0;

  // The 4 or 8 bytes at an aligned address, now, before `add` is added to them, in one step. INVALID_VALUE where there
  // is no memory, or, if something is added, none that kernels may write.
  virtual Result<uint64_t> Word(uint64_t address, uint32_t bytes, uint64_t add) = 0;

  // Addresses without memory of their own, in the device part, at `wish` if that is not 0 and they are free there.
  // Freed as an allocation; what is mapped there is hidden then. Kernels cannot write where nothing is mapped.
  virtual Result<uint64_t> Reserve(uint32_t device, uint64_t bytes, uint64_t alignment, uint64_t wish) = 0;
  // The allocation that begins at `address`, of device or scratch memory, for this Space or another one of the backend
  // to map; the same each time while anybody holds it. What it holds when this Space has ended: the same, or in each
  // word of 8 bytes the largest signed number, which may be so, too, once it is freed. INVALID_VALUE if there is none;
  // NOT_SUPPORTED if it shares a page with others.
  enum class AtEnd : uint8_t { kKept, kLargest };
  virtual Result<std::shared_ptr<SharedMemory>> Share(uint64_t address, AtEnd end) = 0;
  // Zeroed memory of the host in a file of its own, of whole pages, for Spaces to map like what is shared and for
  // clients to map the file. It counts as this Space's host memory as long as anybody holds it. OUT_OF_MEMORY beyond
  // that limit, or a number of such files.
  virtual Result<std::shared_ptr<SharedMemory>> CreateHostMemory(uint64_t bytes) = 0;
  // All of a memory file of its client's, of sealed size, for this Space to map; of device 0, and counted nowhere.
  virtual Result<std::shared_ptr<SharedMemory>> Adopt(os::Fd) {
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "this device maps no memory files of its clients");
  }
  // Shows all of `memory` at addresses of a reserved range, on whole pages, where nothing is mapped or it is the same
  // memory (whose access is then changed). INVALID_VALUE elsewhere, OUT_OF_MEMORY beyond wire::kMostMappings.
  virtual Status Map(uint64_t address, std::shared_ptr<SharedMemory> memory, bool writable) = 0;
  // Hides whole mappings. INVALID_VALUE if the range cuts one.
  virtual Status Unmap(uint64_t address, uint64_t bytes) = 0;

  // Arrays and textures that the device makes (wire/arrays.h), on those that do. An array's addresses are freed as an
  // allocation. INVALID_VALUE for shapes that there are not, OUT_OF_MEMORY beyond the client's limit and
  // wire::kMostArrays and kMostTextures.
  virtual Result<uint64_t> CreateArray(const wire::ArrayCreateBody&) {
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "this device makes no arrays");
  }
  virtual Result<uint64_t> CreateTexture(const wire::TextureCreateBody&) {
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "this device makes no textures");
  }
  // When all work submitted so far is done. INVALID_VALUE if there is none.
  virtual Status DestroyTexture(const wire::TextureDestroyBody&) {
    return Fail(cuda::CUDA_ERROR_INVALID_VALUE, "this device makes no textures");
  }

  // Streams. Creating an existing number, or using one that does not exist, is a protocol error (Result fails).
  virtual Status CreateStream(uint32_t stream, const StreamOptions& options) = 0;
  virtual Status DestroyStream(uint32_t stream) = 0;  // after the work in it

  // Stream-ordered work; each record completes through Sink::Completed(stream, ticket). Arguments have been validated
  // against the wire limits; whether addresses lie in the window and kernels exist is checked here, and is a Fault of
  // the Space. Exceeding wire::kMostBacklog is a protocol error. Launch fails with kNotLoaded, and has no effect, if
  // the kernel's code has been evicted: load it first.
  virtual Status Launch(uint32_t stream, uint64_t ticket, const Grid& grid) = 0;
  virtual Status Copy(uint32_t stream, uint64_t ticket, const wire::CopyBody& copy) = 0;
  virtual Status Fill(uint32_t stream, uint64_t ticket, const wire::FillBody& fill) = 0;
  virtual Status RecordEvent(uint32_t stream, uint64_t ticket, uint32_t event) = 0;
  virtual Status Wait(uint32_t stream, uint64_t ticket, uint32_t other_stream, uint64_t other_ticket) = 0;
  virtual Status HostCall(uint32_t stream, uint64_t ticket, uint64_t token) = 0;
  virtual Status Mark(uint32_t stream, uint64_t ticket) = 0;
  // Frees when the stream gets there, whatever other streams wait for: the client vouches for their order. A mark if no
  // allocation begins at `address`.
  virtual Status FreeInStream(uint32_t stream, uint64_t ticket, uint64_t address) = 0;
  // The host call with that token, at which `stream` waits, has returned. Ignored if it waits at another one by now.
  virtual Status HostCallDone(uint32_t stream, uint64_t token) = 0;

  // Conditional nodes of graphs (wire/ring_layout.h). A condition is a value that kernels on its device set
  // (cudaGraphSetConditional) and streams of it decide by. OUT_OF_MEMORY beyond wire::kMostConditions.
  virtual Result<uint64_t> CreateCondition(uint32_t device) = 0;
  // When all work submitted so far is done. INVALID_VALUE if there is no such condition.
  virtual Status DestroyCondition(uint64_t condition) = 0;
  // Stream-ordered. One that does not exist is a Fault of the Space; records where none of their kind may be, a
  // protocol error.
  virtual Status SetCondition(uint32_t stream, uint64_t ticket, uint64_t condition, uint32_t value) = 0;
  virtual Status BeginConditional(uint32_t stream, uint64_t ticket, uint64_t condition, wire::ConditionalKind kind) = 0;
  virtual Status BeginBody(uint32_t stream, uint64_t ticket, uint32_t number) = 0;
  virtual Status EndConditional(uint32_t stream, uint64_t ticket, bool no_more) = 0;

  // Graphs that kernels launch (wire/ring_layout.h). Uploading one is as thread-safe as preparing the kernels that it
  // names. NOT_SUPPORTED where kernels launch none, INVALID_HANDLE for kernels that are none of `device`,
  // OUT_OF_MEMORY beyond wire::kMostGraphs.
  // `is_node`: wire::kGraphIsNode.
  virtual Status UploadGraph(uint32_t /*device*/, uint64_t /*graph*/, std::vector<wire::GraphNode> /*nodes*/,
                             bool /*is_node*/) {
    return Fail(cuda::CUDA_ERROR_NOT_SUPPORTED, "kernels of this device launch no graphs");
  }
  virtual void DropGraph(uint64_t /*graph*/) {}
  // Stream-ordered. A graph that is not there is a Fault of the Space.
  virtual Status LaunchGraph(uint32_t /*stream*/, uint64_t /*ticket*/, uint64_t /*graph*/, uint32_t /*environment*/) {
    return Fail("kernels of this device launch no graphs");
  }
  virtual Status EndEnvironment(uint32_t stream, uint64_t ticket, uint32_t /*environment*/) {
    return Mark(stream, ticket);
  }

  // Modules. May take seconds (compilation): called from a thread of their own, concurrently with the above;
  // thread-safe. `image` is PTX text or a fatbin. On failure the error's text is the JIT log.
  struct LoadedModule {
    uint32_t id = 0;
    module::ModuleInfo info;
    std::string log;  // the JIT's: warnings, directives skipped
  };
  virtual Result<LoadedModule> LoadModule(uint32_t device, std::span<const uint8_t> image) = 0;
  virtual Result<PreparedKernel> Prepare(uint32_t module, uint32_t kernel, const uint32_t block[3]) = 0;
  // Blocks of a kernel that fit on an SM at once, on devices whose clients ask for it (wire::kDeviceAsksOccupancy).
  virtual Result<uint32_t> BlocksPerSm(uint32_t module, uint32_t kernel, uint32_t block_threads,
                                       uint32_t dynamic_shared_bytes) = 0;
  virtual Status UnloadModule(uint32_t module) = 0;
  // Reloads the code of a prepared kernel. If that fails so does the next launch, with the reason.
  virtual void LoadAgain(uint32_t /*kernel*/) {}

  // Waits for the Space's blocks on `device`, drops its queued work and clears its error, which stays where that is
  // impossible.
  virtual void Reset(uint32_t device) = 0;
  // The part of the device that the streams of one context may use together: SMs x time, 0 < part <= 1. Holds besides
  // the client's own limits, from the next scheduling decision on.
  virtual Status LimitContext(uint32_t device, uint32_t context, double part) = 0;
  // Limit of the heap for kernels' malloc. No effect once a kernel has allocated.
  virtual Status LimitHeap(uint32_t device, uint64_t bytes) = 0;
  // A CUlimit as kernels meet it or ask for it: of launches that are pending, above all.
  virtual Status SetKernelLimit(uint32_t /*device*/, int32_t /*limit*/, uint64_t /*value*/) { return {}; }

  // These are thread-safe. Changes take effect from the next scheduling decision on.
  virtual void SetLimits(const Limits& limits) = 0;
  // Kernels on `device` of which blocks have begun and not all have ended, at most the first kMostRunning. For status
  // queries, not for a fast path.
  struct RunningKernel {
    std::string name;
    uint32_t grid[3] = {};
    uint32_t block[3] = {};
    uint64_t blocks = 0;  // of the grid
    uint64_t begun = 0;
    uint64_t done = 0;
    uint64_t running_ns = 0;  // since its first block began
  };
  static constexpr size_t kMostRunning = 16;
  virtual std::vector<RunningKernel> Running(uint32_t) { return {}; }
  // The client is gone: drops all work, ends what runs, makes LoadModule and Prepare fail soon. Nothing is reported any
  // more. Does not wait.
  virtual void Abandon() = 0;
  // What this Space has used of `device`, kept up to date by the Space.
  virtual metrics::ClientCounters& counters(uint32_t device) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::span<const wire::DeviceInfo> devices() const = 0;
  // Of the memory in use on a device. Thread-safe.
  virtual MemoryAccount& memory(uint32_t device) = 0;

  // With a window of zeros. A client that could not map the addresses of one Space is offered others by the next.
  // Fails with MPS_MAX_CLIENTS_REACHED if most_spaces() exist.
  virtual Result<std::unique_ptr<Space>> CreateSpace(const Limits& limits, Sink* sink, std::string_view label) = 0;
  virtual size_t most_spaces() const = 0;
  // Descriptors that it comes to have open of the `limit` of this process: of its own, and for each Space. Those of
  // the CPU device are counted in control/open_files.h.
  struct Files {
    uint64_t own = 0;
    uint64_t per_space = 0;
  };
  virtual Files files(uint64_t /*limit*/) const { return {}; }
  // So many of them can have all of a device's memory, however fragmented; the others' windows are smaller.
  virtual size_t large_spaces() const { return most_spaces(); }

  // Polling the clients' rings, which the backend's idle threads do. A thread that has run out of blocks *looks*: it
  // calls `poll` in the loop in which it spins for work, and stops looking with exactly one of `leave` (it has found
  // blocks to run) or `arm` (it is about to sleep). The last thread that looks away arms the doorbells; while none
  // looks or sleeps on the doorbells, a thread of the server's own does. All of it is thread-safe. Set before the first
  // Space.
  struct IdleWork {
    std::function<bool()> poll;  // take what is in the rings; true if it found records
    std::function<void()> leave;  // going to run blocks: no longer looking
    // going to sleep: no longer looking; but if it returns true it found records, and still is
    std::function<bool()> arm;
    int doorbell_epoll_fd = -1;  // sleepers wait on this, too (poll(2) or nested epoll; never read from it)
    std::function<void()> woke;  // the sleep after an `arm` is over, for whatever reason. Not looking yet.
    std::function<void()> rang;  // after `woke`, if the epoll fd was readable: handle its events. Looking.
  };
  virtual void SetIdleWork(IdleWork work) = 0;

  // Other servers use the device as well, from now on; null: none. Outlives the backend, or leaves it before.
  // Thread-safe.
  virtual void ShareTime(uint32_t /*device*/, TimePeers*) {}

  // That its devices can be shared by, the one that holds at first to begin with.
  virtual std::span<const Policy> policies() const = 0;
  // NOT_SUPPORTED if it is none of them.
  virtual Status SetPolicy(Policy policy) = 0;
  virtual Policy policy() const = 0;

  // Records what ran where, for timelines. Off by default.
  struct TraceEvent {
    std::string label;  // of the Space
    std::string kernel;
    uint32_t device, sm;
    uint64_t begin_ns, end_ns;
    uint32_t blocks;
  };
  virtual void SetTracing(bool on) = 0;
  virtual std::vector<TraceEvent> TakeTrace() = 0;
};

}  // namespace tutti::device
