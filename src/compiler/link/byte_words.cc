#include "compiler/link/byte_words.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <array>

#include "compiler/link/host_target.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

constexpr unsigned kLanesOfWarp = 32;

// An instruction for registers of 4, 8 and 16 words.
using ByWidth = std::array<llvm::Intrinsic::ID, 3>;
constexpr ByWidth kShuffle = {llvm::Intrinsic::x86_ssse3_pshuf_b_128, llvm::Intrinsic::x86_avx2_pshuf_b,
                              llvm::Intrinsic::x86_avx512_pshuf_b_512};
constexpr ByWidth kPairs = {llvm::Intrinsic::x86_sse2_pmadd_wd, llvm::Intrinsic::x86_avx2_pmadd_wd,
                            llvm::Intrinsic::x86_avx512_pmaddw_d_512};
constexpr ByWidth kQuads = {llvm::Intrinsic::not_intrinsic, llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                            llvm::Intrinsic::x86_avx512_vpdpbusd_512};

class ByteWords {
 public:
  ByteWords(llvm::Function& function, const HostTarget& target)
      : function_(function),
        width_(static_cast<unsigned>(target.level)),
        lanes_(4u << width_),
        builder_(function.getContext()),
        words_(llvm::FixedVectorType::get(builder_.getInt32Ty(), lanes_)),
        halves_(llvm::FixedVectorType::get(builder_.getInt16Ty(), 2 * lanes_)),
        bytes_(llvm::FixedVectorType::get(builder_.getInt8Ty(), 4 * lanes_)) {
    const std::string all = target.features + ',';
    const bool wide = target.level == VectorLevel::kAvx512;
    has_quads_ = width_ != 0 && all.find(wide ? "+avx512vnni," : "+avxvnni,") != std::string::npos;
  }

  void MakeChoice() {
    Make([this](Value* a, Value* b, Value* selector) { return Choice(a, b, selector); });
  }
  void MakeProduct(bool a_signed, bool b_signed) {
    Make([=, this](Value* a, Value* b, Value* sum) {
      return has_quads_ ? ProductOfQuads(a, b, sum, a_signed, b_signed) : ProductOfPairs(a, b, sum, a_signed, b_signed);
    });
  }

 private:
  // The body, of one that does it for the words of a register.
  void Make(llvm::function_ref<Value*(Value*, Value*, Value*)> of_register) {
    function_.deleteBody();
    function_.setLinkage(llvm::GlobalValue::InternalLinkage);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(builder_.getContext(), "", &function_));
    llvm::SmallVector<Value*, 8> parts;
    for (unsigned first = 0; first < kLanesOfWarp; first += lanes_) {
      llvm::SmallVector<int, 16> own;
      for (unsigned i = 0; i < lanes_; ++i) own.push_back(static_cast<int>(first + i));
      const auto part = [&](unsigned n) { return builder_.CreateShuffleVector(function_.getArg(n), own); };
      parts.push_back(of_register(part(0), part(1), part(2)));
    }
    builder_.CreateRet(llvm::concatenateVectors(builder_, parts));
  }

  llvm::Constant* Splat(uint32_t word) { return llvm::ConstantInt::get(words_, word); }
  Value* Call(const ByWidth& instruction, llvm::ArrayRef<Value*> operands) {
    return builder_.CreateIntrinsic(instruction[width_], {}, operands);
  }

  Value* Choice(Value* a, Value* b, Value* selector) {
    const auto spread = [&](Value* x, unsigned bits, uint32_t mask) {
      return builder_.CreateAnd(builder_.CreateOr(x, builder_.CreateShl(x, bits)), Splat(mask));
    };
    Value* digits = builder_.CreateAnd(selector, Splat(0xffff));
    digits = spread(spread(digits, 8, 0x00ff00ff), 4, 0x0f0f0f0f);
    llvm::SmallVector<llvm::Constant*, 16> of_lanes;
    for (unsigned lane = 0; lane < lanes_; ++lane) of_lanes.push_back(builder_.getInt32(0x04040404 * (lane % 4)));
    Value* from = builder_.CreateOr(builder_.CreateAnd(digits, Splat(0x03030303)), llvm::ConstantVector::get(of_lanes));
    const auto shuffled = [&](Value* word) {
      return Call(kShuffle, {builder_.CreateBitCast(word, bytes_), builder_.CreateBitCast(from, bytes_)});
    };
    Value* byte = builder_.CreateSelect(HasBit(digits, 2), shuffled(b), shuffled(a));
    Value* sign = builder_.CreateSExt(builder_.CreateICmpSLT(byte, llvm::Constant::getNullValue(bytes_)), bytes_);
    return builder_.CreateBitCast(builder_.CreateSelect(HasBit(digits, 3), sign, byte), words_);
  }

  // Of each byte, which are below 16.
  Value* HasBit(Value* digits, unsigned bit) {
    Value* at_top = builder_.CreateBitCast(builder_.CreateShl(digits, 7 - bit), bytes_);
    return builder_.CreateICmpSLT(at_top, llvm::Constant::getNullValue(bytes_));
  }

  // Where both are of one kind, one of them is shifted by 128, and what that adds is taken away.
  Value* ProductOfQuads(Value* a, Value* b, Value* sum, bool a_signed, bool b_signed) {
    Value* const none = Splat(0);
    Value* const shift = Splat(0x80808080);  // 128, or as a signed one -128
    Value* excess = none;
    if (a_signed) {
      a = builder_.CreateXor(a, shift);
      excess = Call(kQuads, {none, shift, b});
    } else if (!b_signed) {
      b = builder_.CreateXor(b, shift);
      excess = Call(kQuads, {none, a, shift});
    }
    return builder_.CreateSub(Call(kQuads, {sum, a, b}), excess);
  }

  Value* ProductOfPairs(Value* a, Value* b, Value* sum, bool a_signed, bool b_signed) {
    const auto even = [&](Value* word, bool is_signed) {
      Value* halves = builder_.CreateBitCast(word, halves_);
      return is_signed ? builder_.CreateAShr(builder_.CreateShl(halves, 8), 8) : builder_.CreateAnd(halves, 255);
    };
    const auto odd = [&](Value* word, bool is_signed) {
      Value* halves = builder_.CreateBitCast(word, halves_);
      return is_signed ? builder_.CreateAShr(halves, 8) : builder_.CreateLShr(halves, 8);
    };
    sum = builder_.CreateAdd(sum, Call(kPairs, {even(a, a_signed), even(b, b_signed)}));
    return builder_.CreateAdd(sum, Call(kPairs, {odd(a, a_signed), odd(b, b_signed)}));
  }

  llvm::Function& function_;
  const unsigned width_;  // 0 to 2: of 128, 256 and 512 bits
  const unsigned lanes_;
  llvm::IRBuilder<> builder_;
  llvm::Type *const words_, *const halves_, *const bytes_;
  bool has_quads_ = false;
};

}  // namespace

void UseByteWords(llvm::Module& module, const HostTarget& target) {
  // SSE4.1 and SSE4.2 include SSSE3's shuffle of bytes, AMD's SSE4A does not.
  const auto has = [&](const char* feature) { return target.features.find(feature) != std::string::npos; };
  if (target.level == VectorLevel::kBaseline && !has("+ssse3") && !has("+sse4.")) return;
  const auto body_of = [&](const char* name) -> llvm::Function* {
    llvm::Function* function = module.getFunction(name);
    return function != nullptr && !function->isDeclaration() ? function : nullptr;
  };
  if (llvm::Function* function = body_of("tutti_v_prmt")) ByteWords(*function, target).MakeChoice();
  if (llvm::Function* function = body_of("tutti_v_dp4a_s8_s8")) ByteWords(*function, target).MakeProduct(true, true);
  if (llvm::Function* function = body_of("tutti_v_dp4a_u8_u8")) ByteWords(*function, target).MakeProduct(false, false);
  if (llvm::Function* function = body_of("tutti_v_dp4a_u8_s8")) ByteWords(*function, target).MakeProduct(false, true);
}

}  // namespace tutti::compiler
