// Tests of which one file is one: an input, a line "==== expected", and the outcome. The file's name is the claim it
// makes.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tutti::golden {

using Path = std::filesystem::path;

// The .ptx files of `folder`, in the order of their names.
std::vector<Path> Files(const Path& folder);

// The test's name: the file's without its extension.
std::string NameOf(const testing::TestParamInfo<Path>& info);

// Fails the test unless `outcome_of(input)` is what `file` expects, or nothing. With --bless it stores the outcome
// instead.
void ExpectOutcome(const Path& file, const std::function<std::string(const std::string&)>& outcome_of);

// What main() does: runs the tests; --bless writes the outcomes into the files, to be read as a difference before
// committing.
int Run(int count, char** arguments);

}  // namespace tutti::golden
