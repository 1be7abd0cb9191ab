// Elements of matrices in registers.
#pragma once

#include <cstdint>
#include <vector>

#include "interpreter/float_format.h"

namespace tutti::interpreter {

struct Matrix {
  uint32_t rows = 0, columns = 0;
  std::vector<double> values;  // row by row; integers up to 53 bits

  Matrix(uint32_t rows, uint32_t columns) : rows(rows), columns(columns), values(size_t{rows} * columns) {}
  double& at(uint32_t row, uint32_t column) { return values[size_t{row} * columns + column]; }
};

// Bits of an element as it lies in registers and memory (tf32: in 32).
uint32_t ElementBits(Type type);
double ElementValue(Type type, uint64_t bits);
uint64_t ElementBitsOf(Type type, double value, bool saturate);
// d = a * b + c with every sum in double. For .b1: bits of a and b combined, counted.
enum class Product : uint8_t { kMultiply, kXorPopc, kAndPopc };
Matrix MultiplyAccumulate(Matrix& a, Matrix& b, Matrix& c, Product product);

struct MmaShape {
  uint32_t m, n, k;
};
// Of the modifier that names it; m 0: none does.
MmaShape MmaShapeOf(Step& step);

}  // namespace tutti::interpreter
