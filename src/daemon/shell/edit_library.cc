#include "daemon/shell/edit_library.h"

#include <dlfcn.h>

namespace tutti::daemon {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

bool FindAll(void* library, EditLibrary& edit) {
  return Find(library, "el_init", edit.el_init) && Find(library, "el_end", edit.el_end) &&
         Find(library, "el_set", edit.el_set) && Find(library, "el_get", edit.el_get) &&
         Find(library, "el_gets", edit.el_gets) && Find(library, "el_line", edit.el_line) &&
         Find(library, "el_insertstr", edit.el_insertstr) && Find(library, "el_source", edit.el_source) &&
         Find(library, "history_init", edit.history_init) && Find(library, "history_end", edit.history_end) &&
         Find(library, "history", edit.history);
}

}  // namespace

const EditLibrary* LoadEditLibrary() {
  static EditLibrary edit;
  void* const library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && FindAll(library, edit) ? &edit : nullptr;
}

}  // namespace tutti::daemon
