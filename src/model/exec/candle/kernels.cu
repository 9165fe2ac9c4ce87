// Kernels for NVIDIA GPUs, all in f32. `gpu.rs` launches them and checks what they rely on: contiguous operands, and for
// those that read float4, widths of multiples of four and beginnings at multiples of 16 bytes.

typedef unsigned int uint32;

static __device__ float sum_over_warp(float v) {
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

// y = x + b for each row of `width4` fours.
extern "C" __global__ void add_row(const float4* x, const float4* b, float4* y, uint32 count4, uint32 width4) {
    uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count4) return;
    float4 u = x[i], v = b[i % width4];
    y[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}

// [N, A, B, C] to [N, B, A, C], C being `width4` fours.
extern "C" __global__ void swap_middle(const float4* x, float4* y, uint32 count4, uint32 a, uint32 b, uint32 width4) {
    uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count4) return;
    uint32 row = i / width4, column = i % width4;
    uint32 rest = row / a, at_a = row % a;
    y[i] = x[((rest / b * a + at_a) * b + rest % b) * width4 + column];
}

static __device__ float gelu_slope(float x, bool by_tanh) {
    const float root = 0.7978845608028654f;
    if (by_tanh) {
        float square = x * x, t = tanhf(root * x * (1.0f + 0.044715f * square));
        return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * root * (1.0f + 0.134145f * square);
    }
    return 0.5f * (1.0f + erff(x * 0.7071067811865476f)) + x * 0.5f * root * expf(-0.5f * x * x);
}

// Gradient of the input of GELU.
extern "C" __global__ void gelu_back(const float4* x, const float4* g, float4* y, uint32 count4, uint32 by_tanh) {
    uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count4) return;
    float4 u = x[i], v = g[i];
    y[i] = make_float4(v.x * gelu_slope(u.x, by_tanh), v.y * gelu_slope(u.y, by_tanh),
                       v.z * gelu_slope(u.z, by_tanh), v.w * gelu_slope(u.w, by_tanh));
}

// Gradient of the input of a softmax from its output p; a warp for each row.
extern "C" __global__ void softmax_back(const float* p, const float* g, float* y, uint32 rows, uint32 width) {
    uint32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    p += (size_t)row * width, g += (size_t)row * width, y += (size_t)row * width;
    float total = 0.0f;
    for (uint32 i = lane; i < width; i += 32) total += p[i] * g[i];
    total = sum_over_warp(total);
    for (uint32 i = lane; i < width; i += 32) y[i] = p[i] * (g[i] - total);
}

static __device__ float mean_over_warp(const float* x, uint32 width) {
    float total = 0.0f;
    for (uint32 i = threadIdx.x % 32; i < width; i += 32) total += x[i];
    return sum_over_warp(total) / width;
}

// Layer norm (or RMS norm, where `centres` is 0) with the scale w and, where `shifts` is 1, the shift b; a warp for each
// row. Computes the variance from the centred values.
extern "C" __global__ void norm_rows(const float* x, const float* w, const float* b, float* y, uint32 rows, uint32 width,
                                     uint32 centres, uint32 shifts, uint32 eps_bits) {
    uint32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += (size_t)row * width, y += (size_t)row * width;
    float mean = centres ? mean_over_warp(x, width) : 0.0f, square = 0.0f;
    for (uint32 i = lane; i < width; i += 32) square += (x[i] - mean) * (x[i] - mean);
    float scale = 1.0f / sqrtf(sum_over_warp(square) / width + __uint_as_float(eps_bits));
    for (uint32 i = lane; i < width; i += 32) y[i] = (x[i] - mean) * scale * w[i] + (shifts ? b[i] : 0.0f);
}

// Gradient of the input of such a norm; a warp for each row.
extern "C" __global__ void norm_back(const float* x, const float* w, const float* g, float* y, uint32 rows, uint32 width,
                                     uint32 centres, uint32 eps_bits) {
    uint32 row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    x += (size_t)row * width, g += (size_t)row * width, y += (size_t)row * width;
    float mean = centres ? mean_over_warp(x, width) : 0.0f;
    float square = 0.0f, straight = 0.0f, along = 0.0f;
    for (uint32 i = lane; i < width; i += 32) {
        float c = x[i] - mean, v = g[i] * w[i];
        square += c * c, straight += v, along += v * c;
    }
    float variance = sum_over_warp(square) / width + __uint_as_float(eps_bits);
    float scale = 1.0f / sqrtf(variance);
    straight = centres ? sum_over_warp(straight) / width : 0.0f;
    along = sum_over_warp(along) / width / variance;
    for (uint32 i = lane; i < width; i += 32) y[i] = scale * (g[i] * w[i] - straight - (x[i] - mean) * along);
}
