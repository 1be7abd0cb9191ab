// The dispatcher of lanes that take turns (widen/divergence/turn_loop.h): picks the lanes that run next.
//
// A lane is ready if every lane that it needs to meet, and that has not ended, is at its place and needs to meet the
// same lanes. All ready lanes of one place run together. Places are served round robin, so each gets its turn; but a
// place that lost lanes in its last turn gets the next one as well: lanes that leave a lock one by one reconverge
// behind it. If no lane is ready, the lanes of the first place run as they are, and are told that they are stuck. So
// are lanes that wait for barriers of the block, if no other is ready: then the warp may wait.
//
// Lanes in lockstep can livelock: each takes the first of two locks, none gets the second, each releases the first. So
// of each 256 turns the last 64 belong to single lanes, eight in a row to each, and within 1024 turns to every lane.
#include "compiler/runtime/vector.h"

using namespace tutti::guest_runtime;

namespace {

constexpr uint32_t kPlaces = 0x7fff;
constexpr uint64_t kStuck = 0x8000;

// The state from one turn to the next, which the caller keeps: the place, how many lanes it had, the number of the turn
// modulo 1024, and the lanes whose turn it is.
struct Turn {
  uint32_t place, count, number, lanes;

  static Turn Unpack(uint64_t bits) {
    return {static_cast<uint32_t>(bits & kPlaces), static_cast<uint32_t>(bits >> 16 & 0x3f),
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
  // The first place from `start` on, cyclically, at which a lane of `among` is.
  uint32_t Nearest(uint32_t start, uint32_t among) const {
    uint32_t distance = kPlaces;
    ForEachLane(among, [&](uint32_t lane) {
      const uint32_t from_start = (place[lane] - start) & kPlaces;
      if (from_start < distance) distance = from_start;
    });
    return (start + distance) & kPlaces;
  }
  // Lanes at the place of `lane` that need to meet the same lanes.
  uint32_t GroupOf(uint32_t lane, uint32_t among) const {
    uint32_t group = 0;
    ForEachLane(among, [&](uint32_t other) {
      group |= static_cast<uint32_t>(place[other] == place[lane] && members[other] == members[lane]) << other;
    });
    return group;
  }
  uint32_t Ready(uint32_t mask, uint32_t alive) const {
    uint32_t ready = 0;
    for (uint32_t rest = mask; rest != 0;) {
      const auto first = static_cast<uint32_t>(__builtin_ctz(rest));
      const uint32_t group = GroupOf(first, rest);
      if ((members[first] & alive & ~group) == 0) ready |= group;
      rest &= ~group;
    }
    return ready;
  }
  // The first of `waiting` that needs a lane which is at another place and needs it in turn, or none.
  uint32_t FirstApart(uint32_t waiting) const {
    for (uint32_t rest = waiting; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
      uint32_t apart = 0;
      ForEachLane(waiting & members[lane], [&](uint32_t other) {
        apart |= static_cast<uint32_t>(place[other] != place[lane]) & members[other] >> lane;
      });
      if ((apart & 1) != 0) return 1u << lane;
    }
    return 0;
  }
};

TUTTI_INLINE uint32_t LaneNumber(uint32_t lanes, uint32_t n) {
  for (; n != 0; --n) lanes &= lanes - 1;
  return lanes & (0u - lanes);
}

}  // namespace

// `mask`: the lanes that take turns; `alive`: those of the warp that have not ended. `before`: what the last call
// returned, 0 at first. `waiting`: the place where lanes wait for barriers. `parts`: lanes that need each other at
// different places run as if none were ready, since they could never meet. The place is in the low 15 bits of the
// result, then whether it is stuck; the lanes are in the high 32.
TUTTI_EXPORT uint64_t tutti_turn(I32 place, I32 members, uint32_t mask, uint32_t alive, uint64_t before,
                                 uint32_t waiting, uint32_t parts) {
  Turn turn = Turn::Unpack(before);
  Lanes lanes;
  __builtin_memcpy(lanes.place, &place, sizeof place);
  __builtin_memcpy(lanes.members, &members, sizeof members);
  turn.number = (turn.number + 1) & 0x3ff;
  const uint32_t ready = lanes.Ready(mask, alive);
  if (turn.is_single()) {
    const uint32_t lane = LaneNumber(mask, turn.single() % static_cast<uint32_t>(__builtin_popcount(mask)));
    const uint32_t where = lanes.place[__builtin_ctz(lane)];
    if ((lanes.members[__builtin_ctz(lane)] & alive & ~lane) == 0 && where != waiting) {
      turn.place = where;
      turn.lanes = lane;
      turn.count = 0;
      return turn.Pack();
    }
  }
  const uint32_t apart = parts != 0 ? lanes.FirstApart(mask & ~ready) : 0;
  if (ready == 0 || apart != 0) {
    turn.place = apart != 0 ? lanes.place[__builtin_ctz(apart)] : lanes.Nearest(0, mask);
    turn.lanes = lanes.At(turn.place, mask);
    turn.count = 0;
    return turn.Pack() | kStuck;
  }
  const uint32_t staying = lanes.At(turn.place, mask);
  const bool left = staying != 0 && static_cast<uint32_t>(__builtin_popcount(staying)) < turn.count;
  turn.place = lanes.Nearest(left ? turn.place : (turn.place + 1) & kPlaces, ready);
  turn.lanes = lanes.At(turn.place, ready);
  turn.count = static_cast<uint32_t>(__builtin_popcount(turn.lanes));
  const bool only_waits = turn.place == waiting && turn.lanes == ready;
  return turn.Pack() | (only_waits ? kStuck : 0);
}
