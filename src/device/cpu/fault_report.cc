// What a fault means to the client (a CUresult) and to whoever reads the log (one line).
#include <fmt/format.h>

#include <csignal>

#include "cuda/result.h"
#include "device/cpu/block_run.h"

namespace tutti::device::cpu {
namespace {

const char* NameOf(int32_t status) {
  switch (static_cast<guest::FaultKind>(status)) {
    case guest::FaultKind::kIllegalAddress:
      return "illegal address";
    case guest::FaultKind::kAssert:
      return "assertion failed";
    case guest::FaultKind::kHardwareStackError:
      return "stack overflow";
    case guest::FaultKind::kIllegalInstruction:
      return "illegal instruction";
    case guest::FaultKind::kMisalignedAddress:
      return "misaligned address";
    case guest::FaultKind::kInvalidAddressSpace:
      return "invalid address space";
    case guest::FaultKind::kInvalidPc:
      return "invalid function address";
    case guest::FaultKind::kLaunchFailed:
      return "trap";
  }
  return "unknown fault";
}

bool HasAddress(int32_t status) {
  return status == cuda::CUDA_ERROR_ILLEGAL_ADDRESS || status == cuda::CUDA_ERROR_MISALIGNED_ADDRESS ||
         status == cuda::CUDA_ERROR_INVALID_ADDRESS_SPACE || status == cuda::CUDA_ERROR_INVALID_PC ||
         status == cuda::CUDA_ERROR_HARDWARE_STACK_ERROR;
}

bool IsKnown(uint32_t kind) { return NameOf(static_cast<int32_t>(kind)) != NameOf(0); }

}  // namespace

int32_t BlockRun::FaultStatus(const FaultRecord& fault) const {
  switch (fault.signal) {
    case 0:  // deliberate; the number comes from generated code and is checked like everything from there
      return IsKnown(fault.kind) ? static_cast<int32_t>(fault.kind) : cuda::CUDA_ERROR_LAUNCH_FAILED;
    case SIGSEGV:
    case SIGBUS:
      return IsStackGuard(fault.address) ? cuda::CUDA_ERROR_HARDWARE_STACK_ERROR : cuda::CUDA_ERROR_ILLEGAL_ADDRESS;
    case SIGILL:
      return cuda::CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default:
      return cuda::CUDA_ERROR_LAUNCH_FAILED;
  }
}

std::string BlockRun::DescribeFault(const FaultRecord& fault) const {
  const int32_t status = FaultStatus(fault);
  std::string line = *fault.text != '\0' ? fault.text : fault.signal == SIGFPE ? "arithmetic fault" : NameOf(status);
  if (HasAddress(status)) line += fmt::format(" 0x{:x}", fault.address);
  if (launch_ == nullptr) return line + " in a copy";
  line += fmt::format(" in kernel {}, block ({},{},{})", launch_->descriptor->name, block_.ctaid[0], block_.ctaid[1],
                      block_.ctaid[2]);
  if (fault.warp < kMaxWarps) {
    uint32_t thread[3];
    ThreadOf(fault.warp, fault.lane, thread);
    line += fmt::format(", thread ({},{},{})", thread[0], thread[1], thread[2]);
  } else if ((launch_->descriptor->flags & guest::kYields) != 0) {
    line += fmt::format(", warp {}", running_);
  }
  const guest::KernelDescriptor& kernel = *launch_->descriptor;
  if (fault.location < kernel.location_count) {
    const guest::SourceLocation& location = kernel.locations[fault.location];
    line += fmt::format(", PTX line {}", location.ptx_line);
    if (location.source_file != nullptr) line += fmt::format(" ({}:{})", location.source_file, location.source_line);
  }
  return line;
}

}  // namespace tutti::device::cpu
