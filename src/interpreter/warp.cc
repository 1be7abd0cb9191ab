// Warp operations: their members have met (Machine::HoldMeetings), wherever they are in the program.
#include "interpreter/families.h"
#include "interpreter/float_format.h"
#include "interpreter/lanes.h"

namespace tutti::interpreter {

uint32_t MembersOf(Step& step) {
  switch (step.in.opcode) {
    case ptx::Opcode::kBar:
    case ptx::Opcode::kBarrier: return static_cast<uint32_t>(step.Get(0, Type::kB32));
    case ptx::Opcode::kShfl:
    case ptx::Opcode::kVote:
    case ptx::Opcode::kMatch:
    case ptx::Opcode::kRedux:
    case ptx::Opcode::kElect: return static_cast<uint32_t>(step.Get(step.count() - 1, Type::kB32));
    case ptx::Opcode::kActivemask: return kWhoeverIsHere;
    default: return 0xffffffff;  // .aligned: the whole warp
  }
}

// The ISA promises no more than that the calling lane is in it: here, those that came in the same turn.
void ActiveMask(Meeting& meeting) {
  uint32_t lanes = 0;
  meeting.ForEach([&](uint32_t lane, Step&) { lanes |= 1u << lane; });
  meeting.ForEach([&](uint32_t, Step& step) { step.Put(0, Type::kB32, lanes); });
}

void MeetOnly(Meeting& meeting) { meeting.any().Accept({Modifier::kWarp, Modifier::kSync}); }

void Shuffle(Meeting& meeting) {
  Step& asked = meeting.any();
  asked.Accept({Modifier::kSync, Modifier::kIdx});
  const bool up = asked.Has(Modifier::kUp), down = asked.Has(Modifier::kDown), butterfly = asked.Has(Modifier::kBfly);
  uint64_t values[kWarpSize] = {};
  meeting.ForEach(
      [&](uint32_t lane, Step& step) { values[lane] = step.Get(step.in.has_second_destination ? 2 : 1, Type::kB32); });
  meeting.ForEach([&](uint32_t lane, Step& step) {
    const size_t first = step.in.has_second_destination ? 2 : 1;
    const auto b = static_cast<uint32_t>(step.Get(first + 1, Type::kB32) & 31),
               c = static_cast<uint32_t>(step.Get(first + 2, Type::kB32));
    const uint32_t clamp = c & 31, segment = c >> 8 & 31;
    const uint32_t highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    int source;
    bool inside;
    if (up) {
      source = static_cast<int>(lane) - static_cast<int>(b);
      inside = source >= static_cast<int>(highest);
    } else {
      source = static_cast<int>(down ? lane + b : butterfly ? lane ^ b : lowest | (b & ~segment));
      inside = source <= static_cast<int>(highest);
    }
    if (!inside) source = static_cast<int>(lane);
    step.Put(0, Type::kB32, values[source]);
    if (step.in.has_second_destination) step.Put(1, Type::kPred, inside);
  });
}

void Vote(Meeting& meeting) {
  Step& asked = meeting.any();
  asked.Accept({Modifier::kSync});
  uint32_t votes = 0, voters = 0;
  meeting.ForEach([&](uint32_t lane, Step& step) {
    voters |= 1u << lane;
    if (step.Predicate(1)) votes |= 1u << lane;
  });
  const bool ballot = asked.Has(Modifier::kBallot), all = asked.Has(Modifier::kAll), any = asked.Has(Modifier::kAny);
  asked.Accept({Modifier::kUni});
  const bool truth = all ? votes == voters : any ? votes != 0 : votes == 0 || votes == voters;
  meeting.ForEach(
      [&](uint32_t, Step& step) { ballot ? step.Put(0, Type::kB32, votes) : step.Put(0, Type::kPred, truth); });
}

void Match(Meeting& meeting) {
  Step& asked = meeting.any();
  asked.Accept({Modifier::kSync, Modifier::kAny});
  const bool all = asked.Has(Modifier::kAll);
  const Type type = asked.last_type();
  const auto value = [&](Step& step) { return step.Get(step.in.has_second_destination ? 2 : 1, type); };
  uint32_t equals[kWarpSize] = {}, everybody = 0;
  meeting.ForEach([&](uint32_t lane, Step& step) {
    everybody |= 1u << lane;
    meeting.ForEach(
        [&](uint32_t other, Step& with) { equals[lane] |= (value(step) == value(with) ? 1u : 0u) << other; });
  });
  meeting.ForEach([&](uint32_t lane, Step& step) {
    const bool whole = equals[lane] == everybody;
    step.Put(0, Type::kB32, !all || whole ? equals[lane] : 0);
    if (step.in.has_second_destination) step.Put(1, Type::kPred, whole);
  });
}

void Reduce(Meeting& meeting) {
  Step& asked = meeting.any();
  const Type type = asked.type();
  asked.Accept({Modifier::kSync});
  const bool add = asked.Has(Modifier::kAdd), min = asked.Has(Modifier::kMin), max = asked.Has(Modifier::kMax);
  const bool conjunction = asked.Has(Modifier::kAnd), disjunction = asked.Has(Modifier::kOr);
  asked.Accept({Modifier::kXor});
  const bool absolute = asked.Has(Modifier::kAbs), keep_nan = asked.Has(Modifier::kPropagateNan);
  bool first = true;
  uint64_t result = 0;
  meeting.ForEach([&](uint32_t, Step& step) {
    uint64_t value = step.Get(1, type);
    if (absolute) value &= 0x7fffffff;
    if (first)
      result = value;
    else if (type == Type::kF32)
      result = ChooseFloat(kF32, result, value, max, keep_nan);
    else if (add)
      result += value;
    else if (min || max)
      result = (ToNumber(value, type) > ToNumber(result, type)) == max ? value : result;
    else
      result = conjunction ? result & value : disjunction ? result | value : result ^ value;
    result = LowBits(result, 32);
    first = false;
  });
  if (type == Type::kF32 && IsNan(kF32, result)) result = kF32.canonical_nan;
  meeting.ForEach([&](uint32_t, Step& step) { step.Put(0, type, result); });
}

// One of the members, the same for all of them; which one is not promised. This takes the lowest.
void Elect(Meeting& meeting) {
  meeting.any().Accept({Modifier::kSync});
  const uint32_t leader = meeting.any().thread.lane();
  meeting.ForEach([&](uint32_t lane, Step& step) {
    step.Put(0, Type::kB32, leader);
    if (step.in.has_second_destination) step.Put(1, Type::kPred, lane == leader);
  });
}

}  // namespace tutti::interpreter
