// Convolution by unfolding into columns and multiplying matrices; 1x1 convolutions need no unfolding.
#include <vector>

#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/convolution.h"
#include "cpu/gemm.h"

namespace mashal {
namespace {

const Scalar kOne = Scalar::of(int64_t{1});
const Scalar kZero = Scalar::of(int64_t{0});
// Bytes of the column matrix at a time: it should survive in the outer cache until it is multiplied.
constexpr int64_t kColumnBytes = 8 << 20;

template <class F>
void visit_convolution(DType t, F&& f) {
    switch (t) {
        case DType::F32: return f(float{});
        case DType::F64: return f(double{});
        case DType::C64: return f(c64{});
        case DType::C128: return f(c128{});
        case DType::I64: return f(int64_t{});
        case DType::I32: return f(int32_t{});
        case DType::I16: return f(int16_t{});
        case DType::I8: return f(int8_t{});
        case DType::U8: return f(uint8_t{});
        default:
            raise_error(ErrorKind::NotImplemented, "convolution", "not implemented for '", dtype_legacy_name(t), "'");
    }
}

struct Sizes {
    int64_t batch, in_channels, out_channels, groups, group_in, group_out, taps, columns;
    Sizes(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight)
        : batch(input.size(0)),
          in_channels(input.size(1)),
          out_channels(weight.size(0)),
          groups(p.groups),
          group_in(in_channels / groups),
          group_out(out_channels / groups),
          taps(p.window.kernel_size()),
          columns(p.window.out_size()) {}
    int64_t depth() const { return group_in * taps; }
    double work() const {
        return static_cast<double>(batch) * static_cast<double>(out_channels) * static_cast<double>(columns * depth());
    }
};

// Images are shared out between threads if there are enough of them; otherwise each is worked on by all.
template <class F>
void for_images(int64_t batch, F&& f) {
    if (batch >= num_threads())
        parallel_for(0, batch, 1, f);
    else
        f(0, batch);
}

int64_t rows_at_once(const Window& w, int64_t column_rows, int64_t item) {
    const int64_t row_bytes = std::max<int64_t>(1, column_rows * w.out[2] * item);
    return std::clamp<int64_t>(kColumnBytes / row_bytes, 1, std::max<int64_t>(1, w.out_rows()));
}

// Calls f(columns, stored row length, first column, number of columns) for pieces of the column matrix of one image.
template <class T, class F>
void for_columns(const Window& w, int64_t channels, const T* image, std::vector<T>& buffer, F&& f) {
    const int64_t total = w.out_size();
    if (w.is_pointwise()) return f(image, total, int64_t{0}, total);
    const int64_t taps = w.kernel_size(), rows = channels * taps;
    const int64_t step = rows_at_once(w, rows, sizeof(T));
    buffer.resize(static_cast<size_t>(rows * step * w.out[2]));
    for (int64_t r0 = 0; r0 < w.out_rows(); r0 += step) {
        const int64_t r1 = std::min(w.out_rows(), r0 + step), n = (r1 - r0) * w.out[2];
        T* columns = buffer.data();
        parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++)
                unfold_row(w, image + i / taps * w.in_size(), i % taps, r0, r1, columns + i * n);
        });
        f(static_cast<const T*>(columns), n, r0 * w.out[2], n);
    }
}

}  // namespace

void convolution_forward(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight, const Tensor& bias,
                         const Tensor& output) {
    const Sizes s(p, input, weight);
    const DType dtype = input.dtype();
    visit_convolution(dtype, [&](auto zero) {
        using T = decltype(zero);
        const T *x = input.data<T>(), *w = weight.data<T>(), *b = bias ? bias.data<T>() : nullptr;
        T* y = output.data<T>();
        const Window& window = p.window;
        AllowThreads threads(s.work() > 1e6);
        for_images(s.batch, [&](int64_t begin, int64_t end) {
            std::vector<T> buffer;
            for (int64_t n = begin; n < end; n++) {
                T* image = y + n * s.out_channels * s.columns;
                if (b != nullptr)
                    for (int64_t c = 0; c < s.out_channels; c++) std::fill_n(image + c * s.columns, s.columns, b[c]);
                for_columns(window, s.in_channels, x + n * s.in_channels * window.in_size(), buffer,
                            [&](const T* columns, int64_t ld, int64_t at, int64_t count) {
                                for (int64_t g = 0; g < s.groups; g++)
                                    gemm(dtype, s.group_out, count, s.depth(), kOne,
                                         {w + g * s.group_out * s.depth(), s.depth(), false},
                                         {columns + g * s.depth() * ld, ld, false}, b != nullptr ? kOne : kZero,
                                         image + g * s.group_out * s.columns + at, s.columns);
                            });
            }
        });
    });
}

void convolution_backward_input(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& weight,
                                const Tensor& grad_input) {
    const Sizes s(p, grad_input, weight);
    const DType dtype = grad_input.dtype();
    visit_convolution(dtype, [&](auto zero) {
        using T = decltype(zero);
        const T *gy = grad_output.data<T>(), *w = weight.data<T>();
        T* gx = grad_input.data<T>();
        const Window& window = p.window;
        AllowThreads threads(s.work() > 1e6);
        for_images(s.batch, [&](int64_t begin, int64_t end) {
            std::vector<T> buffer;
            for (int64_t n = begin; n < end; n++) {
                const T* grad = gy + n * s.out_channels * s.columns;
                T* image = gx + n * s.in_channels * window.in_size();
                auto multiply = [&](int64_t at, int64_t count, T* columns, int64_t ld) {
                    for (int64_t g = 0; g < s.groups; g++)
                        gemm(dtype, s.depth(), count, s.group_out, kOne,
                             {w + g * s.group_out * s.depth(), s.depth(), true},
                             {grad + g * s.group_out * s.columns + at, s.columns, false}, kZero,
                             columns + g * s.depth() * ld, ld);
                };
                if (window.is_pointwise()) {
                    multiply(0, s.columns, image, s.columns);
                    continue;
                }
                std::fill_n(image, s.in_channels * window.in_size(), T(0));
                const int64_t rows = s.in_channels * s.taps, step = rows_at_once(window, rows, sizeof(T));
                buffer.resize(static_cast<size_t>(rows * step * window.out[2]));
                T* columns = buffer.data();
                for (int64_t r0 = 0; r0 < window.out_rows(); r0 += step) {
                    const int64_t r1 = std::min(window.out_rows(), r0 + step), count = (r1 - r0) * window.out[2];
                    multiply(r0 * window.out[2], count, columns, count);
                    parallel_for(0, s.in_channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, count * s.taps)),
                                 [&](int64_t c0, int64_t c1) {
                                     for (int64_t c = c0; c < c1; c++)
                                         for (int64_t t = 0; t < s.taps; t++)
                                             fold_row(window, image + c * window.in_size(), t, r0, r1,
                                                      columns + (c * s.taps + t) * count);
                                 });
                }
            }
        });
    });
}

void convolution_backward_weight(const ConvolutionPlan& p, const Tensor& grad_output, const Tensor& input,
                                 const Tensor& grad_weight) {
    const Sizes s(p, input, grad_weight);
    const DType dtype = input.dtype();
    visit_convolution(dtype, [&](auto zero) {
        using T = decltype(zero);
        const T *gy = grad_output.data<T>(), *x = input.data<T>();
        T* gw = grad_weight.data<T>();
        const Window& window = p.window;
        const int64_t size = grad_weight.numel();
        AllowThreads threads(s.work() > 1e6);
        // One sum a thread, added up at the end.
        const int64_t parts = s.batch >= num_threads() ? num_threads() : 1;
        std::vector<T> sums(static_cast<size_t>((parts - 1) * size));
        std::fill_n(gw, size, T(0));
        auto add_images = [&](int64_t part) {
            std::vector<T> buffer;
            T* sum = part == 0 ? gw : sums.data() + (part - 1) * size;
            for (int64_t n = s.batch * part / parts; n < s.batch * (part + 1) / parts; n++) {
                const T* grad = gy + n * s.out_channels * s.columns;
                for_columns(window, s.in_channels, x + n * s.in_channels * window.in_size(), buffer,
                            [&](const T* columns, int64_t ld, int64_t at, int64_t count) {
                                for (int64_t g = 0; g < s.groups; g++)
                                    gemm(dtype, s.group_out, s.depth(), count, kOne,
                                         {grad + g * s.group_out * s.columns + at, s.columns, false},
                                         {columns + g * s.depth() * ld, ld, true}, kOne,
                                         sum + g * s.group_out * s.depth(), s.depth());
                            });
            }
        };
        if (parts == 1) return add_images(0);
        parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
            for (int64_t part = begin; part < end; part++) add_images(part);
        });
        for (int64_t part = 1; part < parts; part++)
            for (int64_t i = 0; i < size; i++) gw[i] += sums[static_cast<size_t>((part - 1) * size + i)];
    });
}

}  // namespace mashal
