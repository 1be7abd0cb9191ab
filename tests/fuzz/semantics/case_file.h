// A program as a file of tests/run.
#pragma once

#include <string>
#include <vector>

#include "program.h"

namespace semantics {

inline constexpr uint8_t kBefore = 0x5a;  // every byte of the output, before

// `inputs` and `output` are of one block of `threads` threads.
void WriteCase(const std::string& path, const Program& program, std::vector<uint8_t> inputs,
               std::vector<uint8_t> output, uint32_t threads);

}  // namespace semantics
