// libedit, loaded when a person is at the terminal. A shell in a script starts, asks and ends in a few milliseconds; a
// quarter of them would go into loading an editor (and the four libraries that it needs) which a script never sees.
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

// Null where the library is not installed. It stays loaded.
const EditLibrary* LoadEditLibrary();

}  // namespace tutti::daemon
