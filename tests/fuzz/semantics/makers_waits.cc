// Threads that wait for each other in loops, also for those of their own warp, and a barrier behind. All threads of the
// block get here together, and as many come to the barrier. Some go around the loop: what they owe the others they do
// before their way parts from theirs, or on it. What the threads find does not depend on their order.
#include "makers.h"
#include "text.h"

namespace semantics {

Statement Maker::Waits(uint32_t depth) {
  using Method = Statement (Maker::*)();
  static constexpr Method kAll[] = {&Maker::WaitInARow, &Maker::WaitInARow, &Maker::LookBack, &Maker::WaitForALock,
                                    &Maker::WaitInRounds};
  Statement statement = (this->*random_.From(kAll))();
  // Lanes that waited are apart here, and together behind the barrier.
  if (depth < 2 && random_.OneIn(2)) statement.children.push_back(Make(false, depth + 1));
  if (depth < 2 && random_.OneIn(2)) statement.others.push_back(Make(true, depth + 1));
  return statement;
}

namespace {

// Each thread's own word of shared memory is zero, `goes` is of those that go around, the thread $3 among them.
constexpr const char* kBegin =
    "{\n.reg .b32 base, own, seen, value, next, word, members; .reg .pred goes, again;\nbar.sync 0;\nmov.u32 base, "
    "shared_bytes;\nshl.b32 own, %t0, 2;\nadd.u32 own, own, base;\nst.shared.b32 [own], 0;\nst.shared.b32 [base+1024], "
    "0;\nst.shared.b32 [base+1028], 0;\nmov.b32 value, $0;\nmov.b32 seen, 0;\nbar.sync 0;\nsetp.lt.s32 goes, $1, "
    "$2;\nmov.u32 next, $3;\nsetp.eq.or.u32 goes, %t0, next, goes;\nnot.pred again, goes;\nvote.sync.ballot.b32 "
    "members, again, -1;\n";
constexpr const char *kFirst = "0", *kLast = "%ntid.x;\nsub.u32 next, next, 1";

// Operations of those that waited, who are not all of their warp.
constexpr const char* kAmongWaiting[] = {"", "", "bar.warp.sync members;\n",
                                         "redux.sync.xor.b32 value, value, members;\n",
                                         "match.any.sync.b32 value, value, members;\n"};
// Operations of the warp, in front of the barrier.
constexpr const char* kTogether[] = {"", "", "", "shfl.sync.bfly.b32 value, value, 5, 31, -1;\n",
                                     "redux.sync.add.u32 value, value, -1;\n"};
constexpr const char* kBarriers[] = {
    "bar.sync 0;\n", "bar.sync 0;\n", "barrier.sync 9;\n", "barrier.sync 9, 64;\n",
    "setp.gt.s32 again, value, 0;\nbarrier.red.popc.u32 seen, 0, again;\nadd.u32 value, value, seen;\n"};

// `text` of those who go around, in front of the branch or behind it, and what the others do.
std::string GoAround(bool before, const std::string& text, const std::string& end, const std::string& others) {
  if (!before) return "@!goes bra " + end + "w;\n" + text + "bra " + end + ";\n" + end + "w:\n" + others;
  std::string guarded;
  for (size_t from = 0, to = 0; (to = text.find('\n', from)) != std::string::npos; from = to + 1)
    guarded += "@goes " + text.substr(from, to - from + 1);
  return guarded + "@goes bra " + end + ";\n" + others;
}

}  // namespace

// Behind `waits`: the barrier at `end`, and what all find there.
Statement Maker::Waiting(const char* form, const std::string& waits, const std::string& end, bool from_last) {
  Statement statement{.form = form};
  const std::string at = Out(statement), other = Out(statement);
  statement.text = Fill(kBegin, {X(), X(), X(), from_last ? kLast : kFirst}) + waits;
  statement.between = end + ":\n" + random_.From(kTogether) + random_.From(kBarriers);
  statement.end = Fill(
      "xor.b32 next, %t0, $0;\nshl.b32 next, next, 2;\nadd.u32 next, next, base;\nld.shared.b32 seen, "
      "[next];\nst.global.b32 $1, seen;\nld.shared.b32 seen, [base+1028];\nadd.u32 value, value, seen;\nst.global.b32 "
      "$2, value;\nbar.sync 0;\n}\n",
      {std::to_string(random_.Below(64)), at, other});
  return statement;
}

// Each thread waits for the one before, or for the one behind.
Statement Maker::WaitInARow() {
  const bool from_last = random_.OneIn(2);
  const std::string again = Label(), end = Label();
  return Waiting(
      "wait in a row",
      GoAround(random_.OneIn(2), "or.b32 value, value, 1;\nst.volatile.shared.b32 [own], value;\n", end,
               Fill("$0:\nld.volatile.shared.b32 seen, [own+$1];\nsetp.eq.u32 again, seen, 0;\n@again bra "
                    "$0;\nmad.lo.u32 value, seen, 3, value;\nor.b32 value, value, 1;\nst.volatile.shared.b32 [own], "
                    "value;\n",
                    {again, from_last ? "4" : "-4"}) +
                   random_.From(kAmongWaiting)),
      end, from_last);
}

// Each thread adds up what those before it have, back to one that has the sum of all before it: odd words are sums, of
// 30 bits.
Statement Maker::LookBack() {
  const std::string again = Label(), back = Label(), end = Label();
  return Waiting(
      "look back",
      GoAround(
          random_.OneIn(2), "shl.b32 next, value, 2;\nor.b32 next, next, 1;\nst.volatile.shared.b32 [own], next;\n",
          end,
          Fill("shl.b32 next, value, 2;\nor.b32 next, next, 2;\nst.volatile.shared.b32 [own], next;\nmov.b32 next, "
               "own;\n$0:\nsub.u32 next, next, 4;\n$1:\nld.volatile.shared.b32 seen, [next];\nsetp.eq.u32 again, "
               "seen, 0;\n@again bra $1;\nshr.u32 word, seen, 2;\nadd.u32 value, value, word;\nand.b32 seen, seen, "
               "1;\nsetp.eq.u32 again, seen, 0;\n@again bra $0;\n",
               {back, again}) +
              "and.b32 value, value, 0x3fffffff;\nshl.b32 next, value, 2;\nor.b32 next, next, "
              "1;\nst.volatile.shared.b32 [own], next;\n" +
              random_.From(kAmongWaiting)),
      end);
}

// A sum under a lock.
Statement Maker::WaitForALock() {
  const std::string again = Label(), end = Label();
  return Waiting(
      "wait for a lock",
      GoAround(random_.OneIn(2), "st.volatile.shared.b32 [own], value;\n", end,
               Fill("$0:\natom.shared.cas.b32 seen, [base+1024], 0, 1;\nsetp.ne.u32 again, seen, 0;\n@again bra "
                    "$0;\nld.volatile.shared.b32 seen, [base+1028];\nadd.u32 seen, seen, "
                    "value;\nst.volatile.shared.b32 [base+1028], seen;\nmembar.cta;\natom.shared.exch.b32 seen, "
                    "[base+1024], 0;\n",
                    {again}) +
                   random_.From(kAmongWaiting)),
      end);
}

// Rounds in each of which a thread may wait for the one before, and some of which have a barrier.
Statement Maker::WaitInRounds() {
  const std::string again = Label(), round = Label(), there = Label(), skip = Label(), end = Label();
  return Waiting("wait in rounds",
                 Fill("mov.b32 next, 0;\n$0:\nadd.u32 next, next, 1;\n@goes bra $1;\n$2:\nld.volatile.shared.b32 seen, "
                      "[own+-4];\nsetp.lt.u32 again, seen, next;\n@again bra $2;\n$1:\nmad.lo.u32 value, value, 3, "
                      "next;\nst.volatile.shared.b32 [own], next;\nand.b32 seen, next, $3;\nsetp.eq.u32 again, seen, "
                      "0;\n@again bra $4;\n",
                      {round, there, again, std::to_string(1 + random_.Below(2)), skip}) +
                     random_.From(kBarriers) +
                     Fill("$0:\nsetp.lt.u32 again, next, $1;\n@again bra $2;\n",
                          {skip, std::to_string(2 + random_.Below(4)), round}),
                 end);
}

}  // namespace semantics
