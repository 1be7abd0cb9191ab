// The names inside one function body: registers, local variables and labels, in nested scopes.
//
// A register is created when an instruction first mentions it, so `.reg .b32 %r<1000000>;` costs nothing. Names in the
// AST are unique within the function: a redeclared one gets a suffix ("%p$2").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/ast.h"

namespace tutti::ptx {

struct NamedThing {
  enum class Kind : uint8_t { kRegister, kVectorRegister, kLocal, kPrototype, kBranchTargets } kind = Kind::kLocal;
  Type type = Type::kNone;  // registers, when not yet made
  uint8_t vector = 1;       // kVectorRegister: components
  uint32_t index = kNotMade;
  uint32_t components[4] = {kNotMade, kNotMade, kNotMade, kNotMade};  // kVectorRegister
  static constexpr uint32_t kNotMade = ~0u;
};

class NameScopes {
 public:
  static constexpr size_t kMaxDepth = 64;

  // `function` gets the registers, locals and labels.
  explicit NameScopes(Function* function);

  bool Open();  // false: nested too deeply
  void Close();
  size_t depth() const { return open_.size(); }

  // All four: false if the innermost scope has the name already.
  bool DeclareRegister(std::string_view name, Type type, uint8_t vector);
  bool DeclareRegisters(std::string_view prefix, uint64_t count, Type type);
  bool DeclareIndex(std::string_view name, NamedThing::Kind kind, uint32_t index);
  bool DefineLabel(std::string_view name);

  // The innermost thing of that name; null if there is none. Creates registers.
  const NamedThing* Find(std::string_view name);
  // Component 0..3 of a vector register.
  RegisterId Component(std::string_view name, uint32_t component);

  // A label may be used before its definition: ResolveLabels resolves `reference`.
  uint32_t ReferToLabel(std::string_view name, SourcePosition position);
  struct LabelReference {
    std::string_view name;
    SourcePosition position;
    uint32_t scope;
    LabelId label;  // after ResolveLabels
  };
  // Null: all found. Else the first that is not.
  const LabelReference* ResolveLabels();
  LabelId LabelOf(uint32_t reference) const { return references_[reference].label; }

  // A name for a new local of the function.
  std::string UniqueName(std::string_view name);

 private:
  struct Range {
    uint64_t count;
    Type type;
  };
  struct Scope {
    uint32_t parent;
    std::unordered_map<std::string_view, NamedThing> names;
    std::unordered_map<std::string_view, Range> ranges;
    std::unordered_map<std::string_view, LabelId> labels;
  };
  Scope& Innermost() { return scopes_[open_.back()]; }
  NamedThing* FindIn(Scope& scope, std::string_view name);
  RegisterId Make(std::string_view name, Type type);

  Function* function_;
  std::vector<Scope> scopes_;
  std::vector<uint32_t> open_;
  std::vector<LabelReference> references_;
  std::unordered_map<std::string, uint32_t> used_names_;  // and the last suffix given
  std::unordered_map<std::string, uint32_t> used_labels_;
};

}  // namespace tutti::ptx
