// The memory that programs may touch, as a client has it: one range between inaccessible pages. What the compiler's
// code reads beyond it, even of threads that are away and without using it, ends the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "os/memory.h"

namespace semantics {

enum class Part : uint8_t { kInputs, kOutput, kScratch, kVariables, kFault };

class Window {
 public:
  static constexpr size_t kParts = 5;
  using Sizes = std::array<size_t, kParts>;  // in bytes, by part

  Window() = default;
  // Zeros. The parts are in their order, but begin with `first`: the first one where the window begins, the last one
  // where it ends. Each lies at a multiple of 64. Ends the process if there is no memory.
  Window(const Sizes& sizes, Part first);

  std::span<uint8_t> operator[](Part part) const { return parts_[static_cast<size_t>(part)]; }
  uint64_t begin() const { return reinterpret_cast<uint64_t>(bytes_.data()); }
  uint64_t bytes() const { return bytes_.size(); }

 private:
  tutti::os::Mapping mapping_;
  std::span<uint8_t> bytes_;
  std::array<std::span<uint8_t>, kParts> parts_;
};

}  // namespace semantics
