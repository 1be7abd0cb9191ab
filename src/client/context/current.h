// What each thread has: its stack of current contexts, its own default streams, and which default stream the call it is
// in means. All functions act on the calling thread.
#pragma once

#include "client/base/answer.h"
#include "cuda/types.h"

namespace tutti::client {

class Context;
class Stream;

// Initial-exec: these words are read by every launch. They are two of few enough that a dlopen of the library finds
// room.
extern thread_local constinit Context* current_context __attribute__((tls_model("initial-exec")));
extern thread_local constinit bool per_thread_default __attribute__((tls_model("initial-exec")));

// While it lives, the NULL stream is the thread's own (the _ptds and _ptsz entries).
class PerThreadDefaultStream {
 public:
  PerThreadDefaultStream() : outer_(per_thread_default) { per_thread_default = true; }
  ~PerThreadDefaultStream() { per_thread_default = outer_; }
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
  PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;

 private:
  bool outer_;
};

// The current context, or INVALID_CONTEXT if there is none; CONTEXT_IS_DESTROYED, a sticky error, or what the session
// ended with if it cannot take work: then no copy of host memory is made any more.
Answer<Context*> UsableContext();
// The current context whatever its state; INVALID_CONTEXT if there is none or it is gone.
Answer<Context*> CurrentContext();

void SetCurrent(Context* context);  // null: none; replaces the top of the stack
void PushCurrent(Context* context);
// Null if the stack is empty.
Context* PopCurrent();

// The thread's own stream in a context; made when first asked for, destroyed with the thread or the context. Null if
// there are too many streams.
Stream* PerThreadStream(Context& context);

}  // namespace tutti::client
