#include "compiler/link/byte_choices.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "compiler/link/host_target.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

constexpr unsigned kLanesOfWarp = 32;

class ByteChoice {
 public:
  ByteChoice(llvm::Function& function, VectorLevel level)
      : function_(function),
        lanes_(level == VectorLevel::kAvx512 ? 16 : level == VectorLevel::kAvx2 ? 8 : 4),
        builder_(function.getContext()),
        words_(llvm::FixedVectorType::get(builder_.getInt32Ty(), lanes_)),
        bytes_(llvm::FixedVectorType::get(builder_.getInt8Ty(), 4 * lanes_)) {}

  void Make() {
    function_.deleteBody();
    function_.setLinkage(llvm::GlobalValue::InternalLinkage);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(builder_.getContext(), "", &function_));
    llvm::SmallVector<Value*, 8> parts;
    for (unsigned first = 0; first < kLanesOfWarp; first += lanes_) {
      llvm::SmallVector<int, 16> own;
      for (unsigned i = 0; i < lanes_; ++i) own.push_back(static_cast<int>(first + i));
      const auto part = [&](unsigned n) { return builder_.CreateShuffleVector(function_.getArg(n), own); };
      parts.push_back(OfRegister(part(0), part(1), part(2)));
    }
    builder_.CreateRet(llvm::concatenateVectors(builder_, parts));
  }

 private:
  llvm::Constant* Splat(uint32_t word) { return llvm::ConstantInt::get(words_, word); }

  Value* OfRegister(Value* a, Value* b, Value* selector) {
    const auto spread = [&](Value* x, unsigned bits, uint32_t mask) {
      return builder_.CreateAnd(builder_.CreateOr(x, builder_.CreateShl(x, bits)), Splat(mask));
    };
    Value* digits = builder_.CreateAnd(selector, Splat(0xffff));
    digits = spread(spread(digits, 8, 0x00ff00ff), 4, 0x0f0f0f0f);
    llvm::SmallVector<llvm::Constant*, 16> of_lanes;
    for (unsigned lane = 0; lane < lanes_; ++lane) of_lanes.push_back(builder_.getInt32(0x04040404 * (lane % 4)));
    Value* from = builder_.CreateOr(builder_.CreateAnd(digits, Splat(0x03030303)), llvm::ConstantVector::get(of_lanes));
    Value* byte = builder_.CreateSelect(HasBit(digits, 2), Shuffled(b, from), Shuffled(a, from));
    Value* sign = builder_.CreateSExt(builder_.CreateICmpSLT(byte, llvm::Constant::getNullValue(bytes_)), bytes_);
    return builder_.CreateBitCast(builder_.CreateSelect(HasBit(digits, 3), sign, byte), words_);
  }

  // Of each byte, which are below 16.
  Value* HasBit(Value* digits, unsigned bit) {
    Value* at_top = builder_.CreateBitCast(builder_.CreateShl(digits, 7 - bit), bytes_);
    return builder_.CreateICmpSLT(at_top, llvm::Constant::getNullValue(bytes_));
  }

  Value* Shuffled(Value* word, Value* from) {
    const auto id = lanes_ == 16  ? llvm::Intrinsic::x86_avx512_pshuf_b_512
                    : lanes_ == 8 ? llvm::Intrinsic::x86_avx2_pshuf_b
                                  : llvm::Intrinsic::x86_ssse3_pshuf_b_128;
    return builder_.CreateIntrinsic(id, {},
                                    {builder_.CreateBitCast(word, bytes_), builder_.CreateBitCast(from, bytes_)});
  }

  llvm::Function& function_;
  const unsigned lanes_;
  llvm::IRBuilder<> builder_;
  llvm::Type *const words_, *const bytes_;
};

}  // namespace

void UseByteChoices(llvm::Module& module, const HostTarget& target) {
  llvm::Function* function = module.getFunction("tutti_v_prmt");
  const bool has_shuffle = target.level != VectorLevel::kBaseline || target.features.find("+sse4") != std::string::npos;
  if (function != nullptr && !function->isDeclaration() && has_shuffle) ByteChoice(*function, target.level).Make();
}

}  // namespace tutti::compiler
