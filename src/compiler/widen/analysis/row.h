// Accesses of a block that together reach rows: o[3 t], o[3 t + 1] and o[3 t + 2] reach all that lies from the first
// lane's to the last. One by one they are strided, a gather or scatter each; together they are vectors of memory, and
// shuffles. Fields of structs in an array are such rows, and what a thread has of an array by blocks.
//
// A row of loads is loaded by the first of them, one of stores is stored by the last. So nothing lies between them that
// might notice: the order in which a thread reaches memory that may overlap is kept.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>

#include <deque>
#include <vector>

namespace tutti::compiler {

class ShapeAnalysis;

struct Row {
  struct Member {
    const llvm::Instruction* access;
    unsigned element;  // of the row
  };
  llvm::SmallVector<Member, 4> members;  // as they stand in the program
  const llvm::Value* low = nullptr;  // the pointer of element 0
  unsigned elements = 0;  // all of the members' size; of loads there may be some that nobody asks for

  // The member at which all are made.
  const llvm::Instruction* lead() const {
    return llvm::isa<llvm::LoadInst>(members.front().access) ? members.front().access : members.back().access;
  }
};

class Rows {
 public:
  Rows(const llvm::Function& scalar, const llvm::DataLayout& layout, const ShapeAnalysis& shapes);

  // Of a load or a store, else null.
  const Row* Of(const llvm::Instruction& access) const { return rows_.lookup(&access); }

 private:
  struct Open;
  void Add(const llvm::Instruction& access, std::vector<Open>& open);
  void Close(Open& open);

  const llvm::DataLayout& layout_;
  const ShapeAnalysis& shapes_;
  std::deque<Row> all_;
  llvm::DenseMap<const llvm::Instruction*, const Row*> rows_;
};

}  // namespace tutti::compiler
