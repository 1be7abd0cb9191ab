// What a thread is, between two of its instructions, and what a block holds in common.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ptx/ast.h"

namespace tutti::interpreter {

using Bits = unsigned __int128;  // the contents of a register of any type, from bit 0

inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kBarriers = 16;
inline constexpr uint32_t kFirstWarpGroupBarrier = kBarriers + 1;  // of wgmma.wait_group

struct Frame {
  const ptx::Function* function = nullptr;
  uint32_t next = 0;              // index of the instruction to execute
  std::vector<Bits> registers;    // a register that nothing has written holds what nobody should rely on
  std::vector<uint64_t> locals;   // offsets in the thread's local memory of what the function declares
  uint64_t stack_before = 0;      // of local memory in use, when it was called
  uint64_t stack_begin = 0;       // behind what the function declares
  const ptx::Instruction* call = nullptr;  // in the caller; null in the entry
};

enum class Waiting : uint8_t { kNo, kWarp, kBarrier };

struct Thread {
  uint32_t index = 0;  // linear, in its block
  std::array<uint32_t, 3> tid{};
  std::vector<Frame> frames;
  std::vector<uint8_t> local;  // bytes in use: its size
  bool carry = false;          // CC.CF
  bool exited = false;
  Waiting waiting = Waiting::kNo;
  const ptx::Instruction* meeting = nullptr;  // kWarp: the operation it is at, and with whom
  uint32_t members = 0;
  uint32_t barrier = 0;                       // kBarrier
  bool vote = false;
  const ptx::Instruction* barrier_instruction = nullptr;
  uint32_t cluster_phase = 0;                 // in which it arrived at barrier.cluster

  uint32_t lane() const { return index % kWarpSize; }
  uint32_t warp() const { return index / kWarpSize; }
  Frame& frame() { return frames.back(); }
};

struct Barrier {
  uint32_t expected = 0;                // threads; 0: all that have not exited
  std::vector<uint32_t> arrivals;       // of each warp
  uint32_t votes = 0, voters = 0;       // of barrier.red
  uint32_t phase = 0;                   // completed ones
};

struct Block {
  std::array<uint32_t, 3> ctaid{};
  std::array<uint32_t, 3> cluster_ctaid{};
  uint32_t rank = 0;  // in its cluster
  std::vector<uint8_t> shared;
  std::vector<Thread> threads;
  uint32_t warps() const { return static_cast<uint32_t>((threads.size() + kWarpSize - 1) / kWarpSize); }
  std::array<Barrier, kFirstWarpGroupBarrier + 8> barriers;  // number kBarriers: barrier.cluster
  std::map<const void*, uint64_t> shared_offsets;  // of module variables and of what functions declare
};

}  // namespace tutti::interpreter
