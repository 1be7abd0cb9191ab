#include "interpreter/machine.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cuda/result.h"
#include "interpreter/families.h"

namespace tutti::interpreter {
namespace {

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return alignment <= 1 ? value : (value + alignment - 1) / alignment * alignment;
}

constexpr uint64_t kFunctionAddress = uint64_t{1} << 60;  // Step::AddressOf

// Threads that take turns evenly may livelock (two locks, taken in either order). After this many turns of a block some
// threads skip turns, at random.
constexpr uint64_t kPatientTurns = 4096;

// The content of a register that was never written.
constexpr Bits kUnwritten = static_cast<Bits>(0xbadbadbadbadbadbull) << 64 | 0xbadbadbadbadbadbull;

// Shared memory as the block begins: what the module declares, what its functions declare, then the dynamic part, where
// every unsized variable starts.
void PlaceShared(const ptx::Module& module, Block& block, uint32_t dynamic_bytes) {
  uint64_t end = 0;
  const auto place = [&](const auto& variable) {
    end = AlignUp(end, variable.alignment);
    block.shared_offsets[&variable] = end;
    end += variable.bytes();
  };
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space == ptx::StateSpace::kShared && variable.bytes() != 0) place(variable);
  }
  for (const ptx::Function& function : module.functions) {
    for (const ptx::LocalVariable& variable : function.locals) {
      if (variable.space == ptx::StateSpace::kShared) place(variable);
    }
  }
  end = AlignUp(end, 16);
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space == ptx::StateSpace::kShared && variable.bytes() == 0) block.shared_offsets[&variable] = end;
  }
  constexpr uint64_t kUnitBytes = 128;  // PTX ISA, %total_smem_size: sm_80 and later
  block.shared.assign(AlignUp(end + dynamic_bytes, kUnitBytes), 0);
}

}  // namespace

Machine::Machine(const ptx::Module& module) : module_(module) {
  uint64_t end = 0;
  std::map<ptx::SymbolId, uint64_t> offsets;
  for (ptx::SymbolId id = 0; id < module.symbols.size(); ++id) {
    if (module.symbols[id].kind != ptx::Symbol::Kind::kVariable) continue;
    const ptx::Variable& variable = module.variables[module.symbols[id].index];
    if (variable.space == ptx::StateSpace::kShared) continue;
    end = AlignUp(end, std::max<uint64_t>(variable.alignment, 1));
    offsets[id] = end;
    end += variable.bytes();
  }
  segment_.resize(end + 256);
  uint8_t* base = segment_.data() + (256 - reinterpret_cast<uint64_t>(segment_.data()) % 256) % 256;
  for (const auto& [id, offset] : offsets) addresses_[id] = reinterpret_cast<uint64_t>(base + offset);
  for (const auto& [id, offset] : offsets) {
    const ptx::Initializer& init = module.variables[module.symbols[id].index].init;
    std::copy(init.bytes.begin(), init.bytes.end(), base + offset);
    for (const auto& slot : init.addresses) {
      const ptx::Symbol& symbol = module.symbols[slot.symbol];
      const uint64_t address =
          symbol.kind == ptx::Symbol::Kind::kFunction ? kFunctionAddress + symbol.index : addresses_[slot.symbol];
      const uint64_t value = address + static_cast<uint64_t>(slot.addend);
      std::memcpy(base + offset + slot.offset, &value, sizeof value);
    }
  }
  global_.Map(segment_);
}

uint8_t* Machine::Variable(const std::string& name) {
  for (const auto& [id, address] : addresses_) {
    if (module_.symbols[id].name == name) return reinterpret_cast<uint8_t*>(address);
  }
  return nullptr;
}

Outcome Machine::Run(const std::string& kernel, const Launch& launch) {
  outcome_ = {};
  steps_ = 0;
  launch_ = &launch;
  entry_ = nullptr;
  for (const ptx::Function& function : module_.functions) {
    if (function.is_entry && function.name == kernel && function.has_body && function.error.empty()) entry_ = &function;
  }
  if (entry_ == nullptr) {
    outcome_.refused = "there is no kernel \"" + kernel + "\"";
    return outcome_;
  }
  param_offsets_.clear();
  uint64_t end = 0;
  for (const ptx::LocalVariable& param : entry_->prototype.params) {
    end = AlignUp(end, param.alignment);
    param_offsets_.push_back(end);
    end += param.bytes();
  }
  params_ = launch.params;
  params_.resize(std::max<uint64_t>(params_.size(), end));
  for (uint32_t z = 0; z < launch.grid[2]; z += launch.cluster[2]) {
    for (uint32_t y = 0; y < launch.grid[1]; y += launch.cluster[1]) {
      for (uint32_t x = 0; x < launch.grid[0]; x += launch.cluster[0]) {
        RunCluster({x, y, z});
        if (stopped() || outcome_.deadlock) return outcome_;
      }
    }
  }
  return outcome_;
}

void Machine::StartThread(Thread& thread, uint32_t index) {
  const auto& shape = launch_->block;
  thread.index = index;
  thread.tid = {index % shape[0], index / shape[0] % shape[1], index / shape[0] / shape[1]};
  Frame frame;
  frame.function = entry_;
  frame.registers.assign(entry_->registers.size(), kUnwritten);
  thread.frames.push_back(std::move(frame));
  PlaceLocals(thread);
}

void Machine::StartBlock(Block& block) {
  PlaceShared(module_, block, launch_->dynamic_shared_bytes);
  block.threads.resize(launch_->block[0] * launch_->block[1] * launch_->block[2]);
  for (Barrier& barrier : block.barriers) barrier.arrivals.assign(block.warps(), 0);
  for (uint32_t i = 0; i < block.threads.size(); ++i) StartThread(block.threads[i], i);
}

void Machine::RunCluster(const std::array<uint32_t, 3>& first) {
  const auto& shape = launch_->cluster;
  blocks_ = std::vector<Block>(shape[0] * shape[1] * shape[2]);
  random_.seed();
  for (uint32_t rank = 0; rank < blocks_.size(); ++rank) {
    Block& block = blocks_[rank];
    block.rank = rank;
    block.cluster_ctaid = {rank % shape[0], rank / shape[0] % shape[1], rank / shape[0] / shape[1]};
    for (size_t i = 0; i < 3; ++i) block.ctaid[i] = first[i] + block.cluster_ctaid[i];
    StartBlock(block);
  }
  uint64_t turns = 0;
  for (bool left = true; left; ++turns) {
    left = false;
    bool progress = false;
    for (Block& block : blocks_) {
      progress |= RunTurn(block, turns, &left);
      if (stopped()) return;
    }
    progress |= CompleteClusterBarrier();
    if (left && !progress) {
      outcome_.deadlock = true;
      return;
    }
  }
}

// One instruction of each thread of the block that can. False: there was none.
bool Machine::RunTurn(Block& block, uint64_t turns, bool* left) {
  block_ = &block;
  bool progress = false;
  for (Thread& thread : block.threads) {
    if (thread.exited) continue;
    *left = true;
    if (thread.waiting != Waiting::kNo) continue;
    progress = true;
    if (turns > kPatientTurns && random_() % 8 == 0) continue;
    RunThread(thread);
    if (stopped()) return true;
  }
  for (uint32_t warp = 0; warp < block.warps(); ++warp) progress |= HoldMeetings(block, warp);
  progress |= CompleteBarriers(block);
  return progress;
}

void Machine::CheckModifiers(Step& step) {
  if (stopped()) return;
  bool& known = all_known_[&step.in];
  if (known) return;
  const std::string unknown = step.Unknown();
  if (!unknown.empty()) step.Refuse("modifier ." + unknown);
  known = true;
}

// One instruction.
void Machine::RunThread(Thread& thread) {
  Frame& frame = thread.frame();
  if (frame.next >= frame.function->instructions.size()) {  // the end of a body is a return
    ReturnFrom(thread);
    return;
  }
  const ptx::Instruction& instruction = frame.function->instructions[frame.next++];
  Step step(*this, thread, instruction);
  if (++steps_ > launch_->steps) return step.Refuse("the run takes too many steps");
  if (instruction.guard) {
    const bool holds = (static_cast<uint64_t>(frame.registers[instruction.guard->predicate]) & 1) != 0;
    if (holds == instruction.guard->negated) return;
  }
  const Family family = FamilyOf(instruction);
  if (family.together != nullptr) {
    thread.members = MembersOf(step);
    if (thread.members != kWhoeverIsHere && (thread.members >> thread.lane() & 1) == 0)
      return step.Refuse("a lane that is not among the members it names");
    thread.waiting = Waiting::kWarp;
    thread.meeting = &instruction;
    return;
  }
  if (family.alone == nullptr) return step.Refuse("not interpreted");
  family.alone(step);
  CheckModifiers(step);
}

// Lanes meet wherever they are in the program: at the same operation, with the same members, all that have not exited.
bool Machine::HoldMeetings(Block& block, uint32_t warp) {
  const size_t first = warp * kWarpSize, end = std::min<size_t>(first + kWarpSize, block.threads.size());
  bool held = false;
  for (size_t i = first; i < end; ++i) {
    Thread& caller = block.threads[i];
    if (caller.waiting != Waiting::kWarp) continue;
    const ptx::Instruction& operation = *caller.meeting;
    std::vector<Step> steps;
    bool complete = true;
    for (size_t j = first; j < end && complete; ++j) {
      Thread& other = block.threads[j];
      if (caller.members == kWhoeverIsHere) {
        if (other.waiting == Waiting::kWarp && other.meeting == caller.meeting)
          steps.emplace_back(*this, other, *other.meeting);
        continue;
      }
      if ((caller.members >> other.lane() & 1) == 0 || other.exited) continue;
      complete = other.waiting == Waiting::kWarp && other.members == caller.members &&
                 other.meeting->opcode == operation.opcode && other.meeting->modifiers == operation.modifiers &&
                 other.meeting->types == operation.types;
      if (complete) steps.emplace_back(*this, other, *other.meeting);
    }
    if (!complete) continue;
    Meeting meeting(caller.members);
    for (Step& step : steps) {
      step.thread.waiting = Waiting::kNo;
      meeting.Add(step);
    }
    FamilyOf(operation).together(meeting);
    Step& asked = meeting.any();
    CheckModifiers(asked);
    held = true;
    if (stopped()) return true;
  }
  return held;
}

void Machine::PlaceLocals(Thread& thread) {
  Frame& frame = thread.frame();
  frame.stack_before = thread.local.size();
  uint64_t end = thread.local.size();
  for (const ptx::LocalVariable& variable : frame.function->locals) {
    if (variable.space == ptx::StateSpace::kLocal || variable.space == ptx::StateSpace::kParam)
      end = AlignUp(end, variable.alignment);
    frame.locals.push_back(end);
    if (variable.space == ptx::StateSpace::kLocal || variable.space == ptx::StateSpace::kParam) end += variable.bytes();
  }
  frame.stack_begin = end;
  thread.local.resize(end, 0xdb);
}

void Machine::CallFunction(Thread& thread, const ptx::Function& callee, const ptx::Instruction& call) {
  Frame frame;
  frame.function = &callee;
  frame.registers.assign(callee.registers.size(), kUnwritten);
  frame.call = &call;
  thread.frames.push_back(std::move(frame));
  PlaceLocals(thread);
}

void Machine::ReturnFrom(Thread& thread) {
  thread.local.resize(thread.frame().stack_before);
  thread.frames.pop_back();
  if (thread.frames.empty()) thread.exited = true;
}

}  // namespace tutti::interpreter
