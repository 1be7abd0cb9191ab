// Random kernels for differential tests: a graph of blocks with any edges whatever (irreducible loops too), in which
// each thread computes on its own variables, loads from a table, and at the end stores everything into a row of its
// own.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::compiler {

struct RandomKernelLimits {
  uint32_t blocks = 12;
  uint32_t statements = 5;   // of a block, at most
  uint32_t fuel = 40;        // back edges each thread may take
  uint32_t yields = 0;       // percent of statements that yield: their loops count as waiting for other lanes
};

constexpr uint32_t kRandomTableWords = 1024;
constexpr uint32_t kRandomRowWords = 16;   // of each thread in the output

// Parameters: u64 table of kRandomTableWords u32, u64 output, u32 any number.
std::string RandomKernel(uint64_t seed, const RandomKernelLimits& limits = {});

}  // namespace tutti::compiler
