#include "kubernetes/node_marker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/log.h"

namespace tutti::kubernetes {
namespace {

using std::chrono::milliseconds;

// A label may be removed, or the Node object recreated: rare, so checks are rare.
constexpr milliseconds kLookEvery{300'000};
constexpr milliseconds kFirstPause{250}, kLongestPause{64'000};
constexpr int kConflicts = 5;  // consecutive; others write a node's status, too

// The API server's message, from the Status object of a refusal.
std::string Refusal(const ApiAnswer& answer, const std::string& node) {
  const auto status = nlohmann::json::parse(answer.body, nullptr, false);
  std::string text;
  if (status.is_object() && status.contains("message") && status["message"].is_string())
    text = status["message"].get<std::string>().substr(0, 300);
  std::string remedy;
  if (answer.status == 401) remedy = "; is the service account's token of this cluster?";
  if (answer.status == 403)
    remedy = "; the service account needs the verbs get and patch on nodes (deployments/static has the ClusterRole)";
  if (answer.status == 404) remedy = fmt::format("; is \"{}\" this node's name (NODE_NAME, --node-name)?", node);
  return fmt::format("{} {}{}", answer.status, text, remedy);
}

}  // namespace

Status CheckNodeName(const std::string& name) {
  if (name.empty()) return Fail("this node's name is not known: set NODE_NAME, from spec.nodeName, or --node-name");
  const auto plain = [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '.';
  };
  if (name.size() > 253 || name.front() == '.' || !std::all_of(name.begin(), name.end(), plain)) {
    return Fail(
        fmt::format("\"{}\" is no name of a node: lower-case letters, digits, dashes and dots", name.substr(0, 253)));
  }
  return {};
}

NodeMarker::NodeMarker(ApiAccess access, std::string node) : server_(std::move(access)), node_(std::move(node)) {
  thread_ = std::thread([this] { Run(); });
}

NodeMarker::~NodeMarker() {
  server_.Stop();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void NodeMarker::Want(NodeMarks marks) {
  {
    const std::lock_guard lock(mutex_);
    if (wanted_ == marks) return;
    wanted_ = std::move(marks);
    ++wishes_;
  }
  changed_.notify_all();
}

void NodeMarker::Run() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ending_ || wanted_; });
  milliseconds pause = kFirstPause;
  while (!ending_) {
    const uint64_t wish = wishes_;
    const NodeMarks marks = *wanted_;
    lock.unlock();
    const Status marked = Mark(marks);
    if (!marked) log::Warning("{}; trying again in {} ms", marked.error().text, pause.count());
    lock.lock();
    changed_.wait_for(lock, marked ? kLookEvery : pause, [&] { return ending_ || wishes_ != wish; });
    pause = marked ? kFirstPause : std::min(pause * 2, kLongestPause);
  }
}

Status NodeMarker::Mark(const NodeMarks& marks) {
  const std::string path = "/api/v1/nodes/" + node_;
  for (int conflict = 0; conflict < kConflicts; ++conflict) {
    TUTTI_ASSIGN(const ApiAnswer node, server_.Get(path));
    if (node.status != 200)
      return Fail(fmt::format("the API server does not show node {}: {}", node_, Refusal(node, node_)));
    TUTTI_ASSIGN(const std::string patch, MakeNodePatch(node.body, marks));
    if (patch.empty()) return {};
    TUTTI_ASSIGN(const ApiAnswer patched, server_.MergePatch(path, patch));
    if (patched.status == 200) {
      log::Info("node {} has {} labels and {} taints of this plugin", node_, marks.labels.size(), marks.taints.size());
      return {};
    }
    if (patched.status != 409)
      return Fail(fmt::format("the API server does not label node {}: {}", node_, Refusal(patched, node_)));
  }
  return Fail(fmt::format("node {} changes faster than it can be labelled", node_));
}

}  // namespace tutti::kubernetes
