// The variables of machine code, which a driver finds by their names only: the objects of the cubins' tables of symbols
// (reference: measured on what ptxas 13 makes; bit 4 of st_other marks managed memory).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::image {

struct CubinVariable {
  std::string name;
  bool is_managed = false;
};

// Of a cubin, or of all of those in fat binaries, each name once. What is damaged, or unpacked larger than `limit`, has
// none.
std::vector<CubinVariable> CubinVariables(std::span<const uint8_t> bytes, uint64_t limit);

}  // namespace tutti::image
