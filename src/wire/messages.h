// Messages on the sockets, each one SOCK_SEQPACKET packet: a MessageHead, then the body as written by base/bytes.h in
// the order of the fields below (strings and blobs are length-prefixed). A body too long for a packet travels as a
// size-sealed memory file instead (kBodyInFile); ipc/message.h sends and receives both forms.
//
//   client ── Hello ──> daemon            on <pipe directory>/control
//   daemon ── Attach + client's socket ──> server     the daemon hands the connection over and is done with it
//   client <── Welcome + fds ── server    on that same connection, from now on the session socket
//   client ── LoadModule + image fd ──> server, and so on
//
// Closing the session socket ends the session; that alone is how the server notices a killed client.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "wire/limits.h"
#include "wire/ring_layout.h"

namespace tutti::wire {

enum class MessageKind : uint16_t {
  // to the daemon
  kHello = 1,    // a CUDA client wants a server
  kCommand = 2,  // the control shell: one command line of text; answered by kCommandReply, then the next command
  // daemon -> shell
  kCommandReply = 3,
  // client <- server (or daemon, when it refuses)
  kWelcome = 10,  // fds: channel, window, doorbell (eventfd), completions
  kRefuse = 11,
  // session socket
  kLoadModule = 20,  // fds: image (size-sealed memory file)
  kLoadModuleReply = 21,
  kQueryModule = 22,  // function attributes and JIT log of one kernel
  kQueryModuleReply = 23,
  kDescribeMemory = 24,  // asks for a descriptor that stands for exported memory
  kDescribeMemoryReply = 25,
  kHostMemoryFile = 26,  // asks for the file of memory of the host
  kHostMemoryFileReply = 27,
  kImportFile = 28,  // fds: a memory file of the client's, to be mapped; to a private server only
  kImportFileReply = 29,
  // daemon <-> server: wire/server_messages.h
  kAttach = 40,  // fds: the client's connection; body: the Hello as received, and what the daemon adds
  kServerReady = 41,
  kServerQuery = 42,  // daemon asks for client list, status, ...
  kServerReply = 43,
  kServerShutdown = 44,
  kServerSet = 45,  // live settings (percentage, memory limit, policy)
  kTerminateClient = 46,
  kServerPeer = 47,  // fds: a page (wire/server_page.h)
};

struct MessageHead {
  uint32_t magic = 0x49545554;
  uint16_t version = kProtocolVersion;
  MessageKind kind;
  uint32_t serial = 0;  // of a request; its reply carries the same
  uint32_t flags = 0;   // MessageFlags
};
static_assert(sizeof(MessageHead) == 16);

enum MessageFlags : uint32_t {
  kBodyInFile = 1u << 0,  // the packet has no body: fd 0 is the body, the message's own descriptors follow it
  kBodyInAskersFile = 1u << 1,  // of a reply: the packet has no body, it is in the file that came with the query
};

// The body of kWelcome is empty: everything is in the channel. Its descriptors, in this order:
inline constexpr size_t kWelcomeChannelFd = 0;  // memory file of sizeof(Channel) bytes
inline constexpr size_t kWelcomeWindowFd = 1;  // memory file of ChannelHeader::window, to be mapped at window_base
inline constexpr size_t kWelcomeDoorbellFd = 2;  // eventfd
inline constexpr size_t kWelcomeCompletionsFd = 3;  // memory file of sizeof(Completions) bytes, for reading
inline constexpr size_t kWelcomeFds = 4;

// What a client says about itself. None of it is trusted; identity comes from SO_PEERCRED.
struct Hello {
  uint32_t claimed_pid = 0;  // in the client's own PID namespace
  uint64_t pid_namespace = 0;  // inode of /proc/self/ns/pid
  std::string command_line;  // at most 4096 bytes
  std::string active_thread_percentage;  // environment values as written; parsed and checked by the daemon
  std::string pinned_memory_limit;
  std::string client_priority;
  std::string sm_partition;
  std::string visible_devices;
};
void Put(ByteWriter& out, const Hello& hello);
Result<Hello> GetHello(ByteReader& in);

struct Refuse {
  int32_t status = 0;  // CUresult: 805, 807, 808, 809, ...
  std::string text;  // one line
};
void Put(ByteWriter& out, const Refuse& refuse);
Result<Refuse> GetRefuse(ByteReader& in);

// Loads a module onto one device. fd 0: the image (compiler/protocol), a size-sealed memory file of exactly its bytes.
struct LoadModule {
  uint32_t device = 0;
};
void Put(ByteWriter& out, const LoadModule& request);
Result<LoadModule> GetLoadModule(ByteReader& in);

// fd 0, if status == 0: a size-sealed memory file with module::Serialize(ModuleInfo), which may be longer than a
// message.
struct LoadModuleReply {
  int32_t status = 0;  // CUresult
  uint32_t module = 0;
  std::string log;  // JIT log; at most kMaxLogBytes
};
inline constexpr size_t kMaxLogBytes = 32 * 1024;
void Put(ByteWriter& out, const LoadModuleReply& reply);
Result<LoadModuleReply> GetLoadModuleReply(ByteReader& in);

// Asks for the log of a kernel's last failed kPrepare; sent only after a failure.
struct QueryModule {
  uint32_t module = 0;
  uint32_t function = 0;
};
void Put(ByteWriter& out, const QueryModule& request);
Result<QueryModule> GetQueryModule(ByteReader& in);

struct QueryModuleReply {
  std::string log;  // at most kMaxLogBytes
};
void Put(ByteWriter& out, const QueryModuleReply& reply);
Result<QueryModuleReply> GetQueryModuleReply(ByteReader& in);

// Asks for a descriptor that other processes may import the memory by (wire/share_handle.h).
struct DescribeMemory {
  ExportedMemory memory;
};
void Put(ByteWriter& out, const DescribeMemory& request);
Result<DescribeMemory> GetDescribeMemory(ByteReader& in);

// fd 0, if status == 0: the descriptor. As long as any process has it open the memory exists and can be imported.
struct DescribeMemoryReply {
  int32_t status = 0;  // CUresult
  std::string text;  // why not
};
void Put(ByteWriter& out, const DescribeMemoryReply& reply);
Result<DescribeMemoryReply> GetDescribeMemoryReply(ByteReader& in);

// By the number from kHostMemory or kImport. The reply is a DescribeMemoryReply; its descriptor is the memory file,
// whose size is sealed.
struct HostMemoryFile {
  uint64_t number = 0;
};
void Put(ByteWriter& out, const HostMemoryFile& request);
Result<HostMemoryFile> GetHostMemoryFile(ByteReader& in);

// Of kImportFile. The import is dropped as one by kImport.
struct ImportFileReply {
  int32_t status = 0;  // CUresult
  std::string text;  // why not
  uint64_t number = 0;
  uint64_t bytes = 0;
};
void Put(ByteWriter& out, const ImportFileReply& reply);
Result<ImportFileReply> GetImportFileReply(ByteReader& in);

// One message with its head. Another `version` than ours is for a Refuse alone, which all versions understand.
std::vector<uint8_t> Pack(MessageKind kind, uint32_t serial, ByteWriter body, uint16_t version = kProtocolVersion,
                          uint32_t flags = 0);
// Checks magic and version and splits off the head; the reader stands at the body.
Result<MessageHead> ReadHead(ByteReader& in);
// The protocol version of a message that has our magic but not our version. Head and Refuse are the same in all
// versions, so the sender can be told.
std::optional<uint16_t> OtherVersion(std::span<const uint8_t> message);

}  // namespace tutti::wire
