// Shared by the compat programs: a check that names what failed, and a verdict at the end.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

inline int failures = 0;

#define CHECK_EQ(left, right)                                                                     \
  do {                                                                                            \
    const auto l = (left);                                                                        \
    const auto r = (right);                                                                       \
    if (!(l == r)) {                                                                              \
      std::fprintf(stderr, "%s:%d: %s == %s does not hold\n", __FILE__, __LINE__, #left, #right); \
      ++failures;                                                                                 \
    }                                                                                             \
  } while (0)

#define CUDA(call)                                                                               \
  do {                                                                                           \
    const cudaError_t e = (call);                                                                \
    if (e != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e)); \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (0)

inline int Verdict() { return failures == 0 ? 0 : 1; }
