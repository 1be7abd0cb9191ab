#include "kubernetes/node_patch.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace tutti::kubernetes {
namespace {

using Json = nlohmann::json;

// The member of `object` at `key` if it has the expected type, else an empty one.
const Json& Part(const Json& object, const char* key, const Json& nothing) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->type() == nothing.type() ? *found : nothing;
}

std::string Text(const Json& object, const std::string& key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The annotation is untrusted: it must not make us remove what was never ours.
bool MayBeOurs(std::string_view key) {
  return key.starts_with("nvidia.com/") || key.starts_with("scheduling.cast.ai/");
}

std::set<std::string> ReadKeys(const std::string& list) {
  std::set<std::string> keys;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string key = list.substr(begin, end - begin);
    if (MayBeOurs(key)) keys.insert(key);
    begin = end + 1;
  }
  return keys;
}

std::string WriteKeys(const std::set<std::string>& keys) {
  std::string list;
  for (const std::string& key : keys) list += (list.empty() ? "" : ",") + key;
  return list;
}

Json PatchLabels(const Json& labels, const std::set<std::string>& old_keys, const NodeMarks& marks) {
  Json patch = Json::object();
  for (const auto& [key, value] : marks.labels) {
    if (!labels.contains(key) || labels[key] != value) patch[key] = value;
  }
  for (const std::string& key : old_keys) {
    if (!marks.labels.contains(key) && labels.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

// The complete new list. Others' taints stay unchanged, including unknown fields.
Json WantedTaints(const Json& taints, const std::set<std::string>& old_keys, const NodeMarks& marks) {
  Json wanted = Json::array();
  for (const Json& taint : taints) {
    const std::string key = Text(taint, "key");
    const auto same = [&](const sharing::Taint& mark) {
      return mark.key == key && mark.effect == Text(taint, "effect") && mark.value == Text(taint, "value");
    };
    const auto replaces = [&](const sharing::Taint& mark) {
      return mark.key == key && mark.effect == Text(taint, "effect");
    };
    const bool kept = std::any_of(marks.taints.begin(), marks.taints.end(), same);
    const bool gone = old_keys.contains(key) || std::any_of(marks.taints.begin(), marks.taints.end(), replaces);
    if (kept || !gone) wanted.push_back(taint);
  }
  for (const sharing::Taint& mark : marks.taints) {
    const auto same = [&](const Json& taint) {
      return Text(taint, "key") == mark.key && Text(taint, "effect") == mark.effect;
    };
    if (std::none_of(wanted.begin(), wanted.end(), same))
      wanted.push_back({{"key", mark.key}, {"value", mark.value}, {"effect", mark.effect}});
  }
  return wanted;
}

}  // namespace

Result<std::string> MakeNodePatch(const std::string& node, const NodeMarks& marks) {
  const Json parsed = Json::parse(node, nullptr, false);
  const Json object = Json::object(), array = Json::array();
  if (!parsed.is_object() || Text(parsed, "kind") != "Node") return Fail("the API server's answer is not a Node");
  const Json& metadata = Part(parsed, "metadata", object);
  const Json& labels = Part(metadata, "labels", object);
  const Json& annotations = Part(metadata, "annotations", object);
  const Json& taints = Part(Part(parsed, "spec", object), "taints", array);

  std::set<std::string> label_keys, taint_keys;
  for (const auto& [key, value] : marks.labels) label_keys.insert(key);
  for (const sharing::Taint& taint : marks.taints) taint_keys.insert(taint.key);

  Json patch = Json::object();
  Json changed_labels = PatchLabels(labels, ReadKeys(Text(annotations, kLabelsAnnotation)), marks);
  if (!changed_labels.empty()) patch["metadata"]["labels"] = std::move(changed_labels);
  for (const auto& [name, keys] :
       {std::pair(kLabelsAnnotation, &label_keys), std::pair(kTaintsAnnotation, &taint_keys)}) {
    const std::string list = WriteKeys(*keys);
    if (list == Text(annotations, name)) continue;
    patch["metadata"]["annotations"][name] = list.empty() ? Json() : Json(list);
  }
  Json wanted_taints = WantedTaints(taints, ReadKeys(Text(annotations, kTaintsAnnotation)), marks);
  if (wanted_taints != taints) patch["spec"]["taints"] = std::move(wanted_taints);
  if (patch.empty()) return std::string();
  patch["metadata"]["resourceVersion"] = Text(metadata, "resourceVersion");
  return patch.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tutti::kubernetes
