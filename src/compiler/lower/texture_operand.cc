#include "compiler/lower/texture_operand.h"

namespace tutti::compiler::lowering {

using M = ptx::Modifier;
using T = ptx::Type;

Geometry GeometryOf(const Emitter& e) {
  if (e.Has(M::k1D)) return {1, false, "1d"};
  if (e.Has(M::k2D)) return {2, false, "2d"};
  if (e.Has(M::k3D)) return {3, false, "3d"};
  if (e.Has(M::kA1D)) return {1, true, "1d"};
  if (e.Has(M::kA2D)) return {2, true, "2d"};
  if (e.Has(M::kCube)) return {3, false, "cube"};
  if (e.Has(M::kAcube)) return {3, true, "cube"};
  return {};
}

llvm::Value* HandleOf(Emitter& e, const ptx::Operand& base, T reference) {
  const bool is_address = base.kind == ptx::OperandKind::kAddress;
  if (is_address && base.base == ptx::BaseKind::kSymbol && base.offset == 0) {
    const ptx::Symbol& symbol = e.source().symbols[base.index];
    const bool is_variable = symbol.kind == ptx::Symbol::Kind::kVariable;
    if (!is_variable || e.source().variables[symbol.index].type != reference) {
      e.Invalid(std::string("the name is not one of a .") + std::string(ptx::NameOf(reference)));
      return nullptr;
    }
  } else if (!is_address || base.base != ptx::BaseKind::kRegister) {
    e.Refuse("textures and surfaces are named by a register or by a variable of the module");
    return nullptr;
  }
  return e.ir.CreatePtrToInt(e.Pointer(base, ptx::StateSpace::kGlobal), e.ir.getInt64Ty());
}

bool ReadTextureOperand(Emitter& e, size_t operand, const Geometry& geometry, T reference, T coordinate,
                        TextureOperand* access) {
  const ptx::Operand& base = e.operand(operand);
  if (geometry.dimensions == 0) return e.Refuse("multisampled textures are not supported"), false;
  if (base.count != 1) return e.Refuse("samplers apart from their texture are not supported"), false;
  access->handle = HandleOf(e, base, reference);
  if (access->handle == nullptr) return false;
  const auto coordinates = e.Elements(e.operand(operand + 1));
  const size_t layers = geometry.layered ? 1 : 0;
  if (coordinates.size() < layers + geometry.dimensions) return e.Invalid("too few coordinates"), false;
  access->layer = geometry.layered ? e.Read(*coordinates[0], T::kU32) : e.ir.getInt32(0);
  for (unsigned i = 0; i < geometry.dimensions; ++i) access->at.push_back(e.Read(*coordinates[layers + i], coordinate));
  return true;
}

llvm::Value* CallSampling(Emitter& e, const std::string& name, llvm::Type* result,
                          const std::vector<llvm::Value*>& arguments) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  return e.ir.CreateCall(e.module().module().getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)),
                         arguments);
}

}  // namespace tutti::compiler::lowering
