// ldmatrix, stmatrix, movmatrix: 8 by 8 matrices of 16-bit elements. Lane l holds elements 2 * (l % 4) and the next of
// row l / 4; the addresses of the rows of matrix j come from lanes 8 * j and on. ldmatrix also has 8 by 16 matrices of
// 4 or 6 bits without gaps, which become bytes (4 bits in the middle, 6 at the low end), four to a lane.
#include <cstring>

#include "interpreter/families.h"

namespace tutti::interpreter {
namespace {

struct MatrixPosition {
  uint32_t row, column;
};
MatrixPosition PositionOf(uint32_t lane, uint32_t half, bool transposed) {
  const uint32_t row = lane / 4, column = 2 * (lane % 4) + half;
  return transposed ? MatrixPosition{column, row} : MatrixPosition{row, column};
}

// The bytes of a row, asked for by the lane that has its address.
uint8_t* RowOf(Meeting& meeting, uint32_t matrix, uint32_t row, size_t operand) {
  Step* step = meeting.lane(8 * matrix + row);
  if (step == nullptr) return nullptr;
  const Operand& address = step->in.operands[operand];
  return step->Locate(step->SpaceOf(address), step->Address(address), 16, 16, &address);
}

uint32_t CountOf(Step& step) { return step.Has(Modifier::kX4) ? 4 : step.Has(Modifier::kX2) ? 2 : 1; }

}  // namespace

namespace {

void MatrixLoadBytes(Meeting& meeting, uint32_t bits) {
  Step& asked = meeting.any();
  const uint32_t matrices = CountOf(asked);
  for (uint32_t matrix = 0; matrix < matrices; ++matrix) {
    uint8_t elements[8][16];
    for (uint32_t row = 0; row < 8; ++row) {
      const uint8_t* at = RowOf(meeting, matrix, row, 1);
      if (at == nullptr) return;
      for (uint32_t column = 0; column < 16; ++column) {
        uint32_t value = 0;
        for (uint32_t bit = 0; bit < bits; ++bit)
          value |= (at[(column * bits + bit) / 8] >> ((column * bits + bit) % 8) & 1u) << bit;
        elements[row][column] = static_cast<uint8_t>(bits == 4 ? value << 2 : value);
      }
    }
    meeting.ForEach([&](uint32_t lane, Step& step) {
      uint32_t word;
      std::memcpy(&word, &elements[lane / 4][4 * (lane % 4)], sizeof word);
      step.PutWide(step.Elements(step.in.operands[0])[matrix], word);
    });
  }
}

}  // namespace

void MatrixLoad(Meeting& meeting) {
  Step& asked = meeting.any();
  if (asked.type(0) == Type::kB8x16) {
    asked.Accept({Modifier::kSync, Modifier::kAligned, Modifier::kX1});
    if (!asked.Has(Modifier::kM8n16)) return asked.Refuse("this shape");
    return MatrixLoadBytes(meeting, asked.type(1) == Type::kB4x16P64 ? 4 : 6);
  }
  asked.Accept({Modifier::kSync, Modifier::kAligned, Modifier::kM8n8, Modifier::kX1});
  const bool transposed = asked.Has(Modifier::kTrans);
  const uint32_t matrices = CountOf(asked);
  for (uint32_t matrix = 0; matrix < matrices; ++matrix) {
    uint16_t elements[8][8];
    for (uint32_t row = 0; row < 8; ++row) {
      const uint8_t* at = RowOf(meeting, matrix, row, 1);
      if (at == nullptr) return;
      std::memcpy(elements[row], at, 16);
    }
    meeting.ForEach([&](uint32_t lane, Step& step) {
      uint64_t word = 0;
      for (uint32_t half = 0; half < 2; ++half) {
        const MatrixPosition position = PositionOf(lane, half, transposed);
        word |= uint64_t{elements[position.row][position.column]} << (16 * half);
      }
      step.PutWide(step.Elements(step.in.operands[0])[matrix], word);
    });
  }
}

void MatrixStore(Meeting& meeting) {
  Step& asked = meeting.any();
  asked.Accept({Modifier::kSync, Modifier::kAligned, Modifier::kM8n8, Modifier::kX1});
  const bool transposed = asked.Has(Modifier::kTrans);
  const uint32_t matrices = CountOf(asked);
  for (uint32_t matrix = 0; matrix < matrices; ++matrix) {
    uint16_t elements[8][8] = {};
    meeting.ForEach([&](uint32_t lane, Step& step) {
      const auto word = static_cast<uint64_t>(step.Wide(step.Elements(step.in.operands[1])[matrix], Type::kB32));
      for (uint32_t half = 0; half < 2; ++half) {
        const MatrixPosition position = PositionOf(lane, half, transposed);
        elements[position.row][position.column] = static_cast<uint16_t>(word >> (16 * half));
      }
    });
    for (uint32_t row = 0; row < 8; ++row) {
      uint8_t* at = RowOf(meeting, matrix, row, 0);
      if (at == nullptr) return;
      std::memcpy(at, elements[row], 16);
    }
  }
}

void MatrixTranspose(Meeting& meeting) {
  meeting.any().Accept({Modifier::kSync, Modifier::kAligned, Modifier::kM8n8, Modifier::kTrans});
  uint16_t elements[8][8] = {};
  meeting.ForEach([&](uint32_t lane, Step& step) {
    for (uint32_t half = 0; half < 2; ++half)
      elements[lane / 4][2 * (lane % 4) + half] = static_cast<uint16_t>(step.Get(1, Type::kB32) >> (16 * half));
  });
  meeting.ForEach([&](uint32_t lane, Step& step) {
    step.Put(0, Type::kB32,
             uint64_t{elements[2 * (lane % 4)][lane / 4]} | uint64_t{elements[2 * (lane % 4) + 1][lane / 4]} << 16);
  });
}

}  // namespace tutti::interpreter
