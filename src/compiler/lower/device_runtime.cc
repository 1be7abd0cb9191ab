// Calls of the device runtime: functions that the vendor's headers declare and that its libcudadevrt defines by system
// calls which only its driver has. Ours are services of the device, so a body that was linked in does not count.
#include "guest/device_runtime.h"

#include <optional>

#include "compiler/lower/call_operands.h"

namespace tutti::compiler::lowering {
namespace {

struct Callee {
  uint32_t number;
  const guest::RuntimeSignature* signature;
};

bool TakePrefix(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

std::optional<Callee> CalleeOf(std::string_view name) {
  if (!TakePrefix(&name, "__cudaCDP2") && !TakePrefix(&name, "cuda")) return std::nullopt;
  constexpr std::string_view kPerThread = "_ptsz";
  const bool per_thread = name.ends_with(kPerThread);
  if (per_thread) name.remove_suffix(kPerThread.size());
  for (uint32_t i = 0; i < std::size(guest::kRuntimeSignatures); ++i) {
    const guest::RuntimeSignature& signature = guest::kRuntimeSignatures[i];
    if (signature.name != name) continue;
    if (per_thread && signature.arguments.find('s') == std::string_view::npos) return std::nullopt;
    return Callee{i | (per_thread ? guest::kPerThreadStream : 0), &signature};
  }
  return std::nullopt;
}

uint64_t BytesOf(char argument) {
  switch (argument) {
    case '4': return 4;
    case 'd': return 12;
    default: return 8 * uint64_t{guest::WordsOf(argument)};
  }
}

llvm::Value* WordAt(Emitter& e, llvm::Value* words, uint64_t bytes) {
  return e.ir.CreateConstGEP1_64(e.ir.getInt8Ty(), words, bytes);
}

// Argument `i` into the words from `to` on.
void PutArgument(Emitter& e, size_t i, char argument, llvm::Value* to) {
  const ptx::Operand& operand = ArgumentOperand(e, i);
  if (argument == 'm') {
    llvm::Value* from = e.PointerFrom(ReadScalarArgument(e, i, ptx::Type::kB64), kGenericSpace);
    for (uint32_t word = 0; word < guest::WordsOf(argument); ++word) {
      llvm::Value* value = e.ir.CreateAlignedLoad(e.ir.getInt64Ty(), WordAt(e, from, 8 * word), llvm::Align(8));
      e.ir.CreateAlignedStore(value, WordAt(e, to, 8 * word), llvm::Align(8));
    }
    return;
  }
  if (argument == '4' || IsValue(operand)) {
    llvm::Value* value = ReadScalarArgument(e, i, argument == '4' ? ptx::Type::kB32 : ptx::Type::kB64);
    e.ir.CreateAlignedStore(e.ir.CreateZExt(value, e.ir.getInt64Ty()), to, llvm::Align(8));
    return;
  }
  llvm::AllocaInst* storage = ParamStorage(e, operand, BytesOf(argument));
  if (storage == nullptr) return;
  llvm::Type* i32 = e.ir.getInt32Ty();
  for (uint64_t at = 0; at < BytesOf(argument); at += sizeof(uint32_t)) {
    llvm::Value* value = e.ir.CreateAlignedLoad(i32, WordAt(e, storage, at), llvm::Align(1));
    e.ir.CreateAlignedStore(value, WordAt(e, to, at), llvm::Align(4));
  }
}

// What the function has left in the words, where its `o` argument wants it.
void StoreOut(Emitter& e, uint32_t bytes, llvm::Value* words, llvm::Value* out, llvm::Value* status) {
  llvm::BasicBlock* store = e.NewBlock("out");
  llvm::BasicBlock* after = e.NewBlock("after");
  e.ir.CreateCondBr(e.ir.CreateICmpEQ(status, e.ir.getInt64(0)), store, after);
  e.ir.SetInsertPoint(store);
  llvm::Type* type = bytes % 8 == 0 ? e.ir.getInt64Ty() : e.ir.getInt32Ty();
  const uint64_t piece = bytes % 8 == 0 ? 8 : 4;
  llvm::Value* to = e.PointerFrom(out, kGenericSpace);
  for (uint64_t at = 0; at < bytes; at += piece) {
    llvm::Value* value = e.ir.CreateAlignedLoad(type, WordAt(e, words, at), llvm::Align(piece));
    e.ir.CreateAlignedStore(value, WordAt(e, to, at), llvm::Align(piece));
  }
  e.ir.CreateBr(after);
  e.ir.SetInsertPoint(after);
}

}  // namespace

bool EmitDeviceRuntimeCall(Emitter& e, std::string_view function) {
  const std::optional<Callee> callee = CalleeOf(function);
  if (!callee) return false;
  const std::string_view arguments = callee->signature->arguments;
  if (e.instruction().call_arguments != arguments.size()) {
    e.Invalid("wrong number of arguments");
    return true;
  }
  llvm::Value* words = e.RuntimeWords();
  llvm::Value* out = nullptr;
  uint64_t word = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    PutArgument(e, i, arguments[i], WordAt(e, words, 8 * word));
    if (arguments[i] == 'o') out = ReadScalarArgument(e, i, ptx::Type::kB64);
    word += guest::WordsOf(arguments[i]);
  }
  llvm::Value* address = e.ir.CreatePtrToInt(words, e.ir.getInt64Ty());
  llvm::Value* result =
      e.Call("tutti.device_runtime", e.ir.getInt64Ty(), {e.ir.getInt32(callee->number), address}, Effect::kMemory);
  if (out != nullptr) StoreOut(e, callee->signature->out_bytes, words, out, result);
  const bool status = callee->signature->result == guest::RuntimeResult::kStatus;
  const ptx::Type type = status ? ptx::Type::kB32 : ptx::Type::kB64;
  WriteScalarReturn(e, e.ir.CreateTrunc(result, status ? e.ir.getInt32Ty() : e.ir.getInt64Ty()), type);
  return true;
}

}  // namespace tutti::compiler::lowering
