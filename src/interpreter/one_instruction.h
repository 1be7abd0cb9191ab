// Runs a single instruction on the interpreter: for tests of single statements of the PTX ISA, with values worked out
// by hand.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace tutti::interpreter {

// The result of `instruction` on `sources`, all as bits. `registers` says what the operands are, the result first:
// "r:rr" is a 32-bit result of two 32-bit sources. p: predicate, h: 16 bits, r: 32, d: 64; i: a source that is a number
// in the text;
// "p|p" and "r|p": two results, the second from bit 32 of what is returned.
uint64_t Of(const std::string& instruction, const std::string& registers, std::initializer_list<uint64_t> sources);

// What the lanes of a warp store: `body` finds its lane in %lane, computes in %r0 to %r7, %d0, %d1 and %p0 to %p3, and
// leaves the result in %r0. `lanes` threads run.
std::vector<uint32_t> OfLanes(const std::string& body, uint32_t lanes = 32);

}  // namespace tutti::interpreter
