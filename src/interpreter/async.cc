// cp.async, executed at once, mbarrier objects, and clusterlaunchcontrol.
//
// The bits of an mbarrier are opaque to programs. Here: the phase in bit 0, the arrivals per phase in bits 1 to 20,
// those pending in bits 21 to 40, and the bytes awaited (tx-count) above, signed.
#include <algorithm>
#include <cstring>

#include "interpreter/families.h"

namespace tutti::interpreter {
namespace {

struct Phases {
  uint64_t phase, expected, pending;
  int64_t bytes;

  static Phases Of(uint64_t word) {
    return {word & 1, word >> 1 & 0xfffff, word >> 21 & 0xfffff, static_cast<int64_t>(word) >> 41};
  }
  uint64_t word() const { return phase | expected << 1 | pending << 21 | static_cast<uint64_t>(bytes) << 41; }
  void CompleteIfDue() {
    if (pending != 0 || bytes != 0) return;
    phase ^= 1;
    pending = expected;
  }
};

}  // namespace

void CompleteBytesAt(Step& step, StateSpace space, uint64_t barrier, uint64_t bytes) {
  uint8_t* at = step.Locate(space, barrier, 8, 8);
  if (at == nullptr) return;
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  Phases phases = Phases::Of(word);
  phases.bytes -= static_cast<int64_t>(bytes);
  phases.CompleteIfDue();
  word = phases.word();
  std::memcpy(at, &word, sizeof word);
}

void CompleteBytes(Step& step, const Operand& barrier, uint64_t bytes) {
  CompleteBytesAt(step, StateSpace::kShared, step.Address(barrier), bytes);
}

namespace {

// To the same offset of each block that the mask names, where an mbarrier at its offset counts the bytes.
void Multicast(Step& step, uint64_t bytes) {
  const uint64_t blocks = step.Get(4, Type::kU16);
  const uint8_t* from =
      step.Locate(step.in.second_space, step.Address(step.in.operands[1]), bytes, 16, &step.in.operands[1]);
  for (uint64_t rank = 0; rank < step.blocks() && !step.stopped(); ++rank) {
    if ((blocks >> rank & 1) == 0) continue;
    uint8_t* to =
        step.Locate(StateSpace::kShared, step.PlaceInBlock(step.Address(step.in.operands[0]), rank), bytes, 16);
    if (to == nullptr || from == nullptr) return;
    std::memcpy(to, from, bytes);
    CompleteBytesAt(step, StateSpace::kShared, step.PlaceInBlock(step.Address(step.in.operands[3]), rank), bytes);
  }
}

// cp{.reduce}.async.bulk, executed at once like all copies.
void CopyBulk(Step& step) {
  step.Accept({Modifier::kBulkGroup});
  if (step.Has(Modifier::kPrefetch)) return step.Accept({Modifier::kL2});
  const Operand &target = step.in.operands[0], &source = step.in.operands[1];
  const uint64_t bytes = step.Get(2, Type::kU32) & ~uint64_t{15};  // as the compiler: other sizes have no meaning
  if (step.Has(Modifier::kMulticastCluster)) {
    step.Accept({Modifier::kMbarrierCompleteTxBytes});
    return Multicast(step, bytes);
  }
  uint8_t* to = step.Locate(step.in.space, step.Address(target), bytes, 16, &target);
  const uint8_t* from = step.Locate(step.in.second_space, step.Address(source), bytes, 16, &source);
  if (to == nullptr || from == nullptr) return;
  if (step.Has(Modifier::kReduce)) {
    step.Accept({Modifier::kNoftz});
    const Type type = step.last_type();
    const uint64_t size = ptx::BitsOf(type) / 8;
    if (size < 2 || size > 8) return step.Refuse("a reduction of this type");
    for (uint64_t i = 0; i < bytes; i += size) {
      uint64_t old = 0, value = 0;
      std::memcpy(&old, to + i, size);
      std::memcpy(&value, from + i, size);
      const uint64_t result = UpdatedBy(step, type, old, value);
      std::memcpy(to + i, &result, size);
    }
  } else if (step.Has(Modifier::kCpMask)) {
    const uint64_t mask = step.Get(step.count() - 1, Type::kU16);
    for (uint64_t i = 0; i < bytes; ++i) {
      if ((mask >> (i % 16) & 1) != 0) to[i] = from[i];
    }
  } else {
    std::memmove(to, from, bytes);
  }
  if (step.Has(Modifier::kMbarrierCompleteTxBytes)) CompleteBytes(step, step.in.operands[3], bytes);
}

}  // namespace

void CopyAsync(Step& step) {
  step.Accept({Modifier::kAsync, Modifier::kCa, Modifier::kCg, Modifier::kL2CacheHint, Modifier::kL2_64B,
               Modifier::kL2_128B, Modifier::kL2_256B});
  if (step.Has(Modifier::kCommitGroup) || step.Has(Modifier::kWaitGroup) || step.Has(Modifier::kWaitAll))
    return step.Accept({Modifier::kBulk, Modifier::kRead});
  if (step.Has(Modifier::kTensor)) return CopyTensor(step);
  if (step.Has(Modifier::kMbarrier)) return step.Refuse("this kind of copy");
  if (step.Has(Modifier::kBulk)) return CopyBulk(step);
  const uint64_t bytes = step.Get(2, Type::kU32);
  uint64_t taken = bytes;
  if (step.count() > 3 && !step.in.Has(Modifier::kL2CacheHint)) {
    const Operand& third = step.in.operands[3];
    const bool ignores =
        third.kind == OperandKind::kRegister && step.function().registers[third.index].type == Type::kPred;
    taken = ignores ? (step.Predicate(3) ? 0 : bytes) : std::min(bytes, step.Get(3, Type::kU32));
  }
  uint8_t* to = step.Locate(StateSpace::kShared, step.Address(step.in.operands[0]), bytes, bytes);
  const uint8_t* from =
      taken == 0 ? to : step.Locate(StateSpace::kGlobal, step.Address(step.in.operands[1]), taken, bytes);
  if (to == nullptr || from == nullptr) return;
  std::memmove(to, from, taken);
  std::memset(to + taken, 0, bytes - taken);
}

void PhaseBarrier(Step& step) {
  step.Accept({Modifier::kRelease, Modifier::kAcquire, Modifier::kRelaxed, Modifier::kCta, Modifier::kCluster});
  if (step.Has(Modifier::kPendingCount)) return step.Put(0, Type::kB32, Phases::Of(step.Get(1, Type::kB64)).pending);
  const bool tests = step.Has(Modifier::kTestWait) || step.Has(Modifier::kTryWait);
  const bool drops = step.Has(Modifier::kArriveDrop), arrives = drops || step.Has(Modifier::kArrive),
             expects = step.Has(Modifier::kExpectTx);
  const bool only_arms = step.Has(Modifier::kInit) || step.Has(Modifier::kInval) || step.Has(Modifier::kCompleteTx) ||
                         (expects && !arrives);
  const size_t place = only_arms ? 0 : 1;
  const Operand& address = step.in.operands[place];
  uint8_t* at = step.Locate(step.SpaceOf(address), step.Address(address), 8, 8, &address);
  if (at == nullptr) return;
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  Phases phases = Phases::Of(word);
  const auto count = [&] { return step.count() > place + 1 ? step.Get(place + 1, Type::kU32) : 1; };
  if (step.Has(Modifier::kInit)) {
    phases = {.phase = 0, .expected = count(), .pending = count(), .bytes = 0};
  } else if (step.Has(Modifier::kInval)) {
    phases = {};
  } else if (tests) {
    const uint64_t asked =
        step.Has(Modifier::kParity) ? step.Get(2, Type::kB32) & 1 : Phases::Of(step.Get(2, Type::kB64)).phase;
    return step.Put(0, Type::kPred, phases.phase != asked);
  } else {
    step.Accept({Modifier::kNoComplete});
    if (expects) phases.bytes += static_cast<int64_t>(count());
    if (step.Has(Modifier::kCompleteTx)) phases.bytes -= static_cast<int64_t>(count());
    if (arrives) {
      step.PutWide(step.in.operands[0], word);
      const uint64_t arrivals = expects ? 1 : count();
      if (drops) phases.expected -= arrivals;
      phases.pending -= arrivals;
    }
    phases.CompleteIfDue();
  }
  word = phases.word();
  std::memcpy(at, &word, sizeof word);
}

// A request to cancel a cluster that has not started may always be declined, and is: the answer is 16 bytes of zeros.
void ClusterLaunch(Step& step) {
  if (!step.Has(Modifier::kTryCancel)) {
    step.Accept({Modifier::kQueryCancel, Modifier::kGetFirstCtaid, Modifier::kGetFirstCtaidX, Modifier::kGetFirstCtaidY,
                 Modifier::kGetFirstCtaidZ});
    if (step.Has(Modifier::kIsCanceled))
      return step.Put(0, Type::kPred, step.Wide(step.in.operands[1], Type::kB128) != 0);
    for (const Operand& target : step.Elements(step.in.operands[0])) step.Put(target, Type::kB32, 0);
    return;
  }
  step.Accept({Modifier::kAsync, Modifier::kMbarrierCompleteTxBytes});
  const uint64_t answer = step.Address(step.in.operands[0]), barrier = step.Address(step.in.operands[1]);
  const auto decline = [&](const StateSpace space, uint64_t answer_at, uint64_t barrier_at) {
    uint8_t* to = step.Locate(space, answer_at, 16, 16);
    if (to == nullptr || step.Locate(space, barrier_at, 8, 8) == nullptr) return;
    std::memset(to, 0, 16);
    CompleteBytesAt(step, space, barrier_at, 16);
  };
  if (!step.Has(Modifier::kMulticastClusterAll)) return decline(step.SpaceOf(step.in.operands[0]), answer, barrier);
  for (uint64_t rank = 0; rank < step.blocks() && !step.stopped(); ++rank)
    decline(StateSpace::kShared, step.PlaceInBlock(answer, rank), step.PlaceInBlock(barrier, rank));
}

}  // namespace tutti::interpreter
