// The ring: one per client process, many producing threads, one consumer at a time (the server thread that holds the
// session).
//
// A producer reserves n consecutive slots with one fetch_add on ChannelHeader::tail. The value it gets is the record's
// *ticket*: its sequence number in the total order of the client's requests. It fills the slots and publishes by
// storing ticket + 1 into the first slot's `published` (release; the consumer's acquire load pairs with it). A position
// p lives in slot p % kRingSlots, so a record may wrap around the end of the ring.
//
// Tickets double as stream sequence numbers. A stream's completion word (channel_layout.h) holds the ticket + 1 of the
// last record of that stream that is done; "work up to ticket t of stream s is done" is `completed[s] > t`. There is no
// second counter, so two threads that submit to one stream cannot disagree about the order.
//
// Every slot of a record begins with 8 bytes of its own: in the first slot `published`, in the following ones a stale
// value of an earlier lap, which nobody reads. Payload therefore never lies where a later lap expects `published`, and
// a stale value is always smaller than the one that lap waits for.
//
// A hostile client can write all of this at any time. The consumer copies a record out first, then validates the copy
// (wire/validate.h), and keeps its own cursor.
#pragma once

#include <atomic>
#include <cstdint>

#include "wire/limits.h"

namespace tutti::wire {

enum class RecordKind : uint8_t {
  kNone = 0,
  // Stream-ordered. `stream` names the stream; the record completes when the stream has reached and finished it.
  kLaunch = 1,
  kCopy = 2,
  kFill = 3,
  kEventRecord = 4,  // writes the time into an event slot
  kWait = 5,  // holds the stream until another stream has passed a ticket
  kHostCall = 6,  // runs a function in the client (host_call queue); the stream resumes at kHostCallDone of its token
  kMarker = 7,  // no operation; something to wait for
  kStreamFree = 8,  // frees memory
  kConditionSet = 9,  // gives a condition a value
  // A conditional node of a graph: one kConditional, then each of its bodies behind a kBody, then a kConditionalEnd.
  // Which bodies run, and how often, is decided when the stream gets there. All of it completes at once, at its end.
  // Between its records a stream takes launches, copies, fills, markers and further conditional nodes, nothing else.
  // Only in non-blocking streams.
  kConditional = 10,
  kBody = 11,
  kConditionalEnd = 12,
  kGraphLaunch = 13,  // a graph that the client has uploaded
  // Behind the launches of a graph whose kernels launch graphs: completes when all that they have launched is over.
  kEnvironmentEnd = 14,
  // Executed when consumed, in ring order; no reply.
  kStreamCreate = 16,
  kStreamDestroy = 17,  // after the work submitted to it
  kModuleUnload = 18,
  kFree = 19,
  kHostCallDone = 20,
  kContextLimit = 21,
  kHeapLimit = 22,
  kConditionDestroy = 23,  // after the work submitted before
  kImportDrop = 24,  // after this no kMap can name it; what it is mapped to stays
  kKernelLimit = 25,  // a limit of a context that kernels meet, or may ask for
  kGraphDrop = 26,  // after this nothing can launch the graph; runs of it go on
  kTextureDestroy = 27,  // after the work submitted before (wire/arrays.h, as those below)
  // Answered in a reply slot.
  kFirstAnswered = 32,
  kAllocate = kFirstAnswered,
  kPrepare = 33,  // makes a kernel ready for a block shape; replies with the id to launch
  kReset = 34,  // waits for all work of a device and clears its error (primary context reset)
  kConditionCreate = 35,  // a value that kernels set, and that kConditional reads
  kWord = 36,  // what is in a word now, whatever streams do, and adds to it; for clients that do not reach it
  kMap = 37,  // shows memory at reserved addresses, or hides it
  kExport = 38,  // what names an allocation to other clients of the server
  kImport = 39,  // memory that another client has exported
  kMemoryUse = 40,  // of a device, by all of the machine's clients, now
  kArrayCreate = 43,  // an array of the device's
  kTextureCreate = 44,  // a texture or surface object of the device's
  kHostMemory = 48,  // memory of the host that clients and devices show at reserved addresses
  kOccupancy = 41,  // how many blocks of a kernel fit on an SM
  kGraphUpload = 42,  // a graph that kernels, and kGraphLaunch, can launch (wire/graph_description.h)
};

struct RecordHead {
  std::atomic<uint64_t> published;
  RecordKind kind;
  uint8_t slots;  // of the whole record, 1 .. kMaxRecordSlots
  uint16_t reply;  // index of the reply slot, for kinds that are answered
  uint32_t stream;
};
static_assert(sizeof(RecordHead) == 16);

inline constexpr uint32_t kHeadBytes = sizeof(RecordHead);
inline constexpr uint32_t kBodyBytes = kSlotBytes - kHeadBytes;  // 112, in the first slot
inline constexpr uint32_t kContinuationBytes = kSlotBytes - 8;  // 120, in each following slot

// kMaxArgumentBytes would need 274 slots. Large argument buffers therefore do not travel in the ring:
// more than kInlineArgumentBytes are placed by the client in window memory and named by address.
inline constexpr uint32_t kMaxRecordSlots = 36;
inline constexpr uint32_t kLaunchFixedBytes = 48;
inline constexpr uint32_t kInlineArgumentBytes =
    kBodyBytes - kLaunchFixedBytes + (kMaxRecordSlots - 1) * kContinuationBytes;

enum LaunchFlags : uint32_t {
  kLaunchCooperative = 1u << 0,
  kLaunchArgumentsInWindow = 1u << 1,  // the first 8 argument bytes are the window address of argument_bytes bytes
};

// The kernel's parameter buffer follows the body, laid out as its PTX declares.
struct LaunchBody {
  uint32_t kernel;  // id from kPrepare
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t dynamic_shared_bytes;
  uint32_t flags;
  uint32_t argument_bytes;
  uint32_t cluster_packed;  // x | y << 8 | z << 16; 0: no cluster
  // Which launch of a graph it is part of, by a number of the client's until kEnvironmentEnd; 0: its kernel cannot
  // launch graphs.
  uint32_t environment;
};
static_assert(sizeof(LaunchBody) == kLaunchFixedBytes);

// Copies row_bytes x rows x planes. Both sides lie in the client's window (host memory outside it is staged by the
// client).
struct CopyBody {
  uint64_t destination;
  uint64_t source;
  uint64_t row_bytes;
  uint64_t rows;
  uint64_t planes;
  uint64_t destination_pitch;  // bytes from row to row
  uint64_t source_pitch;
  uint64_t destination_plane;  // bytes from plane to plane
  uint64_t source_plane;
};

struct FillBody {
  uint64_t destination;
  uint64_t width;  // in elements
  uint64_t height;
  uint64_t pitch;  // bytes from row to row
  uint64_t value;  // low element_bytes are used
  uint32_t element_bytes;  // 1, 2, 4 or 8
  uint32_t reserved;
};

struct EventRecordBody {
  uint32_t event;  // timing slot; 0: no time is wanted (CU_EVENT_DISABLE_TIMING)
};

struct WaitBody {
  uint32_t stream;  // the other stream
  uint32_t reserved;
  uint64_t ticket;
};

struct HostCallBody {
  uint64_t token;  // handed back in the host call queue; opaque to the server
};

struct ConditionSetBody {
  uint64_t condition;
  uint32_t value;
  uint32_t reserved;
};

enum class ConditionalKind : uint32_t {
  kIf = 0,  // runs body 0 if the value is not 0, else body 1
  kWhile = 1,  // runs body 0 as long as the value is not 0
  kSwitch = 2,  // runs the body of that number
};

struct ConditionalBody {
  uint64_t condition;
  ConditionalKind kind;
  uint32_t reserved;
};

struct BodyBody {
  uint32_t number;
  uint32_t reserved;
};

struct ConditionalEndBody {
  uint32_t no_more;  // 1: a kWhile does not run again: the client could not submit all of its body
  uint32_t reserved;
};
inline constexpr uint32_t kMostConditionalDepth = 64;  // conditional nodes within each other

struct GraphLaunchBody {
  uint64_t graph;
  uint32_t environment;  // of one that is a node (kGraphIsNode), as in LaunchBody
  uint32_t reserved;
};

struct EnvironmentEndBody {
  uint32_t environment;  // as in LaunchBody
  uint32_t reserved;
};

struct StreamCreateBody {
  uint32_t device;
  int32_t priority;  // CUDA's: lower is more urgent, 0 .. -5
  uint32_t context;  // client-minted; blocking and legacy streams of one context and device synchronise
  uint32_t flags;  // StreamFlags
};
enum StreamFlags : uint32_t {
  kStreamLegacy = 1u << 0,  // the context's NULL stream
  kStreamNonBlocking = 1u << 1,  // does not synchronise with the legacy stream
};

// Limits what all streams of one context on one device use together: a part of the device's SMs and time. Applies in
// addition to the client's own percentage. May be sent before or after the streams are created, and repeatedly.
struct ContextLimitBody {
  uint32_t device;
  uint32_t context;  // as in StreamCreateBody
  uint32_t part_ppm;  // millionths of the device; 0 or kWholeDevice: no limit of its own
  uint32_t reserved;
};
inline constexpr uint32_t kWholeDevice = 1'000'000;

// Sets the size of the heap behind malloc in kernels. Takes effect only if no kernel has allocated from it yet.
struct HeapLimitBody {
  uint64_t bytes;
  uint32_t device;
  uint32_t reserved;
};

inline constexpr int32_t kKernelLimits = 10;  // CU_LIMIT_COUNT

// cuCtxSetLimit: what launches by kernels may be pending, and what cudaDeviceGetLimit in a kernel gives.
struct KernelLimitBody {
  uint64_t value;
  uint32_t device;
  int32_t limit;  // CUlimit
};

struct ModuleUnloadBody {
  uint32_t module;
};

struct FreeBody {
  // As kAllocate returned it. kFree frees it when all work submitted before this record is done, kStreamFree when the
  // stream gets there, whatever other streams wait for.
  uint64_t address;
};

enum class MemoryKind : uint32_t {
  kDevice = 0,
  kHost = 1,  // pinned host memory: in the window, not counted against the device
  kManaged = 2,  // counted against the device
  kScratch = 3,  // the client library's own staging; not counted
  kAddresses = 4,  // no memory: addresses where kMap shows some
};

struct AllocateBody {
  uint64_t bytes;
  uint64_t alignment;  // power of two, at least 256 is given
  MemoryKind kind;
  uint32_t device;
  uint64_t wish;  // of kAddresses: begins here if these are free; 0: anywhere
};
// Reply: value[0] = address.

struct PrepareBody {
  uint32_t module;
  uint32_t function;  // index in the module's kernel list
  uint32_t block[3];  // 0,0,0: any shape
  uint32_t reserved;
};
// Reply: value[0] = kernel id, value[1] = local bytes per thread, value[2] = max threads per block. If it fails, the
// message kQueryModule gets the reason.

// How many blocks of a kernel fit on an SM at once. Reply: value[0].
struct OccupancyBody {
  uint32_t module;
  uint32_t function;
  uint32_t block_threads;
  uint32_t dynamic_shared_bytes;
};

struct ResetBody {
  uint32_t device;
  uint32_t reserved;
};

// Of kernels on one device. Its value is 0 until it is set.
struct ConditionCreateBody {
  uint32_t device;
  uint32_t reserved;
};
// Reply: value[0] = what names it, here and for cudaGraphSetConditional; never used again.

struct MemoryUseBody {
  uint32_t device;
  uint32_t reserved;
};
// Reply: value[0] = bytes, at most the device's.

// 4 or 8 bytes at a multiple of that. Reply: value[0] = the word, before `add` is added to it.
struct WordBody {
  uint64_t address;
  uint64_t add;  // 0: the word is only read
  uint32_t bytes;
  uint32_t reserved;
};

// Addresses lie in one reserved range, on whole pages. Its own allocation is named by its address.
enum class MapSource : uint32_t { kOwn = 0, kImported = 1 };
enum class MapAccess : uint32_t { kNone = 0, kRead = 1, kReadWrite = 3 };  // as CUmemAccess_flags
struct MapBody {
  uint64_t address;
  uint64_t bytes;  // all of the memory's; of kNone: of any mappings, whole
  uint64_t memory;  // the address of an own allocation, or the number from kImport or kHostMemory
  MapSource source;
  MapAccess access;  // kNone hides what is mapped there
};

// What a client says to another, by whatever way, so that it may import memory. Whoever knows it may, as far as the
// exporter's and the importer's namespace allow.
struct ExportedMemory {
  uint64_t id = 0;  // never 0
  uint64_t secret[2] = {0, 0};
  bool operator==(const ExportedMemory&) const = default;
};

struct ExportBody {
  uint64_t address;  // where an allocation of device or scratch memory begins; or the number from kHostMemory
  // What it holds once the exporter has ended: 0: what it held; 1: in each word of 8 bytes the largest signed number,
  // so that whoever waits for a counter there sees the end
  uint32_t end_with_largest;
  MapSource source;  // kImported: a number from kHostMemory
};
// Reply: value = ExportedMemory, then its bytes. The same for an allocation each time.

struct ImportBody {
  ExportedMemory memory;
};
// Reply: value[0] = its number, value[1] = bytes, value[2] = device, value[3] = kImportOwn and others.
inline constexpr uint64_t kImportOwn = 1;  // the client itself has exported it
inline constexpr uint64_t kImportHost = 2;  // it is from kHostMemory: the client may map its file, too

// Zeroed memory of the host: a memory file of its own, which a client gets by kHostMemoryFile (messages.h) and maps
// itself where the device shows the memory to kernels (kMap). Until kImportDrop, and while it is mapped, exported or
// imported, it counts as host memory of the client that asked for it.
struct HostMemoryBody {
  uint64_t bytes;  // whole pages
};
// Reply: value[0] = its number, as of an import.

struct ImportDropBody {
  uint64_t number;
};
inline constexpr uint64_t kReservedAlignment = 2u << 20;  // of addresses for imported memory
inline constexpr uint32_t kMostImports = 65536;  // of one client, not dropped
inline constexpr uint32_t kMostMappings = 16384;  // of one client, at reserved addresses

struct ConditionDestroyBody {
  uint64_t condition;
};

// The graph's number is the client's choice, and what its kernels name it by. Another upload of the same number takes
// the place of the former, whose runs go on.
struct GraphUploadBody {
  uint64_t graph;
  uint64_t address;  // of the description, in the part of the window that the server reaches
  uint64_t bytes;
  uint32_t device;
  uint32_t flags;
};
// It is one kernel, a node that kernels change, of a graph that the client submits itself; kernels cannot launch it.
inline constexpr uint32_t kGraphIsNode = 1;
struct GraphDropBody {
  uint64_t graph;
};
inline constexpr uint64_t kMostGraphBytes = 4u << 20;  // of a description
// A graph that kernels launch is begun under the lock of its client's work.
inline constexpr uint32_t kMostGraphNodes = 8192, kMostGraphEdges = 65536;
inline constexpr uint32_t kMostGraphs = 16384;  // of one client, uploaded and not dropped
inline constexpr uint32_t kMostConditions = 16384;  // of one client

struct alignas(kSlotBytes) Slot {
  RecordHead head;
  uint8_t body[kBodyBytes];
};
static_assert(sizeof(Slot) == kSlotBytes);

}  // namespace tutti::wire
