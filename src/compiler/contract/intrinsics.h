// The names of the tutti.* functions, as intrinsics.def lists them. What lowering and widening spell is looked up while
// they are compiled, so a name that the other does not know is an error of the build.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::compiler {

enum class Intrinsic : uint8_t {
  kNone,  // not a tutti.* function
  kBlockField,  // uniform, fixed for the block: ntid, ctaid, bases, sizes
#define INTRINSIC(kind, name, members, meets, result) k##kind,
#include "compiler/contract/intrinsics.def"
  kUnknown,  // tutti.<something else>
};

struct IntrinsicRow {
  enum class Meets : uint8_t {
    kNobody,
    kMembers,  // the lanes that the first argument names
    kAll,  // of the warp
    kThreads,  // of the block, or more: all that have not ended
  };
  enum class Result : uint8_t {
    kVarying,
    kUniform,  // all active lanes get one value, whatever the arguments
    kOfMembers,  // all lanes that name one set of members do
  };
  std::string_view name;  // after "tutti."
  std::string_view members;  // after name and a dot, with spaces between; "*": any
  Intrinsic kind;
  Meets meets;
  Result result;
};

inline constexpr IntrinsicRow kIntrinsics[] = {
#define INTRINSIC(kind, name, members, meets, result) \
  {name, members, Intrinsic::k##kind, IntrinsicRow::Meets::k##meets, IntrinsicRow::Result::k##result},
#define BLOCK_FIELD(name, members, field) \
  {name, members, Intrinsic::kBlockField, IntrinsicRow::Meets::kNobody, IntrinsicRow::Result::kUniform},
#include "compiler/contract/intrinsics.def"
};

inline constexpr std::string_view kIntrinsicPrefix = "tutti.";

constexpr bool IsMember(const IntrinsicRow& row, std::string_view member) {
  if (row.members == "*") return !member.empty();
  for (std::string_view rest = row.members; !rest.empty();) {
    const std::string_view first = rest.substr(0, rest.find(' '));
    if (first == member) return true;
    rest.remove_prefix(first.size() == rest.size() ? rest.size() : first.size() + 1);
  }
  return false;
}

// The row of a function, by its whole name; null if there is none.
constexpr const IntrinsicRow* FindIntrinsic(std::string_view function) {
  if (!function.starts_with(kIntrinsicPrefix)) return nullptr;
  function.remove_prefix(kIntrinsicPrefix.size());
  for (const IntrinsicRow& row : kIntrinsics) {
    if (row.members.empty() ? function == row.name
                            : function.starts_with(row.name) && function.substr(row.name.size()).starts_with('.') &&
                                  IsMember(row, function.substr(row.name.size() + 1)))
      return &row;
  }
  return nullptr;
}

// The name of one that there is.
class IntrinsicName {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is a name where one is wanted
  consteval IntrinsicName(const char* function) : name_(function) {
    if (FindIntrinsic(name_) == nullptr) throw "intrinsics.def has no such function";
  }
  constexpr std::string_view get() const { return name_; }

 private:
  std::string_view name_;
};

// The names of several, with a dot at the end: "tutti.redux.".
class IntrinsicFamily {
 public:
  consteval IntrinsicFamily(const char* family) : name_(family) {  // NOLINT(google-explicit-constructor)
    for (const IntrinsicRow& row : kIntrinsics) {
      if (!row.members.empty() && name_.starts_with(kIntrinsicPrefix) && name_.ends_with('.') &&
          name_.substr(kIntrinsicPrefix.size(), name_.size() - kIntrinsicPrefix.size() - 1) == row.name)
        return;
    }
    throw "intrinsics.def has no such family";
  }
  std::string Member(std::string_view member) const { return std::string(name_).append(member); }

 private:
  std::string_view name_;
};

}  // namespace tutti::compiler
