// The part of Emitter that resolves addresses: variables, parameters, locals, and address operands.
#include "compiler/lower/emitter.h"
#include "fmt/format.h"

namespace tutti::compiler::lowering {
namespace {

unsigned AddressSpaceOf(ptx::StateSpace space) {
  switch (space) {
    case ptx::StateSpace::kGlobal: return kGlobalSpace;
    case ptx::StateSpace::kShared:
    case ptx::StateSpace::kSharedCluster: return kSharedSpace;
    case ptx::StateSpace::kConst: return kConstSpace;
    case ptx::StateSpace::kLocal: return kLocalSpace;
    case ptx::StateSpace::kParam: return kParamSpace;
    default: return kGenericSpace;
  }
}

bool IsKernelParameter(const ptx::Function& function, uint32_t local) {
  return function.is_entry && local >= function.first_param &&
         local - function.first_param < function.prototype.params.size();
}

}  // namespace

void Emitter::StoreArguments() {
  if (is_kernel()) return;
  std::vector<size_t> first_piece;
  const std::vector<Piece> pieces = module_.PiecesOf(function_.prototype.params, &first_piece);
  for (size_t i = 0; i < function_.prototype.params.size(); ++i) {
    const ptx::LocalVariable& local = function_.locals[function_.first_param + i];
    if (local.space == ptx::StateSpace::kReg) {
      llvm::AllocaInst* place = Register(local.register_id);
      if (place == nullptr || first_piece[i + 1] - first_piece[i] != 1)
        continue;  // of a type that nothing computes with
      llvm::IRBuilder<> at(entry_);
      llvm::Value* argument = ir_function_->getArg(static_cast<unsigned>(first_piece[i]));
      at.CreateStore(Reinterpret(at, argument, place->getAllocatedType(), false), place);
      continue;
    }
    llvm::AllocaInst* storage = Storage(function_.first_param + static_cast<uint32_t>(i));
    llvm::IRBuilder<> at(entry_);
    for (size_t p = first_piece[i]; p < first_piece[i + 1]; ++p) {
      llvm::Value* place = at.CreateConstGEP1_64(at.getInt8Ty(), storage, pieces[p].offset);
      at.CreateAlignedStore(ir_function_->getArg(static_cast<unsigned>(p)), place, llvm::Align(1));
    }
  }
}

llvm::AllocaInst* Emitter::Storage(uint32_t local) {
  if (local >= function_.locals.size() || IsKernelParameter(function_, local)) return nullptr;
  const ptx::LocalVariable& variable = function_.locals[local];
  if (variable.space != ptx::StateSpace::kLocal && variable.space != ptx::StateSpace::kParam) return nullptr;
  if (storage_[local] == nullptr) {
    storage_[local] = NewAlloca(llvm::ArrayType::get(ir.getInt8Ty(), variable.bytes()), variable.name);
    const uint64_t alignment = std::max<uint64_t>(variable.alignment, 1);
    storage_[local]->setAlignment(llvm::Align(llvm::isPowerOf2_64(alignment) ? std::min<uint64_t>(alignment, 128) : 1));
  }
  return storage_[local];
}

llvm::Value* Emitter::AddressOfSymbol(uint32_t symbol_index, int64_t offset) {
  if (symbol_index >= source().symbols.size()) {
    Invalid("an unknown symbol");
    return ir.getInt64(0);
  }
  const ptx::Symbol& symbol = source().symbols[symbol_index];
  if (symbol.kind == ptx::Symbol::Kind::kFunction) return ir.getInt64(module::FunctionAddress(symbol.index));
  const ptx::Variable& variable = source().variables[symbol.index];
  if (variable.space == ptx::StateSpace::kShared) {
    if (variable.count == 0) {
      llvm::Value* start = CallI32("tutti.dynamic_shared_offset");
      return ir.CreateZExt(ir.CreateAdd(start, ir.getInt32(static_cast<uint32_t>(offset))), ir.getInt64Ty());
    }
    const auto found = module_.kernel().module_shared.find(symbol.index);
    if (found != module_.kernel().module_shared.end())
      return ir.getInt64(static_cast<uint32_t>(found->second + offset));
  } else if (const auto place = module_.layout().VariableOffset(symbol.index)) {
    llvm::Value* base =
        variable.space == ptx::StateSpace::kConst ? CallI64("tutti.constants_base") : CallI64("tutti.module_base");
    return ir.CreateAdd(base, ir.getInt64(*place + static_cast<uint64_t>(offset)));
  }
  Refuse(fmt::format("variable {} is declared but not defined in this module", symbol.name));
  return ir.getInt64(0);
}

llvm::Value* Emitter::AddressOfLocal(uint32_t local, int64_t offset) {
  if (local >= function_.locals.size()) {
    Invalid("an unknown variable");
    return ir.getInt64(0);
  }
  if (IsKernelParameter(function_, local)) {
    return ir.getInt64(static_cast<uint32_t>(module_.kernel().params[local - function_.first_param] + offset));
  }
  if (function_.locals[local].space == ptx::StateSpace::kShared) {
    const auto found = module_.kernel().local_shared.find(uint64_t{function_index_} << 32 | local);
    return ir.getInt64(found == module_.kernel().local_shared.end() ? 0
                                                                    : static_cast<uint32_t>(found->second + offset));
  }
  llvm::AllocaInst* storage = Storage(local);
  if (storage == nullptr) {
    Invalid("a variable without an address");
    return ir.getInt64(0);
  }
  return ir.CreateAdd(ir.CreatePtrToInt(storage, ir.getInt64Ty()), ir.getInt64(static_cast<uint64_t>(offset)));
}

llvm::Value* Emitter::PointerFrom(llvm::Value* bits, unsigned address_space) {
  return ir.CreateIntToPtr(ir.CreateZExtOrTrunc(bits, ir.getInt64Ty()), ir.getPtrTy(address_space));
}

// Shared memory and parameters are addressed with 32 bits, wherever the address came from: [%r1 + 8] with %r1 = -4 is
// offset 4. Everything else has 64.
llvm::Value* Emitter::SpaceAddress(llvm::Value* base, int64_t offset, unsigned address_space) {
  const bool narrow = address_space == kSharedSpace || address_space == kParamSpace;
  llvm::Type* type = narrow ? ir.getInt32Ty() : ir.getInt64Ty();
  llvm::Value* address = ir.CreateZExtOrTrunc(AsBits(ir, base), type);
  if (offset != 0)
    address = ir.CreateAdd(address, llvm::ConstantInt::getSigned(type, narrow ? static_cast<int32_t>(offset) : offset));
  return PointerFrom(address, address_space);
}

llvm::Value* Emitter::Pointer(const ptx::Operand& operand, ptx::StateSpace space) {
  unsigned address_space = AddressSpaceOf(space);
  if (operand.kind == ptx::OperandKind::kAddress) {
    switch (operand.base) {
      case ptx::BaseKind::kNone: return SpaceAddress(ir.getInt64(0), operand.offset, address_space);
      case ptx::BaseKind::kRegister: {
        if (address_space == kParamSpace && !is_kernel()) address_space = kGenericSpace;
        ptx::Operand base;
        base.kind = ptx::OperandKind::kRegister;
        base.index = operand.index;
        const bool known = operand.index < function_.registers.size();
        const bool wide = known && ptx::BitsOf(function_.registers[operand.index].type) == 64;
        return SpaceAddress(Read(base, wide ? ptx::Type::kB64 : ptx::Type::kB32), operand.offset, address_space);
      }
      case ptx::BaseKind::kSymbol: {
        if (operand.index < source().symbols.size() &&
            source().symbols[operand.index].kind == ptx::Symbol::Kind::kVariable) {
          address_space = AddressSpaceOf(source().variables[source().symbols[operand.index].index].space);
        }
        return PointerFrom(AddressOfSymbol(operand.index, operand.offset), address_space);
      }
      case ptx::BaseKind::kLocal: {
        if (llvm::AllocaInst* storage = Storage(operand.index)) {
          return ir.CreateGEP(ir.getInt8Ty(), storage, ir.getInt64(static_cast<uint64_t>(operand.offset)));
        }
        const bool parameter = IsKernelParameter(function_, operand.index);
        return PointerFrom(AddressOfLocal(operand.index, operand.offset), parameter ? kParamSpace : kSharedSpace);
      }
    }
  }
  Invalid("the operand is not an address");
  return llvm::ConstantPointerNull::get(ir.getPtrTy(address_space));
}

}  // namespace tutti::compiler::lowering
