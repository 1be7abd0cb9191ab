// The report: results.md, and the summary at the end of the output.
#pragma once

#include <string>

#include "frame/evidence.h"

namespace tutti::gpu {

std::string Page(const Evidence& evidence);
// At most 40 lines of 160 characters.
std::string Summary(const Evidence& evidence, const std::string& out);

}  // namespace tutti::gpu
