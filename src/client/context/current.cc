#include "client/context/current.h"

#include <pthread.h>

#include <vector>

#include "client/context/context.h"
#include "client/context/stream.h"
#include "client/session/attachment.h"
#include "client/session/gate.h"

namespace tutti::client {

thread_local constinit Context* current_context = nullptr;
thread_local constinit bool per_thread_default = false;

namespace {

struct OwnStream {
  uint64_t context_id;
  Stream* stream;
};

// State that needs a destructor lives on the heap and is destroyed by a pthread key: a thread_local object with a
// destructor would prevent unloading the library and run in an order we do not control.
struct ThreadState {
  std::vector<Context*> below;  // the stack below current_context
  std::vector<OwnStream> streams;
};

thread_local constinit ThreadState* thread_state __attribute__((tls_model("initial-exec"))) = nullptr;

void EndThread(void* state) {
  auto* ending = static_cast<ThreadState*>(state);
  if (Gate::status() == 0) {
    for (const OwnStream& own : ending->streams) {
      Stream* stream = Stream::Find(own.stream);
      if (stream != nullptr && stream->context().id() == own.context_id) Stream::Destroy(stream);
    }
  }
  thread_state = nullptr;
  delete ending;
}

ThreadState& State() {
  static const pthread_key_t key = [] {
    pthread_key_t created;
    pthread_key_create(&created, EndThread);
    return created;
  }();
  if (thread_state == nullptr) {
    thread_state = new ThreadState;
    pthread_setspecific(key, thread_state);
  }
  return *thread_state;
}

}  // namespace

Answer<Context*> CurrentContext() {
  Context* context = Context::Find(current_context);
  if (context == nullptr) return Refuse(cuda::CUDA_ERROR_INVALID_CONTEXT);
  return context;
}

Answer<Context*> UsableContext() {
  CU_ASSIGN_OR_REFUSE(Context* const context, CurrentContext());
  const int status = context->Check();
  if (status != 0) return Refuse(status);
  return context;
}

void SetCurrent(Context* context) { current_context = context; }

void PushCurrent(Context* context) {
  if (current_context != nullptr) State().below.push_back(current_context);
  current_context = context;
}

Context* PopCurrent() {
  Context* const top = current_context;
  auto& below = State().below;
  current_context = below.empty() ? nullptr : below.back();
  if (!below.empty()) below.pop_back();
  return top;
}

Stream* PerThreadStream(Context& context) {
  auto& streams = State().streams;
  for (const OwnStream& own : streams) {
    if (own.context_id == context.id() && Stream::Find(own.stream) != nullptr) return own.stream;
  }
  std::erase_if(streams, [](const OwnStream& own) { return Stream::Find(own.stream) == nullptr; });
  Stream* stream = Stream::Create(context, {.per_thread = true});
  if (stream != nullptr) streams.push_back({context.id(), stream});
  return stream;
}

}  // namespace tutti::client
