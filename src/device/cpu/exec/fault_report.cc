#include "device/cpu/exec/fault_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "device/common/said_name.h"

namespace tutti::device::cpu {
namespace {

const char* NameOf(guest::FaultKind kind) {
  switch (kind) {
    case guest::FaultKind::kIllegalAddress: return "illegal address";
    case guest::FaultKind::kAssert: return "assertion failed";
    case guest::FaultKind::kHardwareStackError: return "stack overflow";
    case guest::FaultKind::kIllegalInstruction: return "illegal instruction";
    case guest::FaultKind::kMisalignedAddress: return "misaligned address";
    case guest::FaultKind::kInvalidAddressSpace: return "invalid address space";
    case guest::FaultKind::kInvalidPc: return "invalid function address";
    case guest::FaultKind::kLaunchFailed: return "trap";
  }
  return "unknown fault";
}

bool HasAddress(guest::FaultKind kind) {
  return kind == guest::FaultKind::kIllegalAddress || kind == guest::FaultKind::kMisalignedAddress ||
         kind == guest::FaultKind::kInvalidAddressSpace || kind == guest::FaultKind::kInvalidPc;
}

}  // namespace

Fault DescribeFault(const guest::BlockRun& run, const guest::FaultRecord& record) {
  const guest::FaultKind kind = run.KindOf(record);
  Fault fault{.status = static_cast<int32_t>(kind)};
  std::string& line = fault.report;
  line = *record.text != '\0' ? record.text : record.signal == SIGFPE ? "arithmetic fault" : NameOf(kind);
  if (record.has_value) line += fmt::format(" {:#x}", record.value);
  if (record.lanes != 0) line += fmt::format(" ({:#010x})", record.lanes);
  if (HasAddress(kind)) {
    fault.has_address = true;
    fault.address = record.address;
    line += fmt::format(" 0x{:x}", record.address);
  }
  if (run.launch() == nullptr) {
    line += " in a copy";
    return fault;
  }
  const guest::KernelDescriptor& kernel = run.descriptor();
  fault.kernel = SaidName(kernel.name);
  fault.has_block = true;
  std::copy_n(run.state().ctaid, 3, fault.block);
  line += fmt::format(" in kernel {}, block ({},{},{})", fault.kernel, fault.block[0], fault.block[1], fault.block[2]);
  if (record.warp < guest::kMaxWarps) {
    fault.has_thread = true;
    run.ThreadOf(record.warp, record.lane, fault.thread);
    line += fmt::format(", thread ({},{},{})", fault.thread[0], fault.thread[1], fault.thread[2]);
  } else if ((kernel.flags & guest::kYields) != 0) {
    line += fmt::format(", warp {}", run.running_warp());
  }
  if (record.location < kernel.location_count) {
    const guest::SourceLocation& location = kernel.locations[record.location];
    fault.ptx_line = location.ptx_line;
    line += fmt::format(", PTX line {}", location.ptx_line);
    if (location.source_file != nullptr) {
      fault.source_file = SaidPath(location.source_file);
      fault.source_line = location.source_line;
      line += fmt::format(" ({}:{})", fault.source_file, location.source_line);
    }
  }
  return fault;
}

}  // namespace tutti::device::cpu
