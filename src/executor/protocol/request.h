// Between a server and an executor, besides the rings: rare things, which are answered. SOCK_SEQPACKET pairs, one
// request at a time on each; base/bytes.h strings in the order of the fields.
//
// An executor begins on its control socket, with an answer to nothing: its device (Hello), or why it has none. It says
// nothing more there, and takes clients (kEnter): each has a place in it, with a socket, a ring and a ledger of its own
// (executor/place.h). A place ends with its socket. The server checks all answers as it would a stranger's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "wire/channel_layout.h"

namespace tutti::executor {

// An executor's descriptors.
inline constexpr int kLifelineFd = 0;
inline constexpr int kControlFd = 3;

// What kEnter comes with, in this order.
enum class PlaceFile : uint32_t {
  kSocket,  // for the place's requests
  kExchange,  // the memory file (executor/protocol/exchange.h)
  kBell,  // the server's eventfd
  kOver,  // the end of a pipe, in which the executor says, by a byte, that the place has given everything back
};
inline constexpr size_t kPlaceFiles = 4;

enum class RequestKind : uint32_t {
  kOpenWindow = 1,  // fd: the memory file of the host part
  kAttachHost = 2,  // makes a range of the host part memory of the device
  kMapSlab = 3,  // new memory of zeros at addresses of the device part; with kHandOut: fd of the answer: its memory
  kUnmapSlab = 4,  // or what kMapMemory has mapped
  kClear = 5,  // zeros a range
  kLoadModule = 6,  // fd: the image; fd of the answer: its description (module/module_info.h)
  kUnloadModule = 7,
  kOccupancy = 8,
  kReadWord = 9,  // 4 or 8 bytes, now
  kSetLimit = 10,  // of the context
  kExportSlab = 11,  // fd of the answer: a shareable slab's memory, which whoever has it open keeps
  kMapMemory = 12,  // fd: what an executor has exported; shows all of it at these addresses, too
  kSetAccess = 13,  // of what kMapMemory has mapped
  kEnter = 14,  // on the control socket, without an answer; fds: PlaceFile
  kFindAddresses = 15,  // where the driver has room for so many in a row; nothing is reserved
  // An array of the driver's, for the addresses from `address` on, and a texture or surface object of it or of memory.
  kCreateArray = 17,
  kDestroyArray = 18,
  kCreateTexture = 19,
  kDestroyTexture = 20,
  kPlaceManaged = 21,  // a module's managed variables lie from `address` on
  kCompile = 16,  // fd: PTX; fd of the answer: machine code, which kLoadModule may load here or elsewhere
};

// Whether an answer to it comes with a file. No other message of an executor does.
constexpr bool IsAnsweredWithFile(RequestKind kind) {
  return kind == RequestKind::kLoadModule || kind == RequestKind::kMapSlab || kind == RequestKind::kExportSlab ||
         kind == RequestKind::kCompile;
}

enum RequestFlags : uint32_t {
  kShareable = 1u << 0,  // kMapSlab: it may be exported
  kReadOnly = 1u << 1,  // kMapMemory, kSetAccess: kernels may not write it there
  kHandOut = 1u << 2,  // kMapSlab, with kShareable: the answer comes with it, if the driver exports it
  // kOpenWindow: kernels of the place check their addresses: its modules are fenced (executor/fence.h)
  kFenced = 1u << 3,
  kAsItIs = 1u << 4,  // kLoadModule, in such a place: its code is not fenced. Nobody else has a place there.
  kWithContents = 1u << 7,  // kPlaceManaged: they are there already, and have not their initial values
  kSurface = 1u << 6,  // kDestroyTexture: it is a surface object
  kMayNotWait = 1u << 9,  // kSetLimit: nor for what the place itself runs
  kIsLimited = 1u << 8,  // kLoadModule: of a client with a memory limit: what cannot be counted is not loaded
  kCompiles = 1u << 5,  // kEnter: the executor will be asked for nothing but kCompile
};

// What kernels may leave in the context by a module's code, and another context does not have (Answer::value).
enum ModuleState : uint64_t {
  kKeepsVariables = 1u << 0,  // variables that kernels may write
  kKeepsHeap = 1u << 1,  // it allocates memory in kernels
  kTakesFunctions = 1u << 2,  // addresses of functions may lie in memory
  kUnknownCode = 1u << 3,  // it is machine code without a text
};

// An answer to kUnloadModule: it has to wait for what others run, and is to be asked for again.
inline constexpr uint64_t kStillLoaded = 1;

// Fields that a kind does not name are 0.
struct Request {
  RequestKind kind{};
  uint64_t address = 0;  // of memory; kOpenWindow, kFindAddresses: a wish; kDestroyTexture: its number
  // Of it; kOpenWindow: of the device part, with reserved addresses; kSetLimit: the limit; kLoadModule: of the PTX
  // behind which its machine code lies in the file; 0: all of it is the image.
  uint64_t bytes = 0;
  uint64_t host_bytes = 0;  // kOpenWindow; kLoadModule: what its variables may take
  uint32_t module = 0;  // kLoadModule, kUnloadModule, kOccupancy, kPlaceManaged: the server's number
  uint32_t kernel = 0;  // kOccupancy
  uint32_t block_threads = 0;
  uint32_t dynamic_shared_bytes = 0;
  int32_t limit = 0;  // kSetLimit: a CUlimit
  uint32_t flags = 0;  // RequestFlags
  std::vector<uint8_t> details;  // kCreateArray: an ArrayShape; kCreateTexture: a TextureCreateBody (wire/arrays.h)
};
inline constexpr size_t kMostDetailBytes = 256;

struct Answer {
  int32_t status = 0;  // a CUresult
  std::string text;  // why not; or a module's log
  // kOpenWindow: the window's base; kFindAddresses: the first; kOccupancy: blocks; kReadWord: it; kLoadModule:
  // ModuleState; kCreateTexture: its number in kernels; kSetLimit: what is held of it for this client, which is more
  // than it asks for until it can be lowered; kUnloadModule: 0, or kStillLoaded
  uint64_t value = 0;
  // kLoadModule: what the module's managed variables take, of memory that the host reaches; 0: it has none that can lie
  // there. Until kPlaceManaged, which comes before the first launch, it is described as lying at address 0. A multiple
  // of what they are to be aligned to.
  uint64_t managed_bytes = 0;
  uint64_t other_bytes = 0;  // kLoadModule: what the module's variables take that are not described
};

std::vector<uint8_t> Serialize(const Request& request);
Result<Request> ParseRequest(std::span<const uint8_t> bytes);
std::vector<uint8_t> Serialize(const Answer& answer);
Result<Answer> ParseAnswer(std::span<const uint8_t> bytes);

// What both sides know of each other's layouts: to be raised with each change of this folder. An upgrade puts another
// executor where a server that runs finds the next one.
inline constexpr uint32_t kProtocolVersion = 7;

struct Hello {
  int32_t status = 0;  // a CUresult: there is no device
  std::string text;  // why; or what keeps it from being confined
  wire::DeviceInfo device{};
};
std::vector<uint8_t> Serialize(const Hello& hello);
// Fails, with a text for the user, also of another version.
Result<Hello> ParseHello(std::span<const uint8_t> bytes);

inline constexpr size_t kMostTextBytes = 32 << 10;
inline constexpr size_t kMostAnswerBytes = kMostTextBytes + 64;
inline constexpr uint64_t kMostModuleInfoBytes = 16u << 20;
inline constexpr uint64_t kMostCodeBytes = 256u << 20;  // of kCompile

}  // namespace tutti::executor
