// The floor of shares between users: what the system's own scheduler gives to plain processes that do the same.
#pragma once

#include <cstdint>
#include <vector>

namespace bench {

// One process for each percentage, each of as many threads as it has cores' worth, begun ones included. They share
// grids of `blocks` blocks of `block_us` of arithmetic, each of which begins when the one before has ended, and pause
// when they have had that part of all cores' time. Returns, for each, the part of all cores' time that its threads had
// over `seconds`.
std::vector<double> BareSharesOver(double seconds, const std::vector<double>& percentages, uint64_t blocks,
                                   uint64_t block_us);

}  // namespace bench
