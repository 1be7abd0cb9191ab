// Processors that have memory of their own near to them (NUMA nodes): a page lies where the thread was that touched it
// first, so threads that should find their memory near stay on one node's processors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::os {

// The numbers of a list as Linux writes it ("0-3,8"); those from CPU_SETSIZE on, and what is no list, are left out.
std::vector<int> ProcessorsIn(std::string_view list);

// The node for each of `count` threads, in order, that are to be spread evenly over `nodes` (processors of each): the
// first threads to the first node, as many as it has processors' part of them. Nodes without processors get none.
std::vector<size_t> SpreadOverNodes(const std::vector<std::vector<int>>& nodes, size_t count);

// The processors that the calling thread may use, by node. One entry, or none, where there is nothing to choose or the
// system does not tell.
std::vector<std::vector<int>> NodesOfThisThread();

// The calling thread stays on these processors; without effect if it may use none of them.
void StayOn(const std::vector<int>& processors);

}  // namespace tutti::os
