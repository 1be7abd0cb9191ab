#include "wire/messages.h"

#include <fmt/format.h>

#include "wire/finish.h"

namespace tutti::wire {
namespace {

constexpr size_t kMaxText = 4096;  // of one string a client sends

}  // namespace

void Put(ByteWriter& out, const Hello& hello) {
  out.Put(hello.claimed_pid);
  out.Put(hello.pid_namespace);
  out.PutString(hello.command_line);
  out.PutString(hello.active_thread_percentage);
  out.PutString(hello.pinned_memory_limit);
  out.PutString(hello.client_priority);
  out.PutString(hello.sm_partition);
  out.PutString(hello.visible_devices);
}

Result<Hello> GetHello(ByteReader& in) {
  Hello hello;
  hello.claimed_pid = in.Get<uint32_t>();
  hello.pid_namespace = in.Get<uint64_t>();
  hello.command_line = in.GetString();
  hello.active_thread_percentage = in.GetString();
  hello.pinned_memory_limit = in.GetString();
  hello.client_priority = in.GetString();
  hello.sm_partition = in.GetString();
  hello.visible_devices = in.GetString();
  if (!in.ok()) return Fail("Hello message is cut short");
  for (const auto* text : {&hello.command_line, &hello.active_thread_percentage, &hello.pinned_memory_limit,
                           &hello.client_priority, &hello.sm_partition, &hello.visible_devices}) {
    if (text->size() > kMaxText)
      return Fail(fmt::format("Hello message has a text of {} bytes, {} are allowed", text->size(), kMaxText));
  }
  return hello;
}

void Put(ByteWriter& out, const Refuse& refuse) {
  out.Put(refuse.status);
  out.PutString(refuse.text);
}

Result<Refuse> GetRefuse(ByteReader& in) {
  Refuse refuse;
  refuse.status = in.Get<int32_t>();
  refuse.text = in.GetString();
  return Finish(in, refuse, "Refuse");
}

void Put(ByteWriter& out, const LoadModule& request) { out.Put(request.device); }

Result<LoadModule> GetLoadModule(ByteReader& in) {
  const LoadModule request{.device = in.Get<uint32_t>()};
  return Finish(in, request, "LoadModule");
}

void Put(ByteWriter& out, const LoadModuleReply& reply) {
  out.Put(reply.status);
  out.Put(reply.module);
  out.PutString(std::string_view(reply.log).substr(0, kMaxLogBytes));
}

Result<LoadModuleReply> GetLoadModuleReply(ByteReader& in) {
  LoadModuleReply reply;
  reply.status = in.Get<int32_t>();
  reply.module = in.Get<uint32_t>();
  reply.log = in.GetString();
  return Finish(in, reply, "LoadModuleReply");
}

void Put(ByteWriter& out, const QueryModule& request) {
  out.Put(request.module);
  out.Put(request.function);
}

Result<QueryModule> GetQueryModule(ByteReader& in) {
  QueryModule request;
  request.module = in.Get<uint32_t>();
  request.function = in.Get<uint32_t>();
  return Finish(in, request, "QueryModule");
}

void Put(ByteWriter& out, const QueryModuleReply& reply) {
  out.PutString(std::string_view(reply.log).substr(0, kMaxLogBytes));
}

Result<QueryModuleReply> GetQueryModuleReply(ByteReader& in) {
  QueryModuleReply reply{.log = in.GetString()};
  return Finish(in, reply, "QueryModuleReply");
}

void Put(ByteWriter& out, const DescribeMemory& request) { out.Put(request.memory); }

Result<DescribeMemory> GetDescribeMemory(ByteReader& in) {
  const DescribeMemory request{.memory = in.Get<ExportedMemory>()};
  return Finish(in, request, "DescribeMemory");
}

void Put(ByteWriter& out, const HostMemoryFile& request) { out.Put(request.number); }

Result<HostMemoryFile> GetHostMemoryFile(ByteReader& in) {
  const HostMemoryFile request{.number = in.Get<uint64_t>()};
  return Finish(in, request, "HostMemoryFile");
}

void Put(ByteWriter& out, const DescribeMemoryReply& reply) {
  out.Put(reply.status);
  out.PutString(reply.text);
}

Result<DescribeMemoryReply> GetDescribeMemoryReply(ByteReader& in) {
  DescribeMemoryReply reply;
  reply.status = in.Get<int32_t>();
  reply.text = in.GetString();
  return Finish(in, reply, "DescribeMemoryReply");
}

void Put(ByteWriter& out, const ImportFileReply& reply) {
  out.Put(reply.status);
  out.PutString(reply.text);
  out.Put(reply.number);
  out.Put(reply.bytes);
}

Result<ImportFileReply> GetImportFileReply(ByteReader& in) {
  ImportFileReply reply;
  reply.status = in.Get<int32_t>();
  reply.text = in.GetString();
  reply.number = in.Get<uint64_t>();
  reply.bytes = in.Get<uint64_t>();
  return Finish(in, reply, "ImportFileReply");
}

std::vector<uint8_t> Pack(MessageKind kind, uint32_t serial, ByteWriter body, uint16_t version, uint32_t flags) {
  ByteWriter out;
  out.Put(MessageHead{.version = version, .kind = kind, .serial = serial, .flags = flags});
  std::vector<uint8_t> bytes = out.Take();
  const auto rest = body.bytes();
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  return bytes;
}

Result<MessageHead> ReadHead(ByteReader& in) {
  const auto head = in.Get<MessageHead>();
  if (!in.ok() || head.magic != MessageHead{}.magic) return Fail("not a Tutti message");
  if (head.version != kProtocolVersion) {
    return Fail(fmt::format("peer speaks protocol {}, this program {}: install the same version on both sides",
                            head.version, kProtocolVersion));
  }
  return head;
}

std::optional<uint16_t> OtherVersion(std::span<const uint8_t> message) {
  ByteReader in(message);
  const auto head = in.Get<MessageHead>();
  if (!in.ok() || head.magic != MessageHead{}.magic || head.version == kProtocolVersion) return std::nullopt;
  return head.version;
}

}  // namespace tutti::wire
