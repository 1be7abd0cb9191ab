// Translates a fault into the client's CUresult and into a report for people.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "cuda/result.h"
#include "device/common/said_name.h"
#include "device/cpu/exec/block_run.h"

namespace tutti::device::cpu {
namespace {

const char* NameOf(int32_t status) {
  switch (static_cast<guest::FaultKind>(status)) {
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

bool HasAddress(int32_t status) {
  return status == cuda::CUDA_ERROR_ILLEGAL_ADDRESS || status == cuda::CUDA_ERROR_MISALIGNED_ADDRESS ||
         status == cuda::CUDA_ERROR_INVALID_ADDRESS_SPACE || status == cuda::CUDA_ERROR_INVALID_PC;
}

bool IsKnown(uint32_t kind) { return NameOf(static_cast<int32_t>(kind)) != NameOf(0); }

}  // namespace

int32_t BlockRun::FaultStatus(const FaultRecord& fault) const {
  switch (fault.signal) {
    case 0:  // deliberate; the number comes from generated code and is validated
      return IsKnown(fault.kind) ? static_cast<int32_t>(fault.kind) : cuda::CUDA_ERROR_LAUNCH_FAILED;
    case SIGSEGV:
    case SIGBUS:
      return IsStackGuard(fault.address) ? cuda::CUDA_ERROR_HARDWARE_STACK_ERROR : cuda::CUDA_ERROR_ILLEGAL_ADDRESS;
    case SIGILL: return cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default: return cuda::CUDA_ERROR_LAUNCH_FAILED;
  }
}

Fault BlockRun::DescribeFault(const FaultRecord& record) const {
  Fault fault{.status = FaultStatus(record)};
  std::string& line = fault.report;
  line = *record.text != '\0' ? record.text : record.signal == SIGFPE ? "arithmetic fault" : NameOf(fault.status);
  if (record.lanes != 0) line += fmt::format(" ({:#010x})", record.lanes);
  if (HasAddress(fault.status)) {
    fault.has_address = true;
    fault.address = record.address;
    line += fmt::format(" 0x{:x}", record.address);
  }
  if (launch_ == nullptr) {
    line += " in a copy";
    return fault;
  }
  const guest::KernelDescriptor& kernel = *launch_->descriptor;
  fault.kernel = SaidName(kernel.name);
  fault.has_block = true;
  std::copy(std::begin(block_.ctaid), std::end(block_.ctaid), fault.block);
  line += fmt::format(" in kernel {}, block ({},{},{})", fault.kernel, fault.block[0], fault.block[1], fault.block[2]);
  if (record.warp < kMaxWarps) {
    fault.has_thread = true;
    ThreadOf(record.warp, record.lane, fault.thread);
    line += fmt::format(", thread ({},{},{})", fault.thread[0], fault.thread[1], fault.thread[2]);
  } else if ((kernel.flags & guest::kYields) != 0) {
    line += fmt::format(", warp {}", running_);
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
