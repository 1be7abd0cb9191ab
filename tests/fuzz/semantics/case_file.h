// A program as a file of tests/run.
#pragma once

#include <string>
#include <vector>

#include "program.h"

namespace semantics {

void WriteCase(const std::string& path, const Program& program, const std::vector<uint8_t>& inputs, const std::vector<uint8_t>& output, uint32_t threads);

}  // namespace semantics
