#include "compiler/link/byte_products.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "compiler/link/host_target.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

constexpr unsigned kLanes = 32;

// tutti_mma_m<16 or 8>n8k<depth>_s32_<type of A>_<type of B>.
struct Product {
  unsigned halves = 0;  // groups of 8 rows
  unsigned depth = 0;
  bool a_signed = false, b_signed = false;
  unsigned b_registers() const { return depth / 16; }
  unsigned a_registers() const { return b_registers() * halves; }
};

std::optional<Product> ProductOf(llvm::StringRef name) {
  Product product;
  unsigned rows = 0;
  if (!name.consume_front("tutti_mma_m") || name.consumeInteger(10, rows) || !name.consume_front("n8k") ||
      name.consumeInteger(10, product.depth) || !name.consume_front("_s32_"))
    return std::nullopt;
  const auto take = [&name](bool& is_signed) {
    is_signed = name.starts_with("s8");
    return name.consume_front("s8") || name.consume_front("u8");
  };
  if (!take(product.a_signed) || !name.consume_front("_") || !take(product.b_signed) || !name.empty())
    return std::nullopt;
  product.halves = rows / 8;
  return product;
}

// Elements of the widest dot product that the processor has, or 0.
unsigned LanesAtOnce(const HostTarget& target) {
  const std::string all = target.features + ',';
  const auto has = [&all](std::string_view feature) { return all.find(feature) != std::string::npos; };
  if (target.level == VectorLevel::kAvx512 && has("+avx512vnni,")) return 16;
  return target.level != VectorLevel::kBaseline && has("+avxvnni,") ? 8 : 0;
}

class Body {
 public:
  Body(llvm::Function& function, const Product& product, unsigned lanes)
      : function_(function),
        product_(product),
        lanes_(lanes),
        builder_(function.getContext()),
        vector_(llvm::FixedVectorType::get(builder_.getInt32Ty(), kLanes)) {}

  void Make() {
    function_.deleteBody();
    function_.setLinkage(llvm::GlobalValue::InternalLinkage);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(builder_.getContext(), "", &function_));
    const unsigned a_count = product_.a_registers(), b_count = product_.b_registers();
    llvm::SmallVector<Value*, 4> a, b, sums;
    for (unsigned i = 0; i < function_.arg_size(); ++i)
      (i < a_count ? a : i < a_count + b_count ? b : sums).push_back(function_.getArg(i));
    // Where both are of one kind, one of them is shifted by 128, and what that adds is counted.
    const bool both_signed = product_.a_signed && product_.b_signed;
    const bool both_unsigned = !product_.a_signed && !product_.b_signed;
    for (Value*& bytes : both_signed ? a : b)
      if (both_signed || both_unsigned) bytes = builder_.CreateXor(bytes, Splat(0x80808080));
    // Of the bytes that met the 128: by column (even and odd) where A was shifted, by row where B was.
    Value* const none = llvm::Constant::getNullValue(vector_);
    Value* excess[] = {none, none};
    for (unsigned far = 0; far < b_count; ++far) {
      for (unsigned t = 0; t < 4; ++t) {
        Value* const columns[] = {OfColumn(b[far], t, 0), OfColumn(b[far], t, 1)};
        for (unsigned half = 0; half < product_.halves; ++half) {
          Value* const row = OfQuad(a[far * product_.halves + half], t);
          for (unsigned odd = 0; odd < 2; ++odd) {
            Value*& sum = sums[2 * half + odd];
            sum = product_.a_signed && !product_.b_signed ? Dot(sum, columns[odd], row) : Dot(sum, row, columns[odd]);
          }
          if (both_unsigned) excess[half] = Dot(excess[half], row, Splat(0x01010101));
        }
        for (unsigned odd = 0; odd < 2 && both_signed; ++odd)
          excess[odd] = Dot(excess[odd], Splat(0x01010101), columns[odd]);
      }
    }
    for (unsigned i = 0; i < sums.size(); ++i) {
      if (both_signed) sums[i] = builder_.CreateSub(sums[i], builder_.CreateShl(excess[i % 2], 7));
      if (both_unsigned) sums[i] = builder_.CreateAdd(sums[i], builder_.CreateShl(excess[i / 2], 7));
    }
    Value* all = llvm::PoisonValue::get(function_.getReturnType());
    for (unsigned i = 0; i < sums.size(); ++i) all = builder_.CreateInsertValue(all, sums[i], i);
    builder_.CreateRet(all);
  }

 private:
  llvm::Constant* Splat(uint32_t word) {
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kLanes), builder_.getInt32(word));
  }

  // As in runtime/matrix.cc.
  Value* OfQuad(Value* value, unsigned t) {
    return Permuted(value, [t](unsigned lane) { return (lane & ~3u) | t; });
  }
  Value* OfColumn(Value* value, unsigned t, unsigned odd) {
    return Permuted(value, [t, odd](unsigned lane) { return (2 * (lane & 3) + odd) * 4 + t; });
  }
  template <typename From>
  Value* Permuted(Value* value, From from) {
    llvm::SmallVector<int, kLanes> lanes;
    for (unsigned lane = 0; lane < kLanes; ++lane) lanes.push_back(static_cast<int>(from(lane)));
    return builder_.CreateShuffleVector(value, lanes);
  }

  // sum + the four products of each lane: of unsigned bytes by signed ones.
  Value* Dot(Value* sum, Value* of_unsigned, Value* of_signed) {
    const auto intrinsic =
        lanes_ == 16 ? llvm::Intrinsic::x86_avx512_vpdpbusd_512 : llvm::Intrinsic::x86_avx512_vpdpbusd_256;
    llvm::SmallVector<Value*, 4> parts;
    for (unsigned first = 0; first < kLanes; first += lanes_) {
      const auto part = [&](Value* of) {
        llvm::SmallVector<int, 16> own;
        for (unsigned i = 0; i < lanes_; ++i) own.push_back(static_cast<int>(first + i));
        return builder_.CreateShuffleVector(of, own);
      };
      parts.push_back(builder_.CreateIntrinsic(intrinsic, {}, {part(sum), part(of_unsigned), part(of_signed)}));
    }
    return llvm::concatenateVectors(builder_, parts);
  }

  llvm::Function& function_;
  const Product product_;
  const unsigned lanes_;
  llvm::IRBuilder<> builder_;
  llvm::Type* const vector_;
};

}  // namespace

void UseByteProducts(llvm::Module& module, const HostTarget& target) {
  const unsigned lanes = LanesAtOnce(target);
  if (lanes == 0) return;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (const auto product = ProductOf(function.getName())) Body(function, *product, lanes).Make();
  }
}

}  // namespace tutti::compiler
