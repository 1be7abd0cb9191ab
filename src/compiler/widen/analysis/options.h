// How a module is to be widened.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::compiler {

struct WidenOptions {
  std::string name;                // of the kernel, for its descriptor
  uint32_t block[3] = {0, 0, 0};   // threads per block; 0,0,0: any shape, at some cost
  bool avx512 = false;             // the target has AVX-512 F, BW, DQ and VL
  // check every address against the memory that the client owns; off for measurements only
  bool check_addresses = true;
  // the bytes between two words of a warp's access may be read, too: the address check checks the whole range
  bool whole_pieces = true;
  // each loop that may run lane after lane does, whatever it costs (lanes/lane_regions.h); for tests
  bool lane_after_lane = false;
  // turns end at barriers where they may (divergence/turn_regions.h); off for tests
  bool turns_end = true;
  // functions get copies for lanes that meet apart, if they are not too large (divergence/separation.cc); off for tests
  bool apart_copies = true;
};

}  // namespace tutti::compiler
