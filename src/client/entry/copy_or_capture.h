// Copies and memsets as calls ask for them: done in the stream, or, while it is captured, a node of the graph.
// Thread-safe.
#pragma once

#include "client/copy/copy.h"
#include "client/copy/fill.h"

namespace tutti::client::entry {

// See Copy and Fill. What is synchronous no capture may contain.
int CopyOrCapture(Stream& stream, const CopyRequest& request, CopyMode mode, SideKind destination, SideKind source);
int FillOrCapture(Stream& stream, const FillRequest& request, CopyMode mode);

}  // namespace tutti::client::entry
