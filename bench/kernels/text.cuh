// Search of a text for a word, and alignment of pairs of texts.

extern "C" __global__ void string_search(const unsigned char* text, const unsigned char* word, uint32_t* count, uint32_t length) {
  __shared__ uint32_t found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t j = 0;
  while (j < length && text[i + j] == word[j]) ++j;
  if (j == length) atomicAdd(&found, 1u);
  __syncthreads();
  if (threadIdx.x == 0 && found > 0) atomicAdd(count, found);
}

// Smith and Waterman: a block aligns one pair of 128 letters, a thread per column, one diagonal after the other.
extern "C" __global__ void smith_waterman(const unsigned char* first, const unsigned char* second, int* scores) {
  __shared__ int diagonals[3][129];
  __shared__ unsigned char letters[128];
  __shared__ int bests[128];
  const int t = static_cast<int>(threadIdx.x);
  const int letter = first[blockIdx.x * 128 + threadIdx.x];
  letters[t] = second[blockIdx.x * 128 + threadIdx.x];
  for (int i = 0; i < 3; ++i) diagonals[i][t + 1] = 0;
  if (t < 3) diagonals[t][0] = 0;
  __syncthreads();
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
    __syncthreads();
    const int oldest = before;
    before = last;
    last = now;
    now = oldest;
  }
  bests[t] = best;
  __syncthreads();
  for (int count = 64; count > 0; count /= 2) {
    if (t < count) bests[t] = max(bests[t], bests[t + count]);
    __syncthreads();
  }
  if (t == 0) scores[blockIdx.x] = bests[0];
}
