// The six kernels as a C++ programmer would write them for the CPU, compiled with -O3 -march=native: the floor. Each
// works on [begin, end) of its outer index, so that threads can share it.
#pragma once

#include <cstdint>

namespace bench::native {

void Saxpy(float a, const float* x, float* y, uint32_t begin, uint32_t end);
void Reduction(const float* values, float* sums, uint32_t begin_block, uint32_t end_block);
void Sgemm(const float* a, const float* b, float* c, uint32_t size, uint32_t begin_row, uint32_t end_row);
void Mandelbrot(uint32_t* counts, uint32_t width, uint32_t begin_row, uint32_t end_row);
void NBody(const float* bodies, float* accelerations, uint32_t count, uint32_t begin, uint32_t end);
void Spmv(const uint32_t* starts, const uint32_t* columns, const float* values, const float* x, float* y,
          uint32_t begin, uint32_t end);

}  // namespace bench::native
