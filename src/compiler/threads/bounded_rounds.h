// How often a loop goes round at most, whatever the data are.
#pragma once

#include <cstdint>

namespace llvm {
class Loop;
class ScalarEvolution;
}  // namespace llvm

namespace tutti::compiler {

// 0: nothing bounds it.
uint64_t MostRounds(const llvm::Loop& loop, llvm::ScalarEvolution& evolution);

}  // namespace tutti::compiler
