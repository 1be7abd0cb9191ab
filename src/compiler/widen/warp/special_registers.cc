#include "compiler/widen/warp/special_registers.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/warp/shuffle.h"
#include "guest/cpu/kernel_abi.h"

namespace tutti::compiler {
namespace {

using guest::BlockState;
using llvm::Value;

// Thread coordinates in a block whose shape is known only at run time, or does not fit warps of 32.
Value* ThreadIndex(FunctionEmitter& emitter, unsigned axis) {
  llvm::IRBuilder<>& builder = emitter.builder();
  const BlockShape& block = emitter.module().block;
  const auto extent = [&](unsigned along) -> Value* {
    Value* scalar = block.is_known()
                        ? builder.getInt32(block.extent(along))
                        : emitter.abi().BlockField(offsetof(BlockState, block) + 4 * along, builder.getInt32Ty());
    return builder.CreateVectorSplat(kLanes, scalar);
  };
  Value* index = builder.CreateAdd(builder.CreateVectorSplat(kLanes, builder.CreateShl(emitter.abi().warp_index(), 5)),
                                   LaneNumbers(builder));
  for (unsigned lower = 0; lower < axis; ++lower) index = builder.CreateUDiv(index, extent(lower));
  return axis == 2 ? index : builder.CreateURem(index, extent(axis));
}

}  // namespace

int64_t BlockFieldOffset(llvm::StringRef name) {
  const auto [family, axis] = name.split('.');
  const int64_t index = axis.empty() ? 0 : axis.front() - 'x';
  const int64_t base = llvm::StringSwitch<int64_t>(family)
#define BLOCK_FIELD(name, members, field) .Case(name, offsetof(BlockState, field))
#include "compiler/contract/intrinsics.def"
                           .Default(-1);
  return base < 0 || index < 0 || index > 2 ? -1 : base + 4 * index;
}

bool EmitSpecialRegister(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic) {
  llvm::IRBuilder<>& builder = emitter.builder();
  switch (intrinsic.kind) {
    case Intrinsic::kTid: {
      const unsigned axis = static_cast<unsigned>(intrinsic.suffix.front() - 'x');
      if (emitter.shape(&call).is_varying()) {
        emitter.Define(call, {ThreadIndex(emitter, axis)});
      } else {
        emitter.Define(call, {emitter.module().block.IndexBase(builder, axis, emitter.abi().warp_index())});
      }
      return true;
    }
    case Intrinsic::kLaneid: emitter.Define(call, {builder.getInt32(0)}); return true;
    case Intrinsic::kStack: {
      const uint64_t offset = emitter.module().frame_bytes - emitter.module().stack_bytes;
      emitter.Define(call, {builder.CreateAdd(emitter.abi().local_base(), builder.getInt64(offset))});
      return true;
    }
    case Intrinsic::kWarpid: emitter.Define(call, {emitter.abi().warp_index()}); return true;
    case Intrinsic::kNwarpid: {
      Value* threads = builder.getInt32(1);
      for (unsigned axis = 0; axis < 3; ++axis) {
        threads = builder.CreateMul(
            threads, emitter.abi().BlockField(offsetof(BlockState, block) + 4 * axis, builder.getInt32Ty()));
      }
      emitter.Define(call, {builder.CreateLShr(builder.CreateAdd(threads, builder.getInt32(kLanes - 1)), 5)});
      return true;
    }
    case Intrinsic::kBlockField: {
      const int64_t offset = BlockFieldOffset(intrinsic.suffix);
      if (offset < 0) return false;
      emitter.Define(call, {emitter.abi().BlockField(static_cast<size_t>(offset), call.getType())});
      return true;
    }
    default: return false;
  }
}

}  // namespace tutti::compiler
