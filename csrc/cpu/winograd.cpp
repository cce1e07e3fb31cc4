#include "cpu/winograd.h"

#include <algorithm>
#include <atomic>
#include <deque>

#include "core/blocking.h"
#include "core/buffer.h"
#include "core/parallel.h"
#include "core/prepared.h"
#include "cpu/sgemm.h"
#include "cpu/winograd_loops.h"

namespace mashal {
namespace {

constexpr int64_t kMostPoints = 36;

const WinogradLoops& loops(int64_t kernel, int64_t out) {
    static const auto make = MASHAL_SELECT(winograd_loops);
    static const WinogradLoops four = make(3, 4), two = make(3, 2), two_of_five = make(5, 2);
    return kernel == 5 ? two_of_five : out == 4 ? four : two;
}

// Distance between the matrices of neighbouring points: one cache line more than they take, as powers of two would meet
// in few sets of the cache.
int64_t point_step(int64_t elements) { return (elements + 15) / 16 * 16 + 16; }

// Images cut into tiles of out x out results.
struct Tiles {
    int64_t batch, in_h, in_w, out_h, out_w, pad_h, pad_w, kernel, out, rows, columns;
    Tiles(int64_t n, int64_t ih, int64_t iw, int64_t oh, int64_t ow, int64_t ph, int64_t pw, int64_t size, int64_t o)
        : batch(n),
          in_h(ih),
          in_w(iw),
          out_h(oh),
          out_w(ow),
          pad_h(ph),
          pad_w(pw),
          kernel(size),
          out(o),
          rows((oh + o - 1) / o),
          columns((ow + o - 1) / o) {}
    int64_t count() const { return batch * rows * columns; }
    int64_t points() const { return (out + kernel - 1) * (out + kernel - 1); }

    // Addresses of the positions a tile reads (`outside` where there is none), and of its results.
    void inputs(int64_t tile, const float* x, int64_t channels, const float* outside, const float** at) const {
        const int64_t n = tile / (rows * columns), r = tile / columns % rows, c = tile % columns;
        fill(out + kernel - 1, x + n * in_h * in_w * channels, r * out - pad_h, c * out - pad_w, in_h, in_w, channels,
             outside, at);
    }
    template <class T>
    void outputs(int64_t tile, T* y, int64_t channels, T* outside, T** at) const {
        const int64_t n = tile / (rows * columns), r = tile / columns % rows, c = tile % columns;
        fill(out, y + n * out_h * out_w * channels, r * out, c * out, out_h, out_w, channels, outside, at);
    }

private:
    template <class T>
    static void fill(int64_t side, T* plane, int64_t y0, int64_t x0, int64_t h, int64_t w, int64_t channels, T* outside,
                     T** at) {
        for (int64_t i = 0; i < side; i++)
            for (int64_t j = 0; j < side; j++) {
                const int64_t y = y0 + i, x = x0 + j;
                const bool inside = y >= 0 && y < h && x >= 0 && x < w;
                at[i * side + j] = inside ? plane + (y * w + x) * channels : outside;
            }
    }
};

struct Product {
    const WinogradLoops& loop;
    Tiles tiles;
    int64_t c, k, points, panel;
    const float* bias;
    const float* x;
    float* y;
    WinogradKernels kernels;

    Product(const Tiles& t, int64_t channels, int64_t results, const float* from, const float* w, bool turned,
            const float* b, float* to)
        : loop(loops(t.kernel, t.out)),
          tiles(t),
          c(channels),
          k(results),
          points(t.points()),
          panel(std::min<int64_t>(loop.panel, k)),
          bias(b),
          x(from),
          y(to),
          kernels{w, c, k, turned, 0, c, 0, k} {}

    int64_t panels() const { return (k + panel - 1) / panel; }
    WinogradKernels block(int64_t c0, int64_t c1, int64_t k0) const {
        WinogradKernels part = kernels;
        part.c0 = c0, part.c1 = c1, part.k0 = k0, part.k1 = std::min(k, k0 + panel);
        return part;
    }
    void read(int64_t tile, float* v, int64_t step, const float* none) const {
        const float* from[kMostPoints];
        tiles.inputs(tile, x, c, none, from);
        loop.input(c, from, v, step);
    }
    // Results [k0, k0 + width) of a tile.
    void write(int64_t tile, const float* m, int64_t step, int64_t k0, int64_t width, float* drop) const {
        float* to[kMostPoints];
        tiles.outputs(tile, y + k0, k, drop, to);
        loop.output(width, m, step, bias != nullptr ? bias + k0 : nullptr, to);
    }
};

// All kernels to u[point][k0 * c + c0 * width + ...], panel after panel.
void transform_kernels(const Product& p, float* u, int64_t u_step) {
    parallel_for(0, p.c, 16, [&](int64_t c0, int64_t c1) {
        for (int64_t k0 = 0; k0 < p.k; k0 += p.panel)
            p.loop.kernels(p.block(c0, c1, k0), u + k0 * p.c + c0 * std::min(p.panel, p.k - k0), u_step);
    });
}

// Few kernels: all are transformed first, then each thread takes tiles through all steps in its cache.
void convolve_by_tiles(const Product& p) {
    const int64_t workers = num_threads(), count = p.tiles.count();
    constexpr int64_t cache = 1 << 18;  // elements
    const int64_t share = (count + workers - 1) / workers;
    const int64_t fitting = std::max<int64_t>(96, cache / (p.points * (p.c + p.k)));
    const int64_t parts = (share + fitting - 1) / fitting, chunk = (share + parts - 1) / parts;
    const int64_t u_step = point_step(p.c * p.k), v_step = point_step(chunk * p.c), m_step = point_step(chunk * p.k);
    const int64_t each = p.points * (v_step + m_step) + p.c + p.k;
    const Floats u_memory(p.points * u_step), scratch(each * workers);
    float *u = u_memory.data(), *all = scratch.data();
    AllowThreads threads(true);
    transform_kernels(p, u, u_step);
    parallel_for(0, workers, 1, [&](int64_t w0, int64_t w1) {
        for (int64_t worker = w0; worker < w1; worker++) {
            float *v = all + worker * each, *m = v + p.points * v_step, *none = m + p.points * m_step,
                  *drop = none + p.c;
            std::fill_n(none, p.c, 0.0f);
            const int64_t last = std::min(count, (worker + 1) * share);
            for (int64_t t0 = worker * share; t0 < last; t0 += chunk) {
                const int64_t n = std::min(chunk, last - t0);
                for (int64_t t = 0; t < n; t++) p.read(t0 + t, v + t * p.c, v_step, none);
                for (int64_t i = 0; i < p.points; i++)
                    for (int64_t k0 = 0; k0 < p.k; k0 += p.panel) {
                        const int64_t width = std::min(p.panel, p.k - k0);
                        p.loop.product(n, width, p.c, v + i * v_step, p.c, 1, u + i * u_step + k0 * p.c, width,
                                       m + i * m_step + k0, p.k, false);
                    }
                for (int64_t t = 0; t < n; t++) p.write(t0 + t, m + t * p.k, m_step, 0, p.k, drop);
            }
        }
    });
}

// Many kernels: the tiles are transformed first. Then each thread takes panels of results, whose kernels are
// transformed block by block and used at once, so that they never leave the cache.
void convolve_by_kernels(const Product& p) {
    constexpr int64_t most_tiles = 3 << 20, most_kernels = 150000;  // elements
    const int64_t count = p.tiles.count(), fitting = std::max<int64_t>(128, most_tiles / (p.points * p.c));
    const int64_t parts = (count + fitting - 1) / fitting, chunk = (count + parts - 1) / parts;
    const int64_t blocks = std::max<int64_t>(1, p.points * p.panel * p.c / most_kernels);
    const int64_t block = (p.c + blocks - 1) / blocks;
    const int64_t v_step = point_step(chunk * p.c), u_step = point_step(block * p.panel),
                  m_step = point_step(chunk * p.panel);
    const int64_t each = p.points * (u_step + m_step) + p.panel;
    const int64_t workers = num_threads();  // asked once: it may change, and parts must not outnumber the scratches
    const Floats v_memory(p.points * v_step + p.c), scratch(each * workers);
    float *v = v_memory.data(), *none = v + p.points * v_step, *all = scratch.data();
    std::fill_n(none, p.c, 0.0f);
    AllowThreads threads(true);
    for (int64_t t0 = 0; t0 < count; t0 += chunk) {
        const int64_t n = std::min(chunk, count - t0);
        parallel_for(0, n, std::max<int64_t>(1, kGrain / (32 * p.c)), [&](int64_t b, int64_t e) {
            for (int64_t t = b; t < e; t++) p.read(t0 + t, v + t * p.c, v_step, none);
        });
        std::atomic<int> next{0};
        parallel_for(0, p.panels(), (p.panels() + workers - 1) / workers, [&](int64_t b, int64_t e) {
            float *u = all + next++ * each, *m = u + p.points * u_step, *drop = m + p.points * m_step;
            for (int64_t k0 = b * p.panel; k0 < std::min(p.k, e * p.panel); k0 += p.panel) {
                const int64_t width = std::min(p.panel, p.k - k0);
                for (int64_t c0 = 0; c0 < p.c; c0 += block) {
                    const int64_t c1 = std::min(p.c, c0 + block);
                    p.loop.kernels(p.block(c0, c1, k0), u, u_step);
                    for (int64_t i = 0; i < p.points; i++)
                        p.loop.product(n, width, c1 - c0, v + i * v_step + c0, p.c, 1, u + i * u_step, width,
                                       m + i * m_step, width, c0 > 0);
                }
                for (int64_t t = 0; t < n; t++) p.write(t0 + t, m + t * width, m_step, k0, width, drop);
            }
        });
    }
}

// The kernels of a weight in transformed form, a packed matrix (c, k) for each point, kept with the storage they were
// made from.
struct KeptKernels final : RefCounted {
    KeptKernels(const Tensor& weight, const Product& p)
        : sizes(weight.sizes()), offset(weight->offset), points(p.points) {
        Product whole = p;
        whole.panel = p.k;
        const int64_t step = point_step(p.c * p.k);
        const Floats u(points * step);
        transform_kernels(whole, u.data(), step);
        for (int64_t i = 0; i < points; i++) packed.emplace_back(p.c, p.k, MatrixView{u.data() + i * step, p.k, false});
    }
    const IntVec sizes;
    const int64_t offset, points;
    std::deque<PackedB> packed;
};

Ref<KeptKernels> kept_kernels(const Tensor& weight, const Product& p) {
    return prepared_or_made<KeptKernels>(
        *weight->storage,
        [&](const KeptKernels& kept) {
            return equal(kept.sizes, weight.sizes()) && kept.offset == weight->offset && kept.points == p.points;
        },
        [&] { return make_ref<KeptKernels>(weight, p); });
}

// Few tiles: reading the kernels is most of the work, so the threads share the points.
void convolve_with_kept(const Product& p, const KeptKernels& kernels) {
    const int64_t count = p.tiles.count(), grain = std::max<int64_t>(1, kGrain / (32 * p.c));
    const int64_t v_step = point_step(count * p.c), m_step = point_step(count * p.k);
    const Floats memory(p.points * (v_step + m_step) + p.c);
    float *v = memory.data(), *m = v + p.points * v_step, *none = m + p.points * m_step;
    std::fill_n(none, p.c, 0.0f);
    AllowThreads threads(true);
    parallel_for(0, count, grain, [&](int64_t b, int64_t e) {
        for (int64_t t = b; t < e; t++) p.read(t, v + t * p.c, v_step, none);
    });
    parallel_for(0, p.points, 1, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++)
            sgemm({count, p.k, p.c, {v + i * v_step, p.c, false}, {nullptr, p.k, false}, m + i * m_step, p.k},
                  &kernels.packed[static_cast<size_t>(i)]);
    });
    parallel_for(0, count, grain, [&](int64_t b, int64_t e) {
        const Floats drop(p.k);
        for (int64_t t = b; t < e; t++) p.write(t, m + t * p.k, m_step, 0, p.k, drop.data());
    });
}

void convolve(const Product& p) {
    if (p.points * p.c * p.k <= 1 << 20)
        convolve_by_tiles(p);
    else
        convolve_by_kernels(p);
}

// Nanoseconds to transform an element of a kernel (both ways of transforming cost memory traffic), or to read it.
constexpr double kTransform = 0.3, kRead = 0.16;

// Expected time on one thread, in nanoseconds with AVX-512.
double expected(const Tiles& tiles, double c, double k, double per_kernel) {
    const auto points = static_cast<double>(tiles.points()), count = static_cast<double>(tiles.count());
    return points * (count * c * k / 65 + count * (c + k) * 0.10 + c * k * per_kernel);
}
double expected_direct(const Tiles& tiles, double c, double k) {
    return static_cast<double>(tiles.kernel * tiles.kernel * tiles.batch * tiles.out_h * tiles.out_w) * c * k / 65;
}

template <class Make>
Tiles best_tiles(int64_t c, int64_t k, double per_kernel, Make&& make) {
    const Tiles four = make(4), two = make(2);
    if (two.kernel == 5) return two;
    const auto dc = static_cast<double>(c), dk = static_cast<double>(k);
    // Kept kernels of the larger tile are more than twice the memory.
    const double handicap = per_kernel == kRead ? 1.15 : 1;
    return handicap * expected(four, dc, dk, per_kernel) <= expected(two, dc, dk, per_kernel) ? four : two;
}

Tiles output_tiles(const ConvolutionPlan& p, int64_t batch, int64_t c, int64_t k, double per_kernel) {
    const Window& w = p.window;
    return best_tiles(c, k, per_kernel, [&](int64_t out) {
        return Tiles(batch, w.in[1], w.in[2], w.out[1], w.out[2], w.padding[1], w.padding[2], w.kernel[1], out);
    });
}

// Of more tiles than this the products take so long that transforming the kernels does not count.
constexpr int64_t kMostTilesToKeep = 128;

// The cost of a kernel's element, by whether the transformed ones are kept.
double kernel_cost(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight, bool keep) {
    if (!keep || !weight->storage->is_private()) return kTransform;
    const Tiles tiles = output_tiles(p, input.size(0), weight.size(1), weight.size(0), kRead);
    return tiles.count() <= kMostTilesToKeep ? kRead : kTransform;
}

}  // namespace

bool winograd_pays(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight, bool keep_weight) {
    const Window& w = p.window;
    if (selected_isa() == Isa::Baseline || input.dtype() != DType::F32 || input.dim() != 4 || p.groups != 1)
        return false;
    if (w.kernel[1] != w.kernel[2] || (w.kernel[1] != 3 && w.kernel[1] != 5)) return false;
    for (size_t d = 1; d < 3; d++)
        if (w.stride[d] != 1 || w.dilation[d] != 1 || w.padding[d] >= w.kernel[d]) return false;
    const int64_t c = weight.size(1), k = weight.size(0), lanes = loops(3, 4).lanes;
    if (c % lanes != 0 || k % lanes != 0 || c < 32 || k < 32) return false;
    const double cost = kernel_cost(p, input, weight, keep_weight);
    const Tiles tiles = output_tiles(p, input.size(0), c, k, cost);
    const auto dc = static_cast<double>(c), dk = static_cast<double>(k);
    return expected(tiles, dc, dk, cost) < 0.85 * expected_direct(tiles, dc, dk);
}

void winograd_forward(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight, const Tensor& bias,
                      const Tensor& output, bool keep_weight) {
    const int64_t c = weight.size(1), k = weight.size(0);
    const double cost = kernel_cost(p, input, weight, keep_weight);
    const Product product(output_tiles(p, input.size(0), c, k, cost), c, k, input.data<float>(), weight.data<float>(),
                          false, bias ? bias.data<float>() : nullptr, output.data<float>());
    if (cost == kRead)
        convolve_with_kept(product, *kept_kernels(weight, product));
    else
        convolve(product);
}

void winograd_backward_input(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& weight,
                             const Tensor& grad_input) {
    const Window& w = p.window;
    const int64_t c = weight.size(0), k = weight.size(1);
    const Tiles tiles = best_tiles(c, k, kTransform, [&](int64_t out) {
        return Tiles(grad_output.size(0), w.out[1], w.out[2], w.in[1], w.in[2], w.kernel[1] - 1 - w.padding[1],
                     w.kernel[2] - 1 - w.padding[2], w.kernel[1], out);
    });
    convolve({tiles, c, k, grad_output.data<float>(), weight.data<float>(), true, nullptr, grad_input.data<float>()});
}

namespace {

// The sum over all tiles of products between positions and gradients, at every point.
struct Correlation {
    const WinogradLoops& loop;
    Tiles tiles;
    int64_t c, k, points, panel;
    const float *x, *gy;
    float* gw;

    Correlation(const Tiles& t, int64_t channels, int64_t results, const float* from, const float* gradient, float* to)
        : loop(loops(t.kernel, t.out)),
          tiles(t),
          c(channels),
          k(results),
          points(t.points()),
          panel(std::min<int64_t>(loop.panel, k)),
          x(from),
          gy(gradient),
          gw(to) {}

    // Tiles transformed at once, when about `elements` may be kept.
    int64_t chunk(int64_t elements) const {
        const int64_t fitting = std::max<int64_t>(128, elements / (points * (c + k)));
        const int64_t parts = (tiles.count() + fitting - 1) / fitting;
        return (tiles.count() + parts - 1) / parts;
    }
    void read(int64_t t0, int64_t n, float* v, int64_t v_step, float* m, int64_t m_step, const float* none) const {
        parallel_for(0, n, std::max<int64_t>(1, kGrain / (32 * (c + k))), [&](int64_t b, int64_t e) {
            const float* from[kMostPoints];
            for (int64_t t = b; t < e; t++) {
                tiles.inputs(t0 + t, x, c, none, from);
                loop.input(c, from, v + t * c, v_step);
                tiles.outputs<const float>(t0 + t, gy, k, none, from);
                loop.output_gradient(k, from, m + t * k, m_step);
            }
        });
    }
};

// Few kernels: the threads share the points.
void correlate_by_points(const Correlation& p) {
    const int64_t count = p.tiles.count(), chunk = p.chunk(1 << 20);
    const int64_t u_step = point_step(p.c * p.k), v_step = point_step(chunk * p.c), m_step = point_step(chunk * p.k);
    const Floats memory(p.points * (u_step + v_step + m_step) + std::max(p.c, p.k));
    float *u = memory.data(), *v = u + p.points * u_step, *m = v + p.points * v_step, *none = m + p.points * m_step;
    std::fill_n(none, std::max(p.c, p.k), 0.0f);
    AllowThreads threads(true);
    auto panel_at = [&](int64_t k0) { return std::min(p.panel, p.k - k0); };
    for (int64_t t0 = 0; t0 < count; t0 += chunk) {
        const int64_t n = std::min(chunk, count - t0);
        p.read(t0, n, v, v_step, m, m_step, none);
        parallel_for(0, p.points, 1, [&](int64_t b, int64_t e) {
            for (int64_t i = b; i < e; i++)
                for (int64_t k0 = 0; k0 < p.k; k0 += p.panel)
                    p.loop.product(p.c, panel_at(k0), n, v + i * v_step, 1, p.c, m + i * m_step + k0, p.k,
                                   u + i * u_step + k0 * p.c, panel_at(k0), t0 > 0);
        });
    }
    parallel_for(0, p.c, 16, [&](int64_t c0, int64_t c1) {
        for (int64_t k0 = 0; k0 < p.k; k0 += p.panel)
            p.loop.kernels_gradient({nullptr, p.c, p.k, false, c0, c1, k0, k0 + panel_at(k0)},
                                    u + k0 * p.c + c0 * panel_at(k0), u_step, p.gw);
    });
}

// Many kernels: each thread has blocks of them to itself. When one chunk holds all tiles, their products never leave
// the cache.
void correlate_by_kernels(const Correlation& p) {
    const int64_t count = p.tiles.count(), chunk = p.chunk(6 << 20);
    const bool at_once = chunk == count;
    constexpr int64_t rows = 48;
    const int64_t row_blocks = (p.c + rows - 1) / rows, blocks = row_blocks * ((p.k + p.panel - 1) / p.panel);
    const int64_t u_step = point_step(rows * p.panel), v_step = point_step(chunk * p.c),
                  m_step = point_step(chunk * p.k);
    const int64_t workers = num_threads();  // asked once, as above
    const int64_t each = p.points * u_step, kept = at_once ? workers : blocks;
    const Floats u_memory(kept * each), memory(p.points * (v_step + m_step) + std::max(p.c, p.k));
    float *u = u_memory.data(), *v = memory.data(), *m = v + p.points * v_step, *none = m + p.points * m_step;
    std::fill_n(none, std::max(p.c, p.k), 0.0f);
    AllowThreads threads(true);
    for (int64_t t0 = 0; t0 < count; t0 += chunk) {
        const int64_t n = std::min(chunk, count - t0);
        p.read(t0, n, v, v_step, m, m_step, none);
        std::atomic<int> next{0};
        parallel_for(0, blocks, (blocks + workers - 1) / workers, [&](int64_t b, int64_t e) {
            float* mine = at_once ? u + next++ * each : nullptr;
            for (int64_t i = b; i < e; i++) {
                const int64_t c0 = i % row_blocks * rows, k0 = i / row_blocks * p.panel;
                const int64_t c1 = std::min(p.c, c0 + rows), width = std::min(p.panel, p.k - k0);
                float* to = at_once ? mine : u + i * each;
                for (int64_t at = 0; at < p.points; at++)
                    p.loop.product(c1 - c0, width, n, v + at * v_step + c0, 1, p.c, m + at * m_step + k0, p.k,
                                   to + at * u_step, width, t0 > 0);
                if (t0 + n == count)
                    p.loop.kernels_gradient({nullptr, p.c, p.k, false, c0, c1, k0, k0 + width}, to, u_step, p.gw);
            }
        });
    }
}

}  // namespace

void winograd_backward_weight(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& input,
                              const Tensor& grad_weight) {
    const int64_t c = grad_weight.size(1), k = grad_weight.size(0);
    const Correlation correlation(output_tiles(p, input.size(0), c, k, kTransform), c, k, input.data<float>(),
                                  grad_output.data<float>(), grad_weight.data<float>());
    if (correlation.points * c * k <= 1 << 19)
        correlate_by_points(correlation);
    else
        correlate_by_kernels(correlation);
}

}  // namespace mashal
