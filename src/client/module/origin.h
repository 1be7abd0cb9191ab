// Where a module comes from, and what would give it PTX: a program or library would have to be built differently, but a
// tool that makes machine code as the program runs can be told to keep PTX in it, each in its own way.
#pragma once

#include <string>
#include <vector>

namespace tutti::client {

// The file that contains the image at `where`: the program or one of its libraries. Empty if it was read or made at run
// time.
std::string OriginOf(const void* where);

// The files that the loader has loaded into this process.
std::vector<std::string> LoadedFiles();

// What the program's user can do about an image of `origin` without PTX, besides building it differently, in a process
// with these files, started by `tutti run` with its auditing library or not, for a device that reports this compute
// capability's major number. Empty: nothing.
std::string AdviceAboutPtx(const std::string& origin, const std::vector<std::string>& loaded, bool audited,
                           int compute_major);

}  // namespace tutti::client
