// One AdamW step over many float32 tensors in one parallel region.
//
// All tensors are cut into blocks of BLOCK elements, and the blocks are shared out among the threads: many small tensors cost
// one region, not one each. A block is cut at the same place for any number of threads, so that the result does not depend on it.
#include <math.h>
#include <stdint.h>

#define BLOCK 8192

typedef struct {
  float *param;
  const float *grad;
  float *exp_avg;
  float *exp_avg_sq;
  int64_t size;
  int64_t first_block;
  float keep;        // 1 - lr * weight_decay
  float step_size;   // lr / (1 - beta1^step)
  float root_scale;  // 1 / sqrt(1 - beta2^step)
} tensor_t;

static void update(const tensor_t *t, int64_t from, int64_t count, float beta1, float beta2, float eps) {
  float *restrict param = t->param + from;
  const float *restrict grad = t->grad + from;
  float *restrict exp_avg = t->exp_avg + from;
  float *restrict exp_avg_sq = t->exp_avg_sq + from;
  const float keep = t->keep, step_size = t->step_size, root_scale = t->root_scale;
  const float rest1 = 1.0f - beta1, rest2 = 1.0f - beta2;
  for (int64_t i = 0; i < count; i++) {
    const float g = grad[i];
    const float m = exp_avg[i] + rest1 * (g - exp_avg[i]);
    const float v = beta2 * exp_avg_sq[i] + rest2 * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    param[i] = param[i] * keep - step_size * m / (sqrtf(v) * root_scale + eps);
  }
}

static int64_t tensor_of(const tensor_t *tensors, int64_t count, int64_t block) {
  int64_t low = 0, high = count;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (tensors[middle].first_block <= block) low = middle; else high = middle;
  }
  return low;
}

int64_t adamw_block(void) { return BLOCK; }

int64_t adamw_tensor_bytes(void) { return sizeof(tensor_t); }

void adamw_step(const tensor_t *tensors, int64_t count, int64_t blocks, float beta1, float beta2, float eps, int threads) {
  #pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t block = 0; block < blocks; block++) {
    const tensor_t *t = &tensors[tensor_of(tensors, count, block)];
    const int64_t from = (block - t->first_block) * BLOCK;
    const int64_t left = t->size - from;
    update(t, from, left < BLOCK ? left : BLOCK, beta1, beta2, eps);
  }
}
