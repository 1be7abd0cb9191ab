// libedit, loaded only on a terminal. A shell in a script runs for a few milliseconds, a quarter of which would go into
// loading an editor and its four libraries that the script never uses.
#pragma once

#include <histedit.h>

namespace tutti::daemon {

struct EditLibrary {
  decltype(&::el_init) el_init = nullptr;
  decltype(&::el_end) el_end = nullptr;
  decltype(&::el_set) el_set = nullptr;
  decltype(&::el_get) el_get = nullptr;
  decltype(&::el_gets) el_gets = nullptr;
  decltype(&::el_line) el_line = nullptr;
  decltype(&::el_insertstr) el_insertstr = nullptr;
  decltype(&::el_source) el_source = nullptr;
  decltype(&::history_init) history_init = nullptr;
  decltype(&::history_end) history_end = nullptr;
  decltype(&::history) history = nullptr;
};

// Null if the library is not installed. It stays loaded.
const EditLibrary* LoadEditLibrary();

}  // namespace tutti::daemon
