// Who goes on in a warp whose lanes take turns (widen/turns.h).
//
// All lanes of one place go on together. A place is ready if every lane that its lanes want to meet, and that has not
// ended, is there. Places are asked in a circle, so that each gets its turn; but one that lost lanes by its last turn
// gets the next as well: lanes that leave a lock one by one are together again behind it. If none is ready, the next
// runs as it is.
//
// Lanes in step can get into each other's way for ever: each takes the first of two locks, none gets the second, each
// gives back the first. So of each 256 turns the last 64 belong to single lanes, eight in a row to each, and within
// 1024 turns to every lane.
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

// What one turn leaves to the next, as the caller keeps it: the place, how many lanes it had, the number of the turn
// modulo 1024, and the lanes whose turn it is.
struct Turn {
  uint32_t place, count, number, lanes;

  static Turn Unpack(uint64_t bits) {
    return {static_cast<uint32_t>(bits & 0xffff), static_cast<uint32_t>(bits >> 16 & 0x3f),
            static_cast<uint32_t>(bits >> 22 & 0x3ff), 0};
  }
  uint64_t Pack() const { return place | count << 16 | number << 22 | static_cast<uint64_t>(lanes) << 32; }

  bool is_single() const { return (number & 0xc0) == 0xc0; }
  uint32_t single() const { return (number >> 8) * 8 + (number >> 3 & 7); }
};

struct Lanes {
  uint32_t place[TUTTI_LANES], members[TUTTI_LANES];

  uint32_t At(uint32_t where, uint32_t among) const {
    uint32_t here = 0;
    ForEachLane(among, [&](uint32_t lane) { here |= static_cast<uint32_t>(place[lane] == where) << lane; });
    return here;
  }
  // The first place from `start` on, round the circle, where one of `among` is.
  uint32_t Nearest(uint32_t start, uint32_t among) const {
    uint32_t distance = 0xffff;
    ForEachLane(among, [&](uint32_t lane) {
      const uint32_t from_start = (place[lane] - start) & 0xffff;
      if (from_start < distance) distance = from_start;
    });
    return (start + distance) & 0xffff;
  }
  uint32_t Wanted(uint32_t here) const {
    uint32_t wanted = 0;
    ForEachLane(here, [&](uint32_t lane) { wanted |= members[lane]; });
    return wanted;
  }
};

TUTTI_INLINE uint32_t LaneNumber(uint32_t lanes, uint32_t n) {
  for (; n != 0; --n) lanes &= lanes - 1;
  return lanes & (0u - lanes);
}

}  // namespace

// `mask`: the lanes that have not ended. `before`: what the last call returned, 0 at first. The place is in the low 16
// bits of the result, the lanes are in the high 32.
TUTTI_EXPORT uint64_t tutti_turn(I32 place, I32 members, uint32_t mask, uint64_t before) {
  Turn turn = Turn::Unpack(before);
  Lanes lanes;
  __builtin_memcpy(lanes.place, &place, sizeof place);
  __builtin_memcpy(lanes.members, &members, sizeof members);
  turn.number = (turn.number + 1) & 0x3ff;
  if (turn.is_single()) {
    const uint32_t lane = LaneNumber(mask, turn.single() % static_cast<uint32_t>(__builtin_popcount(mask)));
    if ((lanes.Wanted(lane) & mask & ~lane) == 0) {
      turn.place = lanes.place[__builtin_ctz(lane)];
      turn.lanes = lane;
      turn.count = 0;
      return turn.Pack();
    }
  }
  const uint32_t staying = lanes.At(turn.place, mask);
  const bool left = staying != 0 && static_cast<uint32_t>(__builtin_popcount(staying)) < turn.count;
  const uint32_t start = left ? turn.place : (turn.place + 1) & 0xffff;

  uint32_t first = 0;
  turn.lanes = 0;
  for (uint32_t rest = mask; rest != 0 && turn.lanes == 0;) {
    turn.place = lanes.Nearest(start, rest);
    const uint32_t here = lanes.At(turn.place, rest);
    if ((lanes.Wanted(here) & mask & ~here) == 0) turn.lanes = here;
    if (first == 0) first = here;
    rest &= ~here;
  }
  if (turn.lanes == 0) {
    turn.lanes = first;
    turn.place = lanes.Nearest(start, mask);
  }
  turn.count = static_cast<uint32_t>(__builtin_popcount(turn.lanes));
  return turn.Pack();
}
