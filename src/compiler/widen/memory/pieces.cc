#include "compiler/widen/memory/pieces.h"

#include <llvm/IR/Constants.h>

#include "compiler/widen/emit/function_emitter.h"
#include "compiler/widen/memory/rare_access.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

class PieceAccess {
 public:
  PieceAccess(FunctionEmitter& emitter, const Pieces& pieces)
      : emitter_(emitter), builder_(emitter.builder()), pieces_(pieces) {}

  llvm::SmallVector<Value*, 4> Load() {
    if (pieces_.lanes == 1) return LoadLanes();
    // By component, by piece.
    llvm::SmallVector<llvm::SmallVector<Value*, 4>, 4> parts(pieces_.components);
    for (unsigned p = 0; p < pieces_.count(); ++p) {
      const auto memory = LoadPiece(p);
      for (unsigned c = 0; c < pieces_.components; ++c) {
        parts[c].push_back(pieces_.components == 1 ? memory[0] : Pick(builder_, memory, pieces_.lanes, [&](unsigned i) {
          return i * pieces_.components + c;
        }));
      }
    }
    llvm::SmallVector<Value*, 4> components;
    for (auto& by_piece : parts) components.push_back(Concatenated(builder_, by_piece));
    return components;
  }

  void Store(llvm::ArrayRef<Value*> components) {
    if (pieces_.lanes == 1) return StoreLanes(components);
    const auto store = [&](llvm::function_ref<void(Value*, unsigned, unsigned)> make) -> Value* {
      for (unsigned p = 0; p < pieces_.count(); ++p) StorePiece(components, p, make);
      return nullptr;
    };
    const auto store_all = [&](Value* memory, unsigned p, unsigned v) {
      builder_.CreateAlignedStore(memory, Pointer(p, v), llvm::Align(1));
    };
    if (pieces_.is_by_all) {
      store(store_all);
    } else if (emitter_.module().options.avx512) {
      store([&](Value* memory, unsigned p, unsigned v) {
        builder_.CreateMaskedStore(memory, Pointer(p, v), llvm::Align(1), Mask(MaskOf(p), v));
      });
    } else {
      emitter_.Choose(
          emitter_.RunsAll(), [&] { return store(store_all); },
          [&] {
            return store([&](Value* memory, unsigned p, unsigned v) {
              EmitPartialStore(emitter_, Address(p, v), memory, Mask(MaskOf(p), v));
            });
          });
    }
  }

 private:
  // Each vector is stored as soon as it is made, by `store`(vector, p, number of the vector).
  void StorePiece(llvm::ArrayRef<Value*> components, unsigned p,
                  llvm::function_ref<void(Value*, unsigned, unsigned)> store) {
    llvm::SmallVector<Value*, 4> own;
    for (Value* component : components) own.push_back(PieceOf(component, p));
    for (unsigned v = 0; v < pieces_.components; ++v) {
      // Element i of vector v in memory: component (v L + i) % n of lane (v L + i) / n.
      Value* memory = pieces_.components == 1 ? own[0] : Pick(builder_, own, pieces_.lanes, [&](unsigned i) {
        const unsigned element = v * pieces_.lanes + i;
        return element % pieces_.components * pieces_.lanes + element / pieces_.components;
      });
      store(memory, p, v);
    }
  }

  // The vectors of a contiguous access, each of `lanes_each` lanes.
  llvm::SmallVector<Value*, 4> LoadLanes() {
    llvm::Type* of_lane = llvm::FixedVectorType::get(pieces_.element, pieces_.components);
    const unsigned lanes_each = kLanes / pieces_.components;
    llvm::SmallVector<Value*, 4> memory, components;
    for (unsigned first = 0; first < kLanes; first += lanes_each) {
      llvm::SmallVector<Value*, 4> parts;
      for (unsigned lane = first; lane < first + lanes_each; ++lane)
        parts.push_back(builder_.CreateAlignedLoad(of_lane, LanePointer(lane), llvm::Align(1)));
      memory.push_back(Concatenated(builder_, parts));
    }
    for (unsigned c = 0; c < pieces_.components; ++c)
      components.push_back(Pick(builder_, memory, kLanes, [&](unsigned i) { return i * pieces_.components + c; }));
    return components;
  }
  void StoreLanes(llvm::ArrayRef<Value*> components) {
    const unsigned lanes_each = kLanes / pieces_.components;
    for (unsigned v = 0; v < pieces_.components; ++v) {
      Value* memory = Pick(builder_, components, kLanes, [&](unsigned i) {
        return i % pieces_.components * kLanes + v * lanes_each + i / pieces_.components;
      });
      for (unsigned i = 0; i < lanes_each; ++i) {
        llvm::SmallVector<int, 4> own;
        for (unsigned c = 0; c < pieces_.components; ++c) own.push_back(static_cast<int>(i * pieces_.components + c));
        builder_.CreateAlignedStore(builder_.CreateShuffleVector(memory, own), LanePointer(v * lanes_each + i),
                                    llvm::Align(1));
      }
    }
  }
  Value* LanePointer(unsigned lane) { return builder_.CreateIntToPtr(pieces_.addresses[lane], builder_.getPtrTy()); }

  llvm::Type* MemoryType() const { return llvm::FixedVectorType::get(pieces_.element, pieces_.lanes); }

  Value* Address(unsigned piece, unsigned vector) {
    return builder_.CreateAdd(pieces_.addresses[piece],
                              builder_.getInt64(vector * pieces_.lanes * pieces_.element_bytes));
  }
  Value* Pointer(unsigned piece, unsigned vector) {
    return builder_.CreateIntToPtr(Address(piece, vector), builder_.getPtrTy());
  }

  Value* PieceOf(Value* vector, unsigned piece) {
    if (pieces_.count() == 1) return vector;
    llvm::SmallVector<int, kLanes> lanes;
    for (unsigned i = 0; i < pieces_.lanes; ++i) lanes.push_back(static_cast<int>(piece * pieces_.lanes + i));
    return builder_.CreateShuffleVector(vector, lanes);
  }
  Value* MaskOf(unsigned piece) { return PieceOf(emitter_.mask(), piece); }

  // Of vector v in memory, from the mask of the piece's lanes.
  Value* Mask(Value* lanes_mask, unsigned v) {
    if (pieces_.components == 1) return lanes_mask;
    llvm::SmallVector<int, kLanes> lanes;
    for (unsigned i = 0; i < pieces_.lanes; ++i)
      lanes.push_back(static_cast<int>((v * pieces_.lanes + i) / pieces_.components));
    return builder_.CreateShuffleVector(lanes_mask, lanes);
  }

  // The vectors of piece p. A piece at the address of an earlier one was loaded with it.
  llvm::SmallVector<Value*, 4> LoadPiece(unsigned p) {
    for (unsigned earlier = 0; earlier < p; ++earlier) {
      if (pieces_.addresses[earlier] == pieces_.addresses[p]) return loaded_[earlier];
    }
    Value* mask = nullptr;
    if (!pieces_.is_by_all && !pieces_.is_readable) {
      mask = MaskOf(p);
      for (unsigned later = p + 1; later < pieces_.count(); ++later) {
        if (pieces_.addresses[later] == pieces_.addresses[p]) mask = builder_.CreateOr(mask, MaskOf(later));
      }
    }
    llvm::SmallVector<Value*, 4> vectors;
    for (unsigned v = 0; v < pieces_.components; ++v) {
      Value* pointer = Pointer(p, v);
      if (mask == nullptr) {
        llvm::LoadInst* load = builder_.CreateAlignedLoad(MemoryType(), pointer, llvm::Align(1));
        if (pieces_.is_for_anyone) MarkForAnyone(*load);
        vectors.push_back(load);
      } else {
        llvm::Value* zero = llvm::Constant::getNullValue(MemoryType());
        vectors.push_back(builder_.CreateMaskedLoad(MemoryType(), pointer, llvm::Align(1), Mask(mask, v), zero));
      }
    }
    loaded_[p] = vectors;
    return vectors;
  }

  FunctionEmitter& emitter_;
  llvm::IRBuilder<>& builder_;
  const Pieces& pieces_;
  llvm::DenseMap<unsigned, llvm::SmallVector<Value*, 4>> loaded_;
};

}  // namespace

void MarkForAnyone(llvm::LoadInst& load) { load.setMetadata("tutti.anyone", llvm::MDNode::get(load.getContext(), {})); }

Value* Pick(llvm::IRBuilder<>& builder, llvm::ArrayRef<Value*> vectors, unsigned count,
            llvm::function_ref<unsigned(unsigned)> index) {
  const unsigned length = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType())->getNumElements();
  // Two at a time, then join.
  Value* result = nullptr;
  for (unsigned v = 0; v < vectors.size(); v += 2) {
    llvm::SmallVector<int, kLanes> pick, blend;
    bool used = false;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned from = index(i);
      const bool here = from / length / 2 == v / 2;
      used |= here;
      pick.push_back(here ? static_cast<int>(from - v * length) : -1);
      blend.push_back(static_cast<int>(here ? count + i : i));
    }
    if (!used) continue;
    Value* second = v + 1 < vectors.size() ? vectors[v + 1] : llvm::PoisonValue::get(vectors[v]->getType());
    Value* part = builder.CreateShuffleVector(vectors[v], second, pick);
    result = result == nullptr ? part : builder.CreateShuffleVector(result, part, blend);
  }
  return result;
}

Value* Concatenated(llvm::IRBuilder<>& builder, llvm::ArrayRef<Value*> vectors) {
  llvm::SmallVector<Value*, 4> parts(vectors);
  while (parts.size() > 1) {
    llvm::SmallVector<Value*, 4> joined;
    for (unsigned i = 0; i < parts.size(); i += 2) {
      const unsigned length = llvm::cast<llvm::FixedVectorType>(parts[i]->getType())->getNumElements();
      llvm::SmallVector<int, kLanes> all;
      for (unsigned k = 0; k < 2 * length; ++k) all.push_back(static_cast<int>(k));
      joined.push_back(builder.CreateShuffleVector(parts[i], parts[i + 1], all));
    }
    parts = std::move(joined);
  }
  return parts[0];
}

unsigned PieceLanes(const Shape& address, unsigned components, uint64_t element_bytes) {
  if (!address.is_runs()) return 0;
  const int64_t step = static_cast<int64_t>(components * element_bytes);
  for (unsigned lanes : {32u, 16u, 8u}) {
    if (lanes > address.run()) continue;
    bool consecutive = true;
    for (unsigned lane = 0; lane < kLanes && consecutive; ++lane) {
      const unsigned first = lane / lanes * lanes;
      consecutive =
          Difference(address.offset(lane), address.offset(first)) == step * static_cast<int64_t>(lane - first);
    }
    if (consecutive) return lanes;
  }
  return 0;
}

bool LanesCanBePieces(const Shape& address, unsigned components, uint64_t element_bytes) {
  const uint64_t bytes = components * element_bytes;
  return address.is_runs() && !address.is_uniform() && components > 1 && (bytes == 8 || bytes == 16);
}

Value* Interleave(llvm::IRBuilder<>& builder, llvm::ArrayRef<Value*> components) {
  if (components.size() == 1) return components[0];
  const auto count = static_cast<unsigned>(components.size());
  return Pick(builder, components, count * kLanes, [&](unsigned i) { return i % count * kLanes + i / count; });
}

llvm::SmallVector<Value*, 4> Deinterleave(llvm::IRBuilder<>& builder, Value* interleaved, unsigned count) {
  if (count == 1) return {interleaved};
  llvm::SmallVector<Value*, 4> components;
  for (unsigned c = 0; c < count; ++c) {
    llvm::SmallVector<int, kLanes> lanes;
    for (unsigned lane = 0; lane < kLanes; ++lane) lanes.push_back(static_cast<int>(lane * count + c));
    components.push_back(builder.CreateShuffleVector(interleaved, lanes));
  }
  return components;
}

llvm::SmallVector<Value*, 4> LoadPieces(FunctionEmitter& emitter, const Pieces& pieces) {
  return PieceAccess(emitter, pieces).Load();
}

void StorePieces(FunctionEmitter& emitter, const Pieces& pieces, llvm::ArrayRef<Value*> components) {
  PieceAccess(emitter, pieces).Store(components);
}

}  // namespace tutti::compiler
