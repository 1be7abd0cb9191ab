#include "ptx/name_scope.h"

#include <fmt/format.h>

#include <charconv>

namespace tutti::ptx {
namespace {

constexpr uint32_t kNoParent = ~0u;
constexpr size_t kMostDigits = 8;  // of a register's number; see kMaxRegisters in parse_body.cc

std::string Unique(std::unordered_map<std::string, uint32_t>& used, std::string_view name) {
  auto [entry, fresh] = used.try_emplace(std::string(name), 1);
  if (fresh) return std::string(name);
  uint32_t& suffix = entry->second;  // references into an unordered_map stay valid
  std::string candidate;
  do {
    candidate = fmt::format("{}${}", name, ++suffix);
  } while (!used.try_emplace(candidate, 1).second);
  return candidate;
}

}  // namespace

NameScopes::NameScopes(Function* function) : function_(function) {
  scopes_.push_back({kNoParent, {}, {}, {}});
  open_.push_back(0);
}

bool NameScopes::Open() {
  if (open_.size() >= kMaxDepth) return false;
  scopes_.push_back({open_.back(), {}, {}, {}});
  open_.push_back(static_cast<uint32_t>(scopes_.size() - 1));
  return true;
}

void NameScopes::Close() {
  Innermost().names = {};  // the labels are still needed
  Innermost().ranges = {};
  open_.pop_back();
}

bool NameScopes::DeclareRegister(std::string_view name, Type type, uint8_t vector) {
  NamedThing thing;
  thing.kind = vector == 1 ? NamedThing::Kind::kRegister : NamedThing::Kind::kVectorRegister;
  thing.type = type;
  thing.vector = vector;
  return Innermost().names.emplace(name, thing).second;
}

bool NameScopes::DeclareRegisters(std::string_view prefix, uint64_t count, Type type) {
  return Innermost().ranges.emplace(prefix, Range{count, type}).second;
}

bool NameScopes::DeclareIndex(std::string_view name, NamedThing::Kind kind, uint32_t index) {
  NamedThing thing;
  thing.kind = kind;
  thing.index = index;
  return Innermost().names.emplace(name, thing).second;
}

bool NameScopes::DefineLabel(std::string_view name) {
  const auto label = static_cast<LabelId>(function_->labels.size());
  if (!Innermost().labels.emplace(name, label).second) return false;
  function_->labels.push_back({Unique(used_labels_, name), static_cast<uint32_t>(function_->instructions.size())});
  return true;
}

NamedThing* NameScopes::FindIn(Scope& scope, std::string_view name) {
  if (const auto found = scope.names.find(name); found != scope.names.end()) return &found->second;
  if (scope.ranges.empty()) return nullptr;
  // "%r12" may be number 12 of "%r", or number 2 of "%r1".
  size_t digits = name.size();
  const size_t first = name.size() > kMostDigits ? name.size() - kMostDigits : 1;
  while (digits > first && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  for (; digits < name.size(); ++digits) {
    if (name[digits] == '0' && digits + 1 < name.size()) continue;  // no leading zeros
    const auto range = scope.ranges.find(name.substr(0, digits));
    if (range == scope.ranges.end()) continue;
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), number);
    if (error != std::errc() || number >= range->second.count) continue;
    NamedThing thing;
    thing.kind = NamedThing::Kind::kRegister;
    thing.type = range->second.type;
    return &scope.names.emplace(name, thing).first->second;
  }
  return nullptr;
}

RegisterId NameScopes::Make(std::string_view name, Type type) {
  function_->registers.push_back({UniqueName(name), type});
  return static_cast<RegisterId>(function_->registers.size() - 1);
}

const NamedThing* NameScopes::Find(std::string_view name) {
  for (uint32_t scope = open_.back(); scope != kNoParent; scope = scopes_[scope].parent) {
    NamedThing* thing = FindIn(scopes_[scope], name);
    if (thing == nullptr) continue;
    if (thing->kind == NamedThing::Kind::kRegister && thing->index == NamedThing::kNotMade)
      thing->index = Make(name, thing->type);
    return thing;
  }
  return nullptr;
}

RegisterId NameScopes::Component(std::string_view name, uint32_t component) {
  constexpr char kLetters[] = "xyzw";
  auto* thing = const_cast<NamedThing*>(Find(name));
  uint32_t& index = thing->components[component];
  if (index == NamedThing::kNotMade) index = Make(fmt::format("{}_{}", name, kLetters[component]), thing->type);
  return index;
}

uint32_t NameScopes::ReferToLabel(std::string_view name, SourcePosition position) {
  references_.push_back({name, position, open_.back(), 0});
  return static_cast<uint32_t>(references_.size() - 1);
}

const NameScopes::LabelReference* NameScopes::ResolveLabels() {
  for (LabelReference& reference : references_) {
    bool found = false;
    for (uint32_t scope = reference.scope; scope != kNoParent && !found; scope = scopes_[scope].parent) {
      const auto label = scopes_[scope].labels.find(reference.name);
      if (label == scopes_[scope].labels.end()) continue;
      reference.label = label->second;
      found = true;
    }
    if (!found) return &reference;
  }
  return nullptr;
}

std::string NameScopes::UniqueName(std::string_view name) { return Unique(used_names_, name); }

}  // namespace tutti::ptx
