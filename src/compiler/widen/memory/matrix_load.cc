// The code reads whole rows, whichever lanes are active, so it checks rows, not lanes. The rows of matrix_load are
// equally far apart: if the first and the last lie in one memory, all do. Alignment follows, too: the number of
// distances is odd, so a distance that is not a multiple shows at the last row.
#include "compiler/widen/memory/matrix_load.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>

#include <limits>

#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/memory/address_check.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

// How a block lies in memory, and which of its elements come to be part `part` of lane l's register.
struct Block {
  bool is_across;
  unsigned element_bits;

  unsigned rows() const { return is_across ? 4 * parts() : 8; }
  unsigned columns() const { return is_across ? 8 : 4; }
  unsigned parts() const { return element_bits < 32 ? 32 / element_bits : 1; }
  uint64_t row_bytes() const { return uint64_t{columns()} * element_bits / 8; }
  // One of the lanes that get elements of this row.
  unsigned LaneOf(unsigned row) const { return is_across ? row % parts() * 4 + row / parts() : 4 * row; }
  int Element(unsigned lane, unsigned part) const {
    const unsigned row = is_across ? lane % 4 * parts() + part : lane / 4;
    const unsigned column = is_across ? lane / 4 : lane % 4;
    return static_cast<int>(row * columns() + column);
  }
};

class MatrixLoad {
 public:
  MatrixLoad(FunctionEmitter& emitter, const llvm::CallInst& call)
      : emitter_(emitter), builder_(emitter.builder()), call_(call) {}

  // suffix: "along.32.p0"
  void Strided(llvm::StringRef suffix) {
    const auto [arrangement, rest] = suffix.split('.');
    unsigned bits = 0;
    if (rest.split('.').first.getAsInteger(10, bits)) return emitter_.Unsupported(call_, "no such block");
    EmitStrided({arrangement == "across", bits});
  }

  // suffix: "along.x4"
  void OfRows(llvm::StringRef suffix) {
    const auto [arrangement, count] = suffix.split(".x");
    unsigned blocks = 0;
    if (count.getAsInteger(10, blocks) || blocks == 0 || blocks > 4)
      return emitter_.Unsupported(call_, "no such number of blocks");
    EmitOfRows({arrangement == "across", arrangement == "across" ? 16u : 32u}, blocks);
  }

 private:
  void EmitStrided(const Block& block) {
    const Value* pointer = call_.getArgOperand(0);
    const Region region = RegionOf(emitter_, call_, pointer, std::numeric_limits<uint32_t>::max());
    Value* first = Common(pointer);
    if (region.base != nullptr) first = builder_.CreateAdd(first, region.base);
    // Lowering makes no larger distance, so every row between the first and the last lies in the same memory.
    Value* distance = builder_.CreateAnd(Common(call_.getArgOperand(1)), builder_.getInt64((uint64_t{1} << 40) - 1));
    llvm::SmallVector<Value*, 16> rows;
    for (unsigned r = 0; r < block.rows(); ++r)
      rows.push_back(builder_.CreateAdd(first, builder_.CreateMul(distance, builder_.getInt64(r))));
    const unsigned align_log2 = llvm::Log2_32(block.element_bits / 8);
    AddressCheck check(emitter_, region, call_, align_log2);
    if (!check.is_off()) {
      Value* holds = builder_.CreateAnd(check.Covers(rows.front(), block.row_bytes(), align_log2),
                                        check.Covers(rows.back(), block.row_bytes(), align_log2));
      emitter_.Unless(holds, [&] { RequireRows(check, block, rows); });
    }
    emitter_.Define(call_, {Distribute(block, rows)});
  }

  // On a cold path. If all lanes are active, one call of the runtime checks all rows, each by one of its lanes.
  void RequireRows(AddressCheck& check, const Block& block, llvm::ArrayRef<Value*> rows) {
    if (!emitter_.is_full()) {
      for (Value* row : rows) check.RequireScalar(row, block.row_bytes());
      return;
    }
    Value* all = builder_.CreateVectorSplat(kLanes, rows.front());
    for (unsigned r = 1; r < rows.size(); ++r) all = builder_.CreateInsertElement(all, rows[r], block.LaneOf(r));
    check.RequireLanes(all, block.row_bytes());
  }

  void EmitOfRows(const Block& block, unsigned blocks) {
    llvm::SmallVector<int, kLanes> named;
    for (unsigned lane = 0; lane < kLanes; ++lane) named.push_back(static_cast<int>(lane % (8 * blocks)));
    Value* addresses = emitter_.values().Vector(call_.getArgOperand(0));
    addresses = builder_.CreateZExt(addresses, Values::Wide(builder_.getInt64Ty()));
    addresses = builder_.CreateAdd(addresses, builder_.CreateVectorSplat(kLanes, emitter_.abi().shared_base()));
    if (blocks < 4) addresses = builder_.CreateShuffleVector(addresses, named);
    // Rows of lanes that are not active are loaded, too, and such lanes' values may be poison: what is checked must be
    // what is loaded.
    if (!emitter_.is_full()) addresses = builder_.CreateFreeze(addresses);
    const Region region{.spaces = guest_runtime::kShared, .likely = guest_runtime::kShared};
    AddressCheck check(emitter_, region, call_, 2);
    const bool by_lanes = emitter_.is_full();
    if (by_lanes) check.RequireLanes(addresses, block.row_bytes());
    llvm::SmallVector<Value*, 4> results;
    for (unsigned b = 0; b < blocks; ++b) {
      llvm::SmallVector<Value*, 16> rows;
      for (unsigned r = 0; r < 8; ++r) rows.push_back(builder_.CreateExtractElement(addresses, 8 * b + r));
      if (!by_lanes) check.RequireScalars(rows, block.row_bytes());
      results.push_back(Distribute(block, rows));
    }
    emitter_.Define(call_, results);
  }

  // An argument that is uniform, or else the lowest lane's: they are said to be the same.
  Value* Common(const Value* argument) {
    if (emitter_.shape(argument).is_uniform()) return emitter_.values().Uniform(argument);
    return builder_.CreateExtractElement(emitter_.values().Vector(argument), emitter_.FirstLane());
  }

  Value* Distribute(const Block& block, llvm::ArrayRef<Value*> addresses) {
    llvm::Type* element = block.element_bits == 64 ? builder_.getDoubleTy() : builder_.getIntNTy(block.element_bits);
    llvm::SmallVector<Value*, 16> rows;
    for (Value* address : addresses) {
      rows.push_back(builder_.CreateAlignedLoad(llvm::FixedVectorType::get(element, block.columns()),
                                                builder_.CreateIntToPtr(address, builder_.getPtrTy()), llvm::Align(1)));
    }
    Value* all = llvm::concatenateVectors(builder_, rows);
    if (block.is_across) {
      llvm::SmallVector<int, 4 * kLanes> order;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned part = 0; part < block.parts(); ++part) order.push_back(block.Element(lane, part));
      }
      all = builder_.CreateShuffleVector(all, order);
    }
    return block.element_bits == 64 ? all : builder_.CreateBitCast(all, Values::Wide(builder_.getInt32Ty()));
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  const llvm::CallInst& call_;
};

}  // namespace

bool EmitMatrixLoad(FunctionEmitter& emitter, const llvm::CallInst& call, const IntrinsicCall& intrinsic) {
  MatrixLoad load(emitter, call);
  if (intrinsic.kind == Intrinsic::kMatrixLoad) {
    load.Strided(intrinsic.suffix);
  } else if (intrinsic.kind == Intrinsic::kMatrixRows) {
    load.OfRows(intrinsic.suffix);
  } else {
    return false;
  }
  return true;
}

}  // namespace tutti::compiler
