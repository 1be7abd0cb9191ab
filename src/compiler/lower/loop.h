// Loops over the bytes of a copy.
#pragma once

#include "compiler/lower/emitter.h"

namespace tutti::compiler::lowering {

// body(i) for i = 0, step, 2 step, ... below `end` (i64).
template <typename Body>
void Loop(Emitter& e, llvm::Value* end, uint64_t step, Body body) {
  auto& ir = e.ir;
  llvm::BasicBlock* before = ir.GetInsertBlock();
  llvm::BasicBlock* head = e.NewBlock("copy");
  llvm::BasicBlock* work = e.NewBlock("copy.next");
  llvm::BasicBlock* done = e.NewBlock("copied");
  ir.CreateBr(head);
  ir.SetInsertPoint(head);
  llvm::PHINode* i = ir.CreatePHI(ir.getInt64Ty(), 2);
  i->addIncoming(ir.getInt64(0), before);
  ir.CreateCondBr(ir.CreateICmpULT(i, end), work, done);
  ir.SetInsertPoint(work);
  body(i);
  i->addIncoming(ir.CreateAdd(i, ir.getInt64(step)), ir.GetInsertBlock());
  ir.CreateBr(head);
  ir.SetInsertPoint(done);
}

inline llvm::Value* At(Emitter& e, llvm::Value* pointer, llvm::Value* offset) {
  return e.ir.CreateGEP(e.ir.getInt8Ty(), pointer, offset);
}

}  // namespace tutti::compiler::lowering
