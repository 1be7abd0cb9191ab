// Kernels for tests, written by hand against guest/cpu/kernel_abi.h: what a compiler would make of small CUDA kernels.
// Each is a module of its own, whose image is the kernel's name. Every kernel takes four 64-bit arguments.
//
//   empty                                   nothing
//   add       counter, value                every thread: atomicAdd(counter, value)
//   index     out, value                    out[global thread index] = value + global thread index
//   slow      counter, ns                   every block runs for ns, then adds 1
//   turns     out, counter, ns              out[block] = how many blocks have begun before; every block runs for ns.
//                                           Also as turns_in_order and turns_to_print, which say other things of it
//   endless                                 every block runs for ever, without a yield
//   wait      flag, counter                 yields until *flag != 0, then every thread adds 1
//   sum       in, out                       out[block] = sum of in[block * threads ...]: a tree with barriers
//   vote      out                           bar.red: out[0..2] = popc, and, or of (thread index % 3 == 0)
//   half      counter                       the first warp alone waits at barrier 0 while the second waits at barrier 1
//   early     counter                       odd warps exit at once, even ones pass a barrier and add 1
//   store     address, value                one store
//   divide                                  integer division by zero
//   illegal                                 an undefined instruction
//   overflow                                endless recursion
//   trap      kind, lane                    services->fault
//   print     format, arguments, out        out[0] = result of printf
//   assert    message, file, function       services->assert_fail with line 7
//   heap      out                           p = malloc(64), q = malloc(1 << 30), free(p): out[0] = p, out[1] = q
//   grid      data, rounds                  cooperative: rounds of neighbour exchange with grid barriers between
//   shared    out                           out[block] = sum of the shared window as found; then fills it
//   where     out                           out[block] = ctaid packed as x | y << 16 | z << 32, cluster ctaid << 48
//   compute   out, rounds                   out[block] = Compute(block, rounds): long arithmetic in registers
//   row       begun, sums, rounds, longest  begun[x] += 1, sums[x] += Compute(x, rounds), block after block by itself;
//                                           longest[0]: blocks that it has been given at a time
//   odd_even  flag, counter                 block 1 sets *flag, block 0 waits for it
//   whisper   out                           leaves text on its own stack; out[0] = where
//   chain     done, ns                      every block waits until *done is its number, runs for ns, then adds 1
//   barriers  counter, rounds               rounds of work and a barrier, then every thread adds 1
//   cluster   out, rounds                   cluster of x blocks: ClusterRounds(rank, x, rounds) in out[block]
//   apart     out                           block 0 waits at its cluster's barrier, the others at the grid's
//   meet      count, rounds                 every round each block adds 1, then waits until all blocks have
//   stamp     out, begun, flag, held        every block adds 1 to *begun and 1000 to out[block]; block `held` waits
//                                           for *flag in between. Takes no time by itself
//   stamp.quick, stamp.quick.yields         the same, with 1 in place of 1000; in other stacks and local memory
//   stamp.quick.anew, ...anew.yields        the same; a block begins anew where it finds newer code, as `held` does
//                                           while it waits
//   stamp.quick.writes                      the same, but a block has written something before
//   stamp.faults                            what replaces them: as `trap`, in PTX line 43
#pragma once

#include <memory>

#include "device/compile/code_source.h"

namespace tutti::device::cpu {

inline constexpr uint32_t kTestVariableOffset = 16;  // of the module variable "v" in each module's segment
inline constexpr uint32_t kTestVariableValue = 0x600d;

// What "compute" computes: wrong if a register is lost.
uint64_t Compute(uint64_t seed, uint64_t rounds);

// What "cluster" computes: each round a block adds what the next block of its cluster has.
uint64_t ClusterRounds(uint64_t rank, uint64_t blocks, uint64_t rounds);

std::shared_ptr<CodeSource> NewTestCode();

}  // namespace tutti::device::cpu
