// im2col and col2im: sliding blocks of images as columns, and the sum of such columns back into images.
#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/window.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

// (kernel_size, dilation, padding, stride) begin at argument `at`.
Window make_window(const Call& c, size_t at, IntSpan image) {
    const IntSpan kernel = c.ints(at), dilation = c.ints(at + 1), padding = c.ints(at + 2), stride = c.ints(at + 3);
    IntVec out;
    MASHAL_CHECK(kernel.size() == 2 && dilation.size() == 2 && padding.size() == 2 && stride.size() == 2, c.name(),
                 "kernel_size, dilation, padding and stride must have 2 elements each, got kernel_size ",
                 shape_text(kernel), ", dilation ", shape_text(dilation), ", padding ", shape_text(padding),
                 " and stride ", shape_text(stride), ".");
    check_window(c.name(), "kernel_size", kernel, 1);
    check_window(c.name(), "dilation", dilation, 1);
    check_window(c.name(), "stride", stride, 1);
    check_window(c.name(), "padding", padding, 0);
    for (size_t i = 0; i < 2; i++) {
        out.push_back((image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1);
        MASHAL_CHECK(image[i] + 2 * padding[i] >= dilation[i] * (kernel[i] - 1) + 1, c.name(),
                     "sliding blocks must fit the padded image: its spatial size ", shape_text(image),
                     " with kernel_size ", shape_text(kernel), ", dilation ", shape_text(dilation), " and padding ",
                     shape_text(padding), " leaves no block.");
    }
    return Window(image, kernel, out, stride, padding, dilation);
}

void unfold_shape(Call& c) {
    const Tensor input = c.tensor(0);
    MASHAL_CHECK(input.dim() == 3 || input.dim() == 4, "im2col", "input must be 3-D or 4-D, got input ", text(input),
                 ".");
    IntVec sizes = input.sizes();
    const Window w = make_window(c, 1, IntSpan(sizes).last(2));
    const auto at = sizes.size() - 3;
    sizes[at] = checked_product("im2col", sizes[at], w.kernel_size());
    sizes[at + 1] = checked_product("im2col", w.out[1], w.out[2]);
    sizes.pop_back();
    c.result(sizes, input.dtype(), input.device());
}

void unfold_kernel(Call& c) {
    const Tensor input = contiguous(c.tensor(0)), out = c.out[0];
    if (out.numel() == 0) return;
    const Window w = make_window(c, 1, IntSpan(input.sizes()).last(2));
    const int64_t taps = w.kernel_size(), rows = out.numel() / w.out_size();
    visit_size(input.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* x = input.data<T>();
        T* y = out.data<T>();
        AllowThreads threads(out.numel() > kGrain);
        parallel_for(0, rows, std::max<int64_t>(1, kGrain / w.out_size()), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; i++)
                unfold_row(w, x + i / taps * w.in_size(), i % taps, 0, w.out_rows(), y + i * w.out_size());
        });
    });
}

void fold_shape(Call& c) {
    const Tensor input = c.tensor(0);
    MASHAL_CHECK(input.dim() == 2 || input.dim() == 3, "col2im", "input must be 2-D or 3-D, got input ", text(input),
                 ".");
    const IntSpan image = c.ints(1);
    MASHAL_CHECK(image.size() == 2, "col2im", "output_size must have 2 elements, got ", shape_text(image), ".");
    check_window("col2im", "output_size", image, 0);
    const Window w = make_window(c, 2, image);
    const int64_t rows = input.size(input.dim() - 2), columns = input.sizes().back();
    MASHAL_CHECK(rows % w.kernel_size() == 0, "col2im",
                 "second-to-last size of input must be a multiple of the block size (", rows, " vs ", w.kernel_size(),
                 "), got input ", text(input), ".");
    MASHAL_CHECK(columns == w.out_size(), "col2im", "last size of input must equal the number of blocks (", columns,
                 " vs ", w.out_size(), "), got input ", text(input), " and output_size ", shape_text(image), ".");
    IntVec sizes = input.sizes();
    sizes[sizes.size() - 2] = rows / w.kernel_size();
    sizes.back() = image[0];
    sizes.push_back(image[1]);
    c.result(sizes, input.dtype(), input.device());
}

void fold_kernel(Call& c) {
    const DType dtype = c.tensor(0).dtype(), work = compute_dtype(dtype);
    const Tensor input = contiguous(to_dtype(c.tensor(0), work));
    const Tensor out = work == dtype ? c.out[0] : empty(c.out[0].sizes(), work);
    const Window w = make_window(c, 2, c.ints(1));
    const int64_t taps = w.kernel_size(), planes = w.in_size() == 0 ? 0 : out.numel() / w.in_size();
    auto run = [&](auto zero) {
        using T = decltype(zero);
        const T* x = input.data<T>();
        T* y = out.data<T>();
        AllowThreads threads(input.numel() > kGrain);
        parallel_for(0, planes, std::max<int64_t>(1, kGrain / (w.out_size() * taps)), [&](int64_t begin, int64_t end) {
            for (int64_t p = begin; p < end; p++) {
                std::fill_n(y + p * w.in_size(), w.in_size(), T(0));
                for (int64_t t = 0; t < taps; t++)
                    fold_row(w, y + p * w.in_size(), t, 0, w.out_rows(), x + (p * taps + t) * w.out_size());
            }
        });
    };
    switch (work) {
        case DType::F32: run(float{}); break;
        case DType::F64: run(double{}); break;
        case DType::C64: run(c64{}); break;
        case DType::C128: run(c128{}); break;
        default:
            raise_error(ErrorKind::NotImplemented, "col2im", "not implemented for '", dtype_legacy_name(dtype), "'");
    }
    if (work != dtype) copy_into(c.out[0], out);
}

const OpRegistration r_unfold{"im2col", {.shape = unfold_shape, .kernel = unfold_kernel}};
const OpRegistration r_fold{"col2im", {.shape = fold_shape, .kernel = fold_kernel}};

}  // namespace
}  // namespace mashal
