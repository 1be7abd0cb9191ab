// Memory that clients share: records and messages that export, import and map it. The records' functions are called
// with the ring's lock held, like those of session_records.cc.
#include <fmt/format.h>

#include "base/log.h"
#include "cuda/result.h"
#include "server/export_table.h"
#include "server/session.h"
#include "wire/validate.h"

namespace tutti::server {
namespace {

int32_t CodeOf(const Error& error) { return error.code != 0 ? error.code : cuda::CUDA_ERROR_INVALID_VALUE; }

}  // namespace

ExportTable::Client Session::AsSharer() const {
  return {.id = info_.id, .uid = info_.uid, .party = info_.party, .policy = info_.sharing};
}

Status Session::HandleSharing(const wire::Untrusted<wire::RawRecord>& untrusted) {
  const wire::RawRecord& head = untrusted.Unchecked();
  const auto refuse = [&](const Error& error) -> Status {
    log::Debug("Client {}: {}", info_.pid, error.text);
    sink_->Reply(head.reply, CodeOf(error), {0, 0, 0, 0});
    return {};
  };
  switch (head.kind) {
    case wire::RecordKind::kMap: {
      TUTTI_ASSIGN(const wire::MapBody body, wire::ValidateMap(untrusted));
      const Status mapped = HandleMap(body);
      if (!mapped) return refuse(mapped.error());
      sink_->Reply(head.reply, 0, {0, 0, 0, 0});
      return {};
    }
    case wire::RecordKind::kExport: {
      TUTTI_ASSIGN(const wire::ExportBody body, wire::ValidateExport(untrusted));
      using AtEnd = device::Space::AtEnd;
      const auto memory = space_->Share(body.address, body.end_with_largest != 0 ? AtEnd::kLargest : AtEnd::kKept);
      if (!memory) return refuse(memory.error());
      const auto name = services_.exports->Add(AsSharer(), *memory);
      if (!name) return refuse(name.error());
      sink_->Reply(head.reply, 0, {name->id, name->secret[0], name->secret[1], (*memory)->bytes()});
      return {};
    }
    case wire::RecordKind::kImport: {
      if (imports_.size() >= wire::kMostImports) return Fail("more imported memory than a client may hold");
      auto found = services_.exports->Find(AsSharer(), wire::ValidateImport(untrusted).memory);
      if (!found) return refuse(found.error());
      if (IsWithheld(found->memory->device()))
        return refuse(Error{.code = cuda::CUDA_ERROR_NOT_PERMITTED, .text = "memory of a device that it may not use"});
      const uint64_t number = ++last_import_;
      sink_->Reply(head.reply, 0, {number, found->memory->bytes(), found->memory->device(), found->own ? 1u : 0u});
      imports_.emplace(number, std::move(found->memory));
      return {};
    }
    default: break;
  }
  imports_.erase(wire::ValidateImportDrop(untrusted).number);
  return {};
}

Status Session::HandleMap(const wire::MapBody& body) {
  if (body.access == wire::MapAccess::kNone) return space_->Unmap(body.address, body.bytes);
  std::shared_ptr<device::SharedMemory> memory;
  if (body.source == wire::MapSource::kImported) {
    const auto import = imports_.find(body.memory);
    if (import == imports_.end()) return Fail(fmt::format("import {} does not exist", body.memory));
    memory = import->second;
  } else {
    TUTTI_ASSIGN(memory, space_->Share(body.memory, device::Space::AtEnd::kKept));
  }
  if (memory->bytes() != body.bytes)
    return Fail(fmt::format("a mapping of {} bytes of memory of {}", body.bytes, memory->bytes()));
  return space_->Map(body.address, std::move(memory), body.access == wire::MapAccess::kReadWrite);
}

Status Session::HandleDescribeMemory(const ipc::Envelope& envelope) {
  ByteReader in(envelope.body);
  TUTTI_ASSIGN(const wire::DescribeMemory request, wire::GetDescribeMemory(in));
  const auto descriptor = services_.exports->Describe(AsSharer(), request.memory);
  wire::DescribeMemoryReply reply;
  if (!descriptor) reply = {.status = CodeOf(descriptor.error()), .text = descriptor.error().text};
  ByteWriter body;
  wire::Put(body, reply);
  const int fds[] = {descriptor ? descriptor->get() : -1};
  Answer(wire::MessageKind::kDescribeMemoryReply, envelope.head.serial, std::move(body),
         {fds, descriptor ? size_t{1} : size_t{0}});
  return {};
}

}  // namespace tutti::server
