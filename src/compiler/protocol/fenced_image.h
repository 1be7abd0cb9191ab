// What a compiler makes of an image for a GPU whose context several clients share: PTX that checks its own addresses
// (compiler/fence), and what it is.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace tutti::compiler {

struct FencedImage {
  std::string ptx;
  std::vector<std::string> functions;  // names, by guest::FenceFault::function
  std::map<std::string, std::string> refused;  // of functions that may not run, and why
};

std::vector<uint8_t> Serialize(const FencedImage& image);
// Of a stranger's bytes.
Result<FencedImage> ParseFencedImage(std::span<const uint8_t> bytes);

}  // namespace tutti::compiler
