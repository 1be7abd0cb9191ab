// Per-thread state: the stack of current contexts, the thread's own default streams, and the default stream that the
// current call refers to. All functions act on the calling thread.
#pragma once

#include "client/base/answer.h"
#include "cuda/types.h"

namespace tutti::client {

class Context;
class Stream;

// Initial-exec TLS, since every launch reads these words. They are small enough to fit into the static TLS reserve when
// the library is dlopened.
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

// The current context. INVALID_CONTEXT if there is none; CONTEXT_IS_DESTROYED, a sticky error, or the error the session
// ended with if it accepts no work, and then no further copy of host memory starts.
Answer<Context*> UsableContext();
// The current context whatever its state; INVALID_CONTEXT if there is none or it is gone.
Answer<Context*> CurrentContext();

void SetCurrent(Context* context);  // null: none; replaces the top of the stack
void PushCurrent(Context* context);
// Null if the stack is empty.
Context* PopCurrent();

// The thread's own stream in a context, created on first use, destroyed with the thread or the context. Null if there
// are too many streams.
Stream* PerThreadStream(Context& context);

}  // namespace tutti::client
