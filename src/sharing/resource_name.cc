#include "sharing/resource_name.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::sharing {
namespace {

bool IsLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Labels of letters, digits and inner dashes, with dots between them.
bool IsDnsSubdomain(std::string_view text) {
  for (;;) {
    const std::string_view label = text.substr(0, text.find('.'));
    if (label.empty() || !IsLetterOrDigit(label.front()) || !IsLetterOrDigit(label.back())) return false;
    if (!std::all_of(label.begin(), label.end(), [](char c) { return IsLetterOrDigit(c) || c == '-'; })) return false;
    if (label.size() == text.size()) return true;
    text.remove_prefix(label.size() + 1);
  }
}

}  // namespace

std::string_view LastPart(std::string_view resource) { return resource.substr(resource.rfind('/') + 1); }

Result<std::string> FullResourceName(std::string_view name) {
  const std::string full =
      name.find('/') == std::string_view::npos ? fmt::format("nvidia.com/{}", name) : std::string(name);
  if (full.size() > kMaxResourceNameBytes) {
    return Fail(
        fmt::format("fully-qualified resource name must be {} characters or less: {}", kMaxResourceNameBytes, full));
  }
  if (!IsDnsSubdomain(LastPart(full)) || !IsDnsSubdomain(full.substr(0, full.rfind('/')))) {
    return Fail(
        fmt::format("incorrect format for resource name '{}': a lowercase RFC 1123 subdomain must consist of lower "
                    "case alphanumeric "
                    "characters, '-' or '.', and must start and end with an alphanumeric character",
                    full));
  }
  return full;
}

}  // namespace tutti::sharing
