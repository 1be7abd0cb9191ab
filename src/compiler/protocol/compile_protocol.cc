#include "compiler/protocol/compile_protocol.h"

namespace tutti::compiler {

std::vector<uint8_t> Serialize(const CompileRequest& request) {
  ByteWriter out;
  out.Put(request.op);
  out.PutString(request.kernel);
  for (const uint32_t extent : request.block) out.Put(extent);
  out.Put(request.optimize);
  out.Put(request.capability);
  out.Put(uint8_t{request.quick});
  return out.Take();
}

std::vector<uint8_t> Serialize(const CompileReply& reply) {
  ByteWriter out;
  out.Put(reply.status);
  out.PutString(reply.log);
  out.Put(uint8_t{reply.is_quick});
  return out.Take();
}

Result<CompileRequest> ParseCompileRequest(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  CompileRequest request;
  request.op = in.Get<CompileOp>();
  request.kernel = in.GetString();
  for (uint32_t& extent : request.block) extent = in.Get<uint32_t>();
  request.optimize = in.Get<uint32_t>();
  request.capability = in.Get<uint32_t>();
  request.quick = in.Get<uint8_t>() != 0;
  if (!in.ok()) return Fail("compile request is cut short");
  return request;
}

Result<CompileReply> ParseCompileReply(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  CompileReply reply;
  reply.status = in.Get<int32_t>();
  reply.log = in.GetString();
  reply.is_quick = in.Get<uint8_t>() != 0;
  if (!in.ok()) return Fail("compile reply is cut short");
  return reply;
}

}  // namespace tutti::compiler
