#include "native.h"

#include <cmath>
#include <cstring>

namespace bench::native {

void Saxpy(float a, const float* x, float* __restrict y, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) y[i] = std::fma(a, x[i], y[i]);
}

void Reduction(const float* values, float* sums, uint32_t begin_block, uint32_t end_block) {
  for (uint32_t block = begin_block; block < end_block; ++block) {
    float tile[256];
    std::memcpy(tile, values + block * 256, sizeof tile);
    for (uint32_t half = 128; half > 0; half /= 2) {
      for (uint32_t i = 0; i < half; ++i) tile[i] += tile[i + half];
    }
    sums[block] = tile[0];
  }
}

void Sgemm(const float* a, const float* b, float* __restrict c, uint32_t size, uint32_t begin_row, uint32_t end_row) {
  for (uint32_t row = begin_row; row < end_row; ++row) {
    float* out = c + row * size;
    std::memset(out, 0, size * sizeof(float));
    for (uint32_t k = 0; k < size; ++k) {
      const float factor = a[row * size + k];
      for (uint32_t column = 0; column < size; ++column)
        out[column] = std::fma(factor, b[k * size + column], out[column]);
    }
  }
}

void Mandelbrot(uint32_t* counts, uint32_t width, uint32_t begin_row, uint32_t end_row) {
  for (uint32_t py = begin_row; py < end_row; ++py) {
    for (uint32_t px = 0; px < width; ++px) {
      const float c_re = std::fma(static_cast<float>(px), 3.0f / 1024.0f, -2.25f);
      const float c_im = std::fma(static_cast<float>(py), 2.5f / 1024.0f, -1.25f);
      float re = 0, im = 0;
      uint32_t n = 0;
      while (n < 256) {
        const float square = im * im;
        if (std::fma(re, re, square) > 4.0f) break;
        const float next = std::fma(re, re, -square) + c_re;
        im = std::fma(re + re, im, c_im);
        re = next;
        ++n;
      }
      counts[py * width + px] = n;
    }
  }
}

void NBody(const float* bodies, float* accelerations, uint32_t count, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) {
    float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (uint32_t j = 0; j < count; ++j) {
      const float dx = bodies[4 * j] - bodies[4 * i], dy = bodies[4 * j + 1] - bodies[4 * i + 1],
                  dz = bodies[4 * j + 2] - bodies[4 * i + 2];
      const float distance = std::fma(dx, dx, std::fma(dy, dy, std::fma(dz, dz, 1e-4f)));
      const float inverse = 1.0f / std::sqrt(distance);
      const float pull = bodies[4 * j + 3] * inverse * inverse * inverse;
      ax = std::fma(dx, pull, ax);
      ay = std::fma(dy, pull, ay);
      az = std::fma(dz, pull, az);
    }
    accelerations[4 * i] = ax;
    accelerations[4 * i + 1] = ay;
    accelerations[4 * i + 2] = az;
    accelerations[4 * i + 3] = 0;
  }
}

void Spmv(const uint32_t* starts, const uint32_t* columns, const float* values, const float* x, float* y,
          uint32_t begin, uint32_t end) {
  for (uint32_t row = begin; row < end; ++row) {
    float sum = 0;
    for (uint32_t i = starts[row]; i < starts[row + 1]; ++i) sum = std::fma(values[i], x[columns[i]], sum);
    y[row] = sum;
  }
}

}  // namespace bench::native
