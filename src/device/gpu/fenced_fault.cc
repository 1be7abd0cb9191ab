#include "device/gpu/fenced_fault.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/common/said_name.h"
#include "guest/fault_kind.h"

namespace tutti::device::gpu {
namespace {

using guest::FaultKind;

const char* NameOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kIllegalAddress: return "illegal address";
    case FaultKind::kAssert: return "assertion failed";
    case FaultKind::kHardwareStackError: return "stack overflow";
    case FaultKind::kIllegalInstruction: return "illegal instruction";
    case FaultKind::kMisalignedAddress: return "misaligned address";
    case FaultKind::kInvalidAddressSpace: return "invalid address space";
    case FaultKind::kInvalidPc: return "invalid function address";
    case FaultKind::kLaunchFailed: return "trap";
  }
  return "trap";
}

}  // namespace

Fault DescribeFault(const guest::FenceFault& record, const std::optional<std::string>& function) {
  const FaultKind kind =
      guest::IsFaultKind(record.kind) ? static_cast<FaultKind>(record.kind) : FaultKind::kLaunchFailed;
  Fault fault{.status = static_cast<int32_t>(kind), .report = NameOf(kind), .has_block = true, .has_thread = true};
  if (kind == FaultKind::kIllegalAddress || kind == FaultKind::kMisalignedAddress || kind == FaultKind::kInvalidPc) {
    fault.has_address = true;
    fault.address = record.address;
    fault.report += fmt::format(" {:#x}", record.address);
  }
  if (function) {
    fault.kernel = SaidName(*function);
    fault.report += " in kernel " + fault.kernel;
  }
  std::copy_n(record.ctaid, 3, fault.block);
  std::copy_n(record.tid, 3, fault.thread);
  fault.ptx_line = record.ptx_line;
  fault.report += fmt::format(", block ({},{},{}), thread ({},{},{}), PTX line {}", fault.block[0], fault.block[1],
                              fault.block[2], fault.thread[0], fault.thread[1], fault.thread[2], fault.ptx_line);
  return fault;
}

}  // namespace tutti::device::gpu
