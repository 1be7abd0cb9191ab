#include "compiler/link/sums_in_place.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <vector>

#include "compiler/link/chain_room.h"

namespace tutti::compiler {
namespace {

using llvm::Value;

constexpr llvm::StringLiteral kPrefix = "tutti_mma_";  // of the runtime's products
const llvm::Align kAlignment(64);                      // a cache line, the widest vector
constexpr size_t kMostWork = 4 << 20;                  // products times blocks: some tenths of a second

llvm::AllocaInst* MakePlace(llvm::Function& function, llvm::Type* type) {
  llvm::BasicBlock& entry = function.getEntryBlock();
  return new llvm::AllocaInst(type, 0, nullptr, kAlignment, "sums", entry.begin());
}

// A call whose last arguments are the sums that its results are the next ones of.
struct Product {
  llvm::CallInst* call;
  llvm::SmallVector<llvm::Instruction*, 4> results;  // each an extractvalue; null: of no use
  llvm::SmallVector<Value*, 4> places;               // where sums are that are in place, else null

  unsigned count() const { return results.size(); }
  unsigned first() const { return call->arg_size() - count(); }
  Value* sum(unsigned i) const { return call->getArgOperand(first() + i); }
};

bool IsProduct(const llvm::CallInst& call) {
  const llvm::Function* callee = call.getCalledFunction();
  const auto* type = llvm::dyn_cast<llvm::StructType>(call.getType());
  if (callee == nullptr || callee->isDeclaration() || type == nullptr || !callee->getName().starts_with(kPrefix))
    return false;
  const unsigned count = type->getNumElements();
  if (call.arg_size() <= count) return false;
  for (unsigned i = 0; i < count; ++i) {
    if (call.getArgOperand(call.arg_size() - count + i)->getType() != type->getElementType(i)) return false;
  }
  return llvm::all_of(call.users(), [](const llvm::User* user) {
    const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(user);
    return part != nullptr && part->getNumIndices() == 1;
  });
}

std::vector<Product> FindProducts(llvm::Function& function) {
  std::vector<Product> products;
  for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal(&function)) {
    for (llvm::Instruction& instruction : *block) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr || !IsProduct(*call)) continue;
      Product product{.call = call, .results = {}, .places = {}};
      product.results.resize(llvm::cast<llvm::StructType>(call->getType())->getNumElements());
      product.places.resize(product.results.size());
      for (llvm::User* user : llvm::make_early_inc_range(call->users())) {
        auto* part = llvm::cast<llvm::ExtractValueInst>(user);
        llvm::Instruction*& result = product.results[part->getIndices()[0]];
        if (result == nullptr) {
          result = part;
          part->moveAfter(call);
        } else {
          part->replaceAllUsesWith(result);
          part->eraseFromParent();
        }
      }
      products.push_back(std::move(product));
    }
  }
  return products;
}

// The chains of a function: sums and what becomes of them, by way of phis.
class Chains {
 public:
  explicit Chains(std::vector<Product>& products) {
    for (Product& product : products) {
      for (llvm::Instruction* result : product.results) {
        if (result != nullptr) Add(result);
      }
    }
    for (unsigned i = 0; i < members_.size(); ++i) {  // which grows
      for (llvm::User* user : members_[i]->users()) {
        if (auto* phi = llvm::dyn_cast<llvm::PHINode>(user)) Add(phi);
      }
    }
    for (llvm::Instruction* member : members_) {
      if (!llvm::isa<llvm::PHINode>(member)) continue;
      for (Value* incoming : member->operands()) Join(member, incoming);
    }
    for (Product& product : products) {
      for (unsigned i = 0; i < product.count(); ++i) {
        if (product.results[i] != nullptr) Join(product.results[i], product.sum(i));
      }
    }
  }

  bool IsMember(Value* value) const { return classes_.findValue(value) != classes_.end(); }
  Value* ChainOf(Value* member) const { return classes_.getLeaderValue(member); }
  llvm::ArrayRef<llvm::Instruction*> members() const { return members_; }

 private:
  void Add(llvm::Instruction* member) {
    if (IsMember(member)) return;
    classes_.insert(member);
    members_.push_back(member);
  }
  void Join(llvm::Instruction* member, Value* other) {
    if (IsMember(other)) classes_.unionSets(member, other);
  }

  llvm::EquivalenceClasses<Value*> classes_;
  llvm::SmallVector<llvm::Instruction*, 64> members_;
};

// The function that adds to sums in memory: the runtime's own in the middle of loads and stores.
llvm::Function* InPlace(llvm::Function& product, unsigned count) {
  llvm::Module& module = *product.getParent();
  const std::string name = (product.getName() + ".in_place").str();
  if (llvm::Function* made = module.getFunction(name)) return made;
  llvm::LLVMContext& context = module.getContext();
  llvm::SmallVector<llvm::Type*, 16> types(count, llvm::PointerType::get(context, 0));
  const unsigned factors = product.arg_size() - count;
  for (unsigned i = 0; i < factors; ++i) types.push_back(product.getArg(i)->getType());
  auto* made = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                                      llvm::GlobalValue::InternalLinkage, name, module);
  llvm::AttrBuilder attributes(context, product.getAttributes().getFnAttrs());
  attributes.removeAttribute(llvm::Attribute::Memory);
  made->addFnAttrs(attributes);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", made));
  llvm::SmallVector<Value*, 16> arguments;
  for (unsigned i = 0; i < factors; ++i) arguments.push_back(made->getArg(count + i));
  for (unsigned i = 0; i < count; ++i) {
    made->addParamAttr(i, llvm::Attribute::NoAlias);
    llvm::Type* type = product.getArg(factors + i)->getType();
    arguments.push_back(builder.CreateAlignedLoad(type, made->getArg(i), kAlignment));
  }
  llvm::CallInst* call = builder.CreateCall(&product, arguments);
  call->setCallingConv(product.getCallingConv());
  for (unsigned i = 0; i < count; ++i)
    builder.CreateAlignedStore(builder.CreateExtractValue(call, i), made->getArg(i), kAlignment);
  builder.CreateRetVoid();
  llvm::InlineFunctionInfo inlining;
  llvm::InlineFunction(*call, inlining);
  return made;
}

// The places of a function's chains, and what its products do there.
class Rooms {
 public:
  Rooms(llvm::Function& function, std::vector<Product>& products, const BlockOrder& order)
      : function_(function), products_(products), order_(order), chains_(products) {
    for (Product& product : products_) by_call_[product.call] = &product;
  }

  // Gives each chain that may have one a place.
  void Make() {
    Collect();
    for (auto& [chain, room] : rooms_) {
      if (room.IsRight(order_)) places_[chain] = MakePlace(function_, chain->getType());
    }
    for (Product& product : products_) {
      for (unsigned i = 0; i < product.count(); ++i) {
        if (product.results[i] != nullptr) product.places[i] = places_.lookup(chains_.ChainOf(product.results[i]));
      }
    }
    for (const auto& [chain, place] : places_) Move(rooms_[chain], place);
  }

 private:
  void Collect() {
    for (llvm::Instruction* member : chains_.members()) {
      ChainRoom& room = rooms_[chains_.ChainOf(member)];
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(member)) CollectMeeting(*phi, room);
      llvm::SmallPtrSet<llvm::Instruction*, 4> users;
      for (const llvm::Use& use : member->uses()) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (llvm::isa<llvm::PHINode>(user) || IsSum(use)) continue;
        if (users.insert(user).second) room.Add(RoomEvent::kUse, user, member);
      }
    }
    for (Product& product : products_) {
      for (unsigned i = 0; i < product.count(); ++i) {
        if (product.results[i] == nullptr) continue;
        ChainRoom& room = rooms_[chains_.ChainOf(product.results[i])];
        if (!chains_.IsMember(product.sum(i))) room.Add(RoomEvent::kSet, product.call, product.sum(i));
        room.Add(RoomEvent::kTake, product.call, product.sum(i));
        room.Add(RoomEvent::kGive, product.call, product.results[i]);
      }
    }
  }

  void CollectMeeting(llvm::PHINode& phi, ChainRoom& room) {
    room.Add(RoomEvent::kMeet, &phi, &phi);
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      Value* value = phi.getIncomingValue(i);
      if (llvm::isa<llvm::UndefValue>(value)) continue;
      room.Add(chains_.IsMember(value) ? RoomEvent::kCarry : RoomEvent::kBring,
               phi.getIncomingBlock(i)->getTerminator(), value);
    }
  }

  // As what a product whose next sum somebody wants adds to.
  bool IsSum(const llvm::Use& use) const {
    const Product* product = by_call_.lookup(llvm::dyn_cast<llvm::CallInst>(use.getUser()));
    return product != nullptr && use.getOperandNo() >= product->first() &&
           use.getOperandNo() < product->first() + product->count() &&
           product->results[use.getOperandNo() - product->first()] != nullptr;
  }

  // Loads and stores what the chain's values were for those that are not products.
  void Move(const ChainRoom& room, llvm::AllocaInst* place) {
    const bool is_held = room.IsHeldAcrossServices(order_);  // then the place is of the warp's frame: link/frame_cut.h
    llvm::SmallVector<llvm::PHINode*, 8> phis;
    for (const RoomEvent& event : room.events()) {
      llvm::IRBuilder<> builder(event.at);
      if (event.kind == RoomEvent::kMeet) phis.push_back(llvm::cast<llvm::PHINode>(event.at));
      if (event.kind == RoomEvent::kSet || event.kind == RoomEvent::kBring)
        builder.CreateAlignedStore(event.value, place, kAlignment, is_held);
      if (event.kind == RoomEvent::kUse)
        event.at->replaceUsesOfWith(event.value,
                                    builder.CreateAlignedLoad(event.value->getType(), place, kAlignment, is_held));
    }
    for (llvm::PHINode* phi : phis) {
      phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));
      phi->eraseFromParent();
    }
  }

  llvm::Function& function_;
  std::vector<Product>& products_;
  const BlockOrder& order_;
  const Chains chains_;
  llvm::DenseMap<const llvm::CallInst*, Product*> by_call_;
  llvm::MapVector<Value*, ChainRoom> rooms_;
  llvm::MapVector<Value*, llvm::AllocaInst*> places_;
};

// Puts calls of functions that add in memory where others were.
class Replacements {
 public:
  explicit Replacements(llvm::Function& function) : function_(function) {}

  void Make(Product& product) {
    llvm::Function* original = product.call->getCalledFunction();
    llvm::IRBuilder<> builder(product.call);
    llvm::SmallVector<Value*, 16> arguments;
    for (unsigned i = 0; i < product.count(); ++i) {
      if (product.places[i] != nullptr) {
        arguments.push_back(product.places[i]);
      } else {
        arguments.push_back(PassingPlace(i, product.sum(i)->getType()));
        builder.CreateAlignedStore(product.sum(i), arguments.back(), kAlignment);
      }
    }
    arguments.append(product.call->arg_begin(), product.call->arg_begin() + product.first());
    builder.CreateCall(InPlace(*original, product.count()), arguments)->setCallingConv(original->getCallingConv());
    for (unsigned i = 0; i < product.count(); ++i) {
      llvm::Instruction* result = product.results[i];
      if (result == nullptr) continue;
      Value* value = llvm::PoisonValue::get(result->getType());  // all that used it loads it
      if (product.places[i] == nullptr) value = builder.CreateAlignedLoad(result->getType(), arguments[i], kAlignment);
      result->replaceAllUsesWith(value);
      result->eraseFromParent();
    }
    product.call->eraseFromParent();
    if (original->use_empty() && original->hasLocalLinkage()) original->eraseFromParent();
  }

 private:
  // Where the i-th sum is during a call, if it has no place of its own.
  llvm::AllocaInst* PassingPlace(unsigned i, llvm::Type* type) {
    llvm::AllocaInst*& place = passing_[{i, type}];
    if (place == nullptr) place = MakePlace(function_, type);
    return place;
  }

  llvm::Function& function_;
  llvm::DenseMap<std::pair<unsigned, llvm::Type*>, llvm::AllocaInst*> passing_;
};

void KeepInPlace(llvm::Function& function) {
  std::vector<Product> products = FindProducts(function);
  if (products.empty()) return;
  const BlockOrder order(function);
  if (order.size() != function.size() || products.size() * order.size() > kMostWork) return;
  Rooms(function, products, order).Make();
  Replacements replacements(function);
  for (Product& product : products) {
    if (llvm::any_of(product.places, [](const Value* place) { return place != nullptr; })) replacements.Make(product);
  }
}

}  // namespace

void KeepSumsInPlace(llvm::Module& module) {
  std::vector<llvm::Function*> functions;  // those of now: products in place are new ones
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !function.getName().starts_with(kPrefix)) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) KeepInPlace(*function);
}

}  // namespace tutti::compiler
