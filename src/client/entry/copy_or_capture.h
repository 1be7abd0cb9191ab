// Copies and memsets of API calls: submitted to the stream, or, while it is captured, added as graph nodes.
// Thread-safe.
#pragma once

#include "client/copy/copy.h"
#include "client/copy/fill.h"

namespace tutti::client::entry {

// See Copy and Fill. Synchronous ones cannot be captured.
int CopyOrCapture(Stream& stream, const CopyRequest& request, CopyMode mode, SideKind destination, SideKind source);
int FillOrCapture(Stream& stream, const FillRequest& request, CopyMode mode);

}  // namespace tutti::client::entry
