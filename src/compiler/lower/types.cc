#include "compiler/lower/types.h"

namespace tutti::compiler::lowering {

llvm::Type* TypeOf(llvm::LLVMContext& context, ptx::Type type) {
  switch (type) {
    case ptx::Type::kPred: return llvm::Type::getInt1Ty(context);
    case ptx::Type::kF32: return llvm::Type::getFloatTy(context);
    case ptx::Type::kF64: return llvm::Type::getDoubleTy(context);
    default: {
      const uint32_t bits = ptx::BitsOf(type);
      return bits < 8 ? nullptr : llvm::Type::getIntNTy(context, bits);
    }
  }
}

bool IsInteger(ptx::Type type) {
  switch (type) {
    case ptx::Type::kB8:
    case ptx::Type::kB16:
    case ptx::Type::kB32:
    case ptx::Type::kB64:
    case ptx::Type::kB128:
    case ptx::Type::kU8:
    case ptx::Type::kU16:
    case ptx::Type::kU32:
    case ptx::Type::kU64:
    case ptx::Type::kS8:
    case ptx::Type::kS16:
    case ptx::Type::kS32:
    case ptx::Type::kS64: return true;
    default: return false;
  }
}

llvm::Value* AsBits(llvm::IRBuilder<>& ir, llvm::Value* value) {
  llvm::Type* type = value->getType();
  if (type->isIntegerTy()) return value;
  return ir.CreateBitCast(value, ir.getIntNTy(type->getPrimitiveSizeInBits().getFixedValue()));
}

llvm::Value* Reinterpret(llvm::IRBuilder<>& ir, llvm::Value* value, llvm::Type* type, bool is_signed) {
  if (value->getType() == type) return value;
  value = AsBits(ir, value);
  llvm::Type* bits = type->isIntegerTy() ? type : ir.getIntNTy(type->getPrimitiveSizeInBits().getFixedValue());
  value = is_signed ? ir.CreateSExtOrTrunc(value, bits) : ir.CreateZExtOrTrunc(value, bits);
  return ir.CreateBitCast(value, type);
}

}  // namespace tutti::compiler::lowering
