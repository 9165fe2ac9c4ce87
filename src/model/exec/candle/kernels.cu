// Kernels for NVIDIA GPUs, all in f32. `gpu.rs` launches them and checks their requirements: contiguous operands and, for kernels that read
// float4, widths that are multiples of four and 16-byte alignment.

typedef unsigned int uint32;

static __device__ float sum_over_warp(float v) {
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

// y = x + b for each row of `width4` float4 values.
extern "C" __global__ void add_row(const float4* x, const float4* b, float4* y, uint32 count4, uint32 width4) {
    uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count4) return;
    float4 u = x[i], v = b[i % width4];
    y[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}

// Transposes [N, A, B, C] to [N, B, A, C], where C is `width4` float4 values.
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

// Input gradient of GELU.
extern "C" __global__ void gelu_back(const float4* x, const float4* g, float4* y, uint32 count4, uint32 by_tanh) {
    uint32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count4) return;
    float4 u = x[i], v = g[i];
    y[i] = make_float4(v.x * gelu_slope(u.x, by_tanh), v.y * gelu_slope(u.y, by_tanh),
                       v.z * gelu_slope(u.z, by_tanh), v.w * gelu_slope(u.w, by_tanh));
}

// Input gradient of a softmax, given its output p; one warp per row.
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

// Layer norm (RMS norm if `centres` is 0) with the scale w and, if `shifts` is 1, the shift b; one warp per row. The
// variance is computed from the centred values.
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

// Input gradient of such a norm; one warp per row.
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
