// wgmma: a warp computes its 16 of the 64 rows when it comes to the instruction. The accumulator and A in registers are
// laid out as the ISA's figures say (g = lane / 4, t = lane % 4):
//   D: element i is row g + 8 * (i / 2 % 2), column 8 * (i / 4) + 2 * t + i % 2
//   A: register r is row g + 8 * (r % 2), columns from (t + 4 * (r / 2)) * e on, of e elements each
// In shared memory an element's place follows from its matrix descriptor, by the ISA's canonical layouts.
#include <algorithm>

#include "interpreter/families.h"
#include "interpreter/matrix.h"

namespace tutti::interpreter {
namespace {

constexpr uint32_t kRowsOfWarp = 16, kWarps = 4, kPieceBits = 128;

// The bit of shared memory at which an element begins. `outer`: its row of A or column of B.
struct SharedMatrix {
  uint64_t descriptor;
  uint32_t element_bits;
  bool is_transposed;  // neighbours along M or N

  uint64_t Field(uint32_t low) const { return (descriptor >> low & 0x3fff) << 4; }
  uint64_t BitOf(uint64_t outer, uint64_t k) const {
    static constexpr uint64_t kSpans[] = {16, 128, 64, 32};
    const uint64_t mode = descriptor >> 62, span = kSpans[mode], per = kPieceBits / element_bits;
    const uint64_t leading = Field(16), stride = Field(32), pieces = span / 16;
    uint64_t byte = Field(0), bit;
    if (!is_transposed) {
      const uint64_t piece = k / per;
      byte += outer % 8 * span + outer / 8 * stride + piece * (mode == 0 ? leading : 16);
      bit = k % per * element_bits;
    } else {
      const uint64_t piece = outer / per;
      if (mode == 0) {
        byte += piece * stride + k % 8 * 16 + k / 8 * leading;
      } else {
        byte += piece % pieces * 16 + piece / pieces * leading + k % 8 * span + k / 8 * stride;
      }
      bit = outer % per * element_bits;
    }
    if (mode != 0) {
      // In the pattern that begins at the base offset, piece number p of 128-byte row r lies where p ^ r does.
      const uint64_t row = (byte / 128 - (descriptor >> 49 & 7)) % 8;
      byte ^= row % pieces * 16;
    }
    return byte * 8 + bit;
  }
};

double SharedElement(Step& step, const SharedMatrix& matrix, Type type, uint64_t outer, uint64_t k) {
  const uint64_t bit = matrix.BitOf(outer, k), bytes = (matrix.element_bits + 7) / 8;
  const uint8_t* at = step.Locate(StateSpace::kShared, bit / 8, bytes, bytes);
  if (at == nullptr) return 0;
  uint64_t bits = 0;
  for (uint64_t i = 0; i < bytes; ++i) bits |= uint64_t{at[i]} << (8 * i);
  return ElementValue(type, LowBits(bits >> (bit % 8), matrix.element_bits));
}

MmaShape ShapeOf(Step& step) {
#define TUTTI_PTX_WGMMA_SHAPE(n)                             \
  if (step.Has(Modifier::kM64n##n##k8)) return {64, n, 8};   \
  if (step.Has(Modifier::kM64n##n##k16)) return {64, n, 16}; \
  if (step.Has(Modifier::kM64n##n##k32)) return {64, n, 32}; \
  if (step.Has(Modifier::kM64n##n##k256)) return {64, n, 256};
  TUTTI_PTX_WGMMA_SHAPE(8)
  TUTTI_PTX_WGMMA_SHAPE(16)
  TUTTI_PTX_WGMMA_SHAPE(24)
  TUTTI_PTX_WGMMA_SHAPE(32)
  TUTTI_PTX_WGMMA_SHAPE(40)
  TUTTI_PTX_WGMMA_SHAPE(48)
  TUTTI_PTX_WGMMA_SHAPE(56)
  TUTTI_PTX_WGMMA_SHAPE(64)
  TUTTI_PTX_WGMMA_SHAPE(72)
  TUTTI_PTX_WGMMA_SHAPE(80)
  TUTTI_PTX_WGMMA_SHAPE(88)
  TUTTI_PTX_WGMMA_SHAPE(96)
  TUTTI_PTX_WGMMA_SHAPE(104)
  TUTTI_PTX_WGMMA_SHAPE(112)
  TUTTI_PTX_WGMMA_SHAPE(120)
  TUTTI_PTX_WGMMA_SHAPE(128)
  TUTTI_PTX_WGMMA_SHAPE(136)
  TUTTI_PTX_WGMMA_SHAPE(144)
  TUTTI_PTX_WGMMA_SHAPE(152)
  TUTTI_PTX_WGMMA_SHAPE(160)
  TUTTI_PTX_WGMMA_SHAPE(168)
  TUTTI_PTX_WGMMA_SHAPE(176)
  TUTTI_PTX_WGMMA_SHAPE(184)
  TUTTI_PTX_WGMMA_SHAPE(192)
  TUTTI_PTX_WGMMA_SHAPE(200)
  TUTTI_PTX_WGMMA_SHAPE(208)
  TUTTI_PTX_WGMMA_SHAPE(216)
  TUTTI_PTX_WGMMA_SHAPE(224)
  TUTTI_PTX_WGMMA_SHAPE(232)
  TUTTI_PTX_WGMMA_SHAPE(240)
  TUTTI_PTX_WGMMA_SHAPE(248)
  TUTTI_PTX_WGMMA_SHAPE(256)
#undef TUTTI_PTX_WGMMA_SHAPE
  return {};
}

// Calls f(row, column, element of the register's 32 bits) for all that the lane holds of the accumulator.
template <typename F>
void ForEachSum(Step& step, Type type, F f) {
  const uint32_t lane = step.thread.lane(), per = type == Type::kF16 ? 2 : 1;
  const auto registers = step.Elements(step.in.operands[0]);
  for (uint32_t i = 0; i < registers.size() * per; ++i)
    f(lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2, registers[i / per], 16 * (i % per));
}

}  // namespace

void WarpGroupMultiply(Meeting& meeting) {
  Step& asked = meeting.any();
  asked.Accept({Modifier::kMmaAsync, Modifier::kSync, Modifier::kAligned, Modifier::kAnd, Modifier::kPopc});
  if (asked.Has(Modifier::kSp)) return asked.Refuse("sparse matrices");
  const MmaShape shape = ShapeOf(asked);
  const Type sum = asked.type(0), left = asked.type(1), right = asked.type(2);
  const bool saturate = asked.Has(Modifier::kSatfinite);
  const bool in_registers = asked.in.operands[1].kind == OperandKind::kVector;
  const bool has_signs = ptx::BitsOf(left) >= 16 || FormatOf(left) != nullptr || left == Type::kTF32;
  const bool transposes = left == Type::kF16 || left == Type::kBF16;
  const auto immediate = [&](size_t n) { return static_cast<int32_t>(asked.Get(n, Type::kS32)); };
  const double sign = has_signs ? immediate(4) * immediate(5) : 1;
  const bool left_transposed = transposes && !in_registers && immediate(6) == 1;
  const bool right_transposed = transposes && immediate(in_registers ? 6 : 7) == 1;

  const uint32_t first_row = asked.thread.warp() % kWarps * kRowsOfWarp, bits = ElementBits(left);
  Matrix a(kRowsOfWarp, shape.k), b(shape.k, shape.n), c(kRowsOfWarp, shape.n);
  const SharedMatrix columns{asked.Get(2, Type::kB64), bits, right_transposed};
  for (uint32_t k = 0; k < shape.k; ++k) {
    for (uint32_t column = 0; column < shape.n; ++column)
      b.at(k, column) = SharedElement(asked, columns, right, column, k);
    for (uint32_t row = 0; row < kRowsOfWarp && !in_registers; ++row) {
      const SharedMatrix rows{asked.Get(1, Type::kB64), bits, left_transposed};
      a.at(row, k) = sign * SharedElement(asked, rows, left, first_row + row, k);
    }
  }
  if (asked.stopped()) return;
  meeting.ForEach([&](uint32_t lane, Step& step) {
    if (in_registers) {
      const uint32_t per = 32 / bits;
      const auto registers = step.Elements(step.in.operands[1]);
      for (uint32_t r = 0; r < registers.size(); ++r) {
        const auto word = static_cast<uint64_t>(step.Wide(registers[r], Type::kB32));
        for (uint32_t j = 0; j < per; ++j)
          a.at(lane / 4 + 8 * (r % 2), (lane % 4 + 4 * (r / 2)) * per + j) =
              sign * ElementValue(left, LowBits(word >> (bits * j), bits));
      }
    }
    if (!asked.Predicate(3)) return;
    ForEachSum(step, sum, [&](uint32_t row, uint32_t column, const Operand& source, uint32_t low) {
      const auto word = static_cast<uint64_t>(step.Wide(source, Type::kB32));
      c.at(row, column) = ElementValue(sum, LowBits(word >> low, ElementBits(sum)));
    });
  });
  Matrix d = MultiplyAccumulate(a, b, c, Product::kMultiply);
  meeting.ForEach([&](uint32_t, Step& step) {
    uint64_t word = 0;
    ForEachSum(step, sum, [&](uint32_t row, uint32_t column, const Operand& target, uint32_t low) {
      word = (low == 0 ? 0 : word) | ElementBitsOf(sum, d.at(row, column), saturate) << low;
      step.PutWide(target, word);
    });
  });
}

// wgmma.fence and commit_group order what has already happened; wait_group holds a warp until all of its group have
// come.
void WarpGroupWait(Step& step) {
  step.Accept({Modifier::kSync, Modifier::kAligned, Modifier::kFence, Modifier::kCommitGroup});
  if (!step.Has(Modifier::kWaitGroup)) return;
  Thread& thread = step.thread;
  const uint32_t group = thread.warp() / kWarps;
  const auto warps = static_cast<uint32_t>(step.block.barriers[0].arrivals.size());
  Barrier& barrier = step.block.barriers[kFirstWarpGroupBarrier + group];
  barrier.expected = std::min(warps - group * kWarps, kWarps) * kWarpSize;
  ++barrier.arrivals[thread.warp()];
  thread.waiting = Waiting::kBarrier;
  thread.barrier = kFirstWarpGroupBarrier + group;
  thread.barrier_instruction = &step.in;
}

}  // namespace tutti::interpreter
