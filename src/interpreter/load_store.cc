// Loads and stores. Threads take turns, so every order and scope is kept.
#include <cstring>

#include "interpreter/families.h"

namespace tutti::interpreter {
namespace {

void AcceptHints(Step& step) {
  // clang-format off
  step.Accept({Modifier::kWeak, Modifier::kVolatile, Modifier::kRelaxed, Modifier::kAcquire, Modifier::kRelease,
               Modifier::kMmio, Modifier::kCta, Modifier::kCluster, Modifier::kGpu, Modifier::kSys, Modifier::kNc,
               Modifier::kCa, Modifier::kCg, Modifier::kCs, Modifier::kLu, Modifier::kCv, Modifier::kWb,
               Modifier::kWt, Modifier::kL1EvictNormal, Modifier::kL1EvictUnchanged, Modifier::kL1EvictFirst,
               Modifier::kL1EvictLast, Modifier::kL1NoAllocate, Modifier::kL2EvictNormal, Modifier::kL2EvictFirst,
               Modifier::kL2EvictLast, Modifier::kL2CacheHint, Modifier::kL2_64B, Modifier::kL2_128B,
               Modifier::kL2_256B, Modifier::kUnified});
  // clang-format on
}

uint64_t BytesOf(Type type) { return (ptx::BitsOf(type) + 7) / 8; }

// st.bulk [a], size, 0
void StoreZeros(Step& step) {
  const Operand& address = step.in.operands[0];
  const uint64_t bytes = step.Get(1, Type::kB64) & ~uint64_t{7};  // as the compiler: other sizes have no meaning
  uint8_t* at = step.Locate(step.SpaceOf(address), step.Address(address), bytes, 8, &address);
  if (at != nullptr) std::memset(at, 0, bytes);
}

}  // namespace

void Load(Step& step) {
  AcceptHints(step);
  const Operand& address = step.in.operands[1];
  const Type type = step.last_type();
  const uint64_t bytes = BytesOf(type), all = bytes * step.in.vector;
  const uint8_t* at = step.Locate(step.SpaceOf(address), step.Address(address), all, all, &address);
  if (at == nullptr) return;
  const auto targets = step.Elements(step.in.operands[0]);
  for (size_t i = 0; i < targets.size(); ++i) {
    Bits value = 0;
    std::memcpy(&value, at + bytes * i, bytes);
    if (type == Type::kB128)
      step.PutWide(targets[i], value);
    else
      step.Put(targets[i], type, static_cast<uint64_t>(value));
  }
}

void Store(Step& step) {
  AcceptHints(step);
  const Operand& address = step.in.operands[0];
  if (step.Has(Modifier::kBulk)) return StoreZeros(step);
  const Type type = step.last_type();
  const uint64_t bytes = BytesOf(type), all = bytes * step.in.vector;
  uint8_t* at = step.Locate(step.SpaceOf(address), step.Address(address), all, all, &address);
  if (at == nullptr) return;
  const auto sources = step.Elements(step.in.operands[1]);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Bits value = step.Wide(sources[i], type);
    std::memcpy(at + bytes * i, &value, bytes);
  }
  step.Accept({Modifier::kAsync});
  if (step.Has(Modifier::kMbarrierCompleteTxBytes)) CompleteBytes(step, step.in.operands[2], all);
}

}  // namespace tutti::interpreter
