// The kernels that steps share, as PTX that every driver of these years takes.
#pragma once

namespace tutti::gpu {

inline constexpr char kKernels[] = R"(
.version 6.0
.target sm_60
.address_size 64

.visible .entry empty() { ret; }

// Busy for so many nanoseconds.
.visible .entry spin(.param .u64 ns)
{
  .reg .u64 %start, %now, %ns;
  .reg .pred %more;
  ld.param.u64 %ns, [ns];
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %more, %now, %ns;
  @%more bra again;
  ret;
}

// So many steps, each waiting for the one before: work that takes as long as the device is given to it.
.visible .entry work(.param .u64 steps, .param .u64 out)
{
  .reg .u64 %steps, %out, %i;
  .reg .f32 %x;
  .reg .pred %more;
  ld.param.u64 %steps, [steps];
  ld.param.u64 %out, [out];
  mov.f32 %x, 0f3F800000;
  mov.u64 %i, 0;
again:
  fma.rn.f32 %x, %x, 0f3F7FFFFF, 0f33800000;
  add.u64 %i, %i, 1;
  setp.lt.u64 %more, %i, %steps;
  @%more bra again;
  setp.ne.u64 %more, %out, 0;
  @%more st.global.f32 [%out], %x;
  ret;
}

// Until the word at `flag` is not zero, at most so many nanoseconds.
.visible .entry hold(.param .u64 flag, .param .u64 ns)
{
  .reg .u64 %flag, %start, %now, %ns, %value;
  .reg .pred %more;
  ld.param.u64 %flag, [flag];
  ld.param.u64 %ns, [ns];
  mov.u64 %start, %globaltimer;
again:
  ld.volatile.u64 %value, [%flag];
  setp.ne.u64 %more, %value, 0;
  @%more bra done;
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %more, %now, %ns;
  @%more bra again;
done:
  ret;
}

// word[i] = (i + seed) * odd number, for `count` words, by all threads of the grid: written where `wrong` is zero, else
// compared, and what differs counted there.
.visible .entry pattern(.param .u64 at, .param .u64 count, .param .u64 seed, .param .u64 wrong)
{
  .reg .u32 %a, %b, %c;
  .reg .u64 %at, %count, %seed, %wrong, %i, %step, %x, %y, %p, %found;
  .reg .pred %end, %same, %writes;
  ld.param.u64 %at, [at];
  ld.param.u64 %count, [count];
  ld.param.u64 %seed, [seed];
  ld.param.u64 %wrong, [wrong];
  setp.eq.u64 %writes, %wrong, 0;
  mov.u64 %found, 0;
  mov.u32 %a, %ctaid.x;
  mov.u32 %b, %ntid.x;
  mov.u32 %c, %tid.x;
  mad.wide.u32 %i, %a, %b, 0;
  cvt.u64.u32 %x, %c;
  add.u64 %i, %i, %x;
  mov.u32 %a, %nctaid.x;
  mul.wide.u32 %step, %a, %b;
again:
  setp.ge.u64 %end, %i, %count;
  @%end bra done;
  add.u64 %x, %i, %seed;
  mul.lo.u64 %x, %x, 0x9e3779b97f4a7c15;
  shl.b64 %p, %i, 3;
  add.u64 %p, %p, %at;
  add.u64 %i, %i, %step;
  @!%writes bra compare;
  st.global.u64 [%p], %x;
  bra again;
compare:
  ld.global.u64 %y, [%p];
  setp.eq.u64 %same, %x, %y;
  @!%same add.u64 %found, %found, 1;
  bra again;
done:
  setp.eq.u64 %end, %found, 0;
  @!%end red.global.add.u64 [%wrong], %found;
  ret;
}

// The multiprocessor of each block, and the time at which it began and ended: three words a block. Busy for `ns`.
.visible .entry where(.param .u64 out, .param .u64 ns)
{
  .reg .u32 %sm, %block, %thread;
  .reg .u64 %out, %ns, %start, %now, %p, %passed;
  .reg .pred %more, %first;
  ld.param.u64 %out, [out];
  ld.param.u64 %ns, [ns];
  mov.u64 %start, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %passed, %now, %start;
  setp.lt.u64 %more, %passed, %ns;
  @%more bra again;
  mov.u32 %thread, %tid.x;
  setp.ne.u32 %first, %thread, 0;
  @%first bra done;
  mov.u32 %sm, %smid;
  mov.u32 %block, %ctaid.x;
  mul.wide.u32 %p, %block, 24;
  add.u64 %p, %p, %out;
  cvt.u64.u32 %passed, %sm;
  st.global.u64 [%p], %passed;
  st.global.u64 [%p+8], %start;
  st.global.u64 [%p+16], %now;
done:
  ret;
}
)";

}  // namespace tutti::gpu
