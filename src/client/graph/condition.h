// The condition of a conditional node (cuGraphConditionalHandleCreate): a value in the server, which kernels set and by
// which the node's stream decides. It ends with the last graph or executable graph that uses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "client/base/answer.h"
#include "client/session/attachment.h"
#include "cuda/types.h"

namespace tutti::client {

class Context;
class Device;

// Thread-safe.
class Condition {
 public:
  using Handle = std::shared_ptr<Condition>;

  // For one node, of the graph with this number or of one in it. `launch_value`: what each launch begins with. OUT_OF_
  // MEMORY if the process has too many.
  static Answer<Handle> Create(uint64_t graph, Context& context, std::optional<uint32_t> launch_value);
  // Null if the program has made the number up.
  static Handle Find(cuda::CUgraphConditionalHandle number);
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  cuda::CUgraphConditionalHandle number() const { return number_; }
  uint64_t graph() const { return graph_; }
  Device& device() const { return device_; }
  // The context it was created for, and the owner of that one's kernels. To be compared only: they may have ended.
  const Context* context() const { return context_; }
  const Context* owner() const { return owner_; }
  std::optional<uint32_t> launch_value() const { return launch_value_; }
  // False if another node has it already.
  bool TakeForNode() { return !used_.exchange(true, std::memory_order_relaxed); }
  bool used() const { return used_.load(std::memory_order_relaxed); }
  // Whether its server is the process's still.
  bool alive() const { return attachment_ == &Attachment::Get(); }

 private:
  Condition(uint64_t number, uint64_t graph, Context& context, std::optional<uint32_t> launch_value);

  const uint64_t number_;
  const uint64_t graph_;
  Device& device_;
  const Context* const context_;
  const Context* const owner_;
  const std::optional<uint32_t> launch_value_;
  Attachment* const attachment_ = &Attachment::Get();
  std::atomic<bool> used_{false};
};

}  // namespace tutti::client
