// Search of a text for a word, and alignment of pairs of texts.

__kernel void string_search(__global const unsigned char* text, __global const unsigned char* word, __global uint* count, uint length) {
  __local uint found;
  if (get_local_id(0) == 0) found = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint i = get_group_id(0) * get_local_size(0) + get_local_id(0);
  uint j = 0;
  while (j < length && text[i + j] == word[j]) ++j;
  if (j == length) atomic_add(&found, 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0 && found > 0) atomic_add(count, found);
}

// Smith and Waterman: a block aligns one pair of 128 letters, a thread per column, one diagonal after the other.
__kernel void smith_waterman(__global const unsigned char* first, __global const unsigned char* second, __global int* scores) {
  __local int diagonals[3][129];
  __local uchar letters[128];
  __local int bests[128];
  const int t = (int)(get_local_id(0));
  const int letter = first[get_group_id(0) * 128 + get_local_id(0)];
  letters[t] = second[get_group_id(0) * 128 + get_local_id(0)];
  for (int i = 0; i < 3; ++i) diagonals[i][t + 1] = 0;
  if (t < 3) diagonals[t][0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  int best = 0;
  int before = 0, last = 1, now = 2;
  for (int step = 0; step < 255; ++step) {
    const int row = step - t;
    int score = 0;
    if (row >= 0 && row < 128) {
      score = diagonals[before][t] + (letters[row] == letter ? 3 : -2);
      score = max(score, max(diagonals[last][t], diagonals[last][t + 1]) - 2);
      score = max(score, 0);
      best = max(best, score);
    }
    diagonals[now][t + 1] = score;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int oldest = before;
    before = last;
    last = now;
    now = oldest;
  }
  bests[t] = best;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int count = 64; count > 0; count /= 2) {
    if (t < count) bests[t] = max(bests[t], bests[t + count]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) scores[get_group_id(0)] = bests[0];
}
