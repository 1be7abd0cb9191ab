#include "compiler/threads/matrix_rows.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "compiler/widen/analysis/intrinsics.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

class MatrixRows {
 public:
  explicit MatrixRows(llvm::CallInst& call) : call_(call), builder_(&call) {
    llvm::Module& module = *call.getModule();
    llvm::Type *i32 = builder_.getInt32Ty(), *pair = llvm::StructType::get(i32, builder_.getInt1Ty());
    constexpr IntrinsicName kLane = "tutti.laneid", kShuffle = "tutti.shfl.idx.i32";
    lane_ = builder_.CreateCall(module.getOrInsertFunction(kLane.get(), i32));
    shuffle_ = module.getOrInsertFunction(kShuffle.get(), llvm::FunctionType::get(pair, {i32, i32, i32, i32}, false));
  }

  void Expand() {
    const bool is_across = ClassifyCall(call_).suffix.starts_with("across");
    auto* words = llvm::dyn_cast<llvm::StructType>(call_.getType());
    Value* all = words != nullptr ? llvm::PoisonValue::get(words) : nullptr;
    for (unsigned matrix = 0; matrix < (words != nullptr ? words->getNumElements() : 1); ++matrix) {
      Value* word = is_across ? Across(matrix) : Along(matrix);
      all = words != nullptr ? builder_.CreateInsertValue(all, word, matrix) : word;
    }
    call_.replaceAllUsesWith(all);
    call_.eraseFromParent();
  }

 private:
  // Lane 4 g + t gets word t of row g.
  Value* Along(unsigned matrix) { return WordOf(matrix, builder_.CreateLShr(lane_, 2), builder_.CreateAnd(lane_, 3)); }

  // Lane 4 g + t gets element g, of 16 bits, of the rows 2 t and 2 t + 1.
  Value* Across(unsigned matrix) {
    Value* element = builder_.CreateLShr(lane_, 2);
    Value* shift = builder_.CreateShl(builder_.CreateAnd(element, 1), 4);
    Value* row = builder_.CreateShl(builder_.CreateAnd(lane_, 3), 1);
    const auto half = [&](Value* of_row) {
      Value* word = WordOf(matrix, of_row, builder_.CreateLShr(element, 1));
      return builder_.CreateAnd(builder_.CreateLShr(word, shift), 0xffff);
    };
    Value* first = half(row);
    return builder_.CreateOr(first, builder_.CreateShl(half(builder_.CreateOr(row, 1)), 16));
  }

  Value* WordOf(unsigned matrix, Value* row, Value* word) {
    Value* lane = builder_.CreateOr(row, 8 * matrix);
    llvm::CallInst* shuffled =
        builder_.CreateCall(shuffle_, {builder_.getInt32(~0u), call_.getArgOperand(0), lane, builder_.getInt32(31)});
    Value* begin = builder_.CreateZExt(builder_.CreateExtractValue(shuffled, 0), builder_.getInt64Ty());
    Value* at = builder_.CreateAdd(begin, builder_.CreateZExt(builder_.CreateShl(word, 2), builder_.getInt64Ty()));
    constexpr unsigned kShared = 3;
    llvm::LoadInst* loaded = builder_.CreateAlignedLoad(
        builder_.getInt32Ty(), builder_.CreateIntToPtr(at, builder_.getPtrTy(kShared)), llvm::Align(4));
    shuffled->copyMetadata(call_);
    loaded->copyMetadata(call_);
    return loaded;
  }

  llvm::CallInst& call_;
  llvm::IRBuilder<> builder_;
  Value* lane_;
  llvm::FunctionCallee shuffle_;
};

}  // namespace

void ExpandMatrixRows(llvm::Function& kernel) {
  llvm::SmallVector<llvm::CallInst*, 16> calls;
  for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call != nullptr && ClassifyCall(*call).kind == Intrinsic::kMatrixRows) calls.push_back(call);
  }
  for (llvm::CallInst* call : calls) MatrixRows(*call).Expand();
}

}  // namespace tutti::compiler
