// Interpolation, average pooling, adaptive average pooling and padding by indices: primitives over csrc/cpu/resample.h.
// Each is linear and comes with its adjoint.
#include "cpu/checks.h"
#include "cpu/copy.h"
#include "cpu/pool_common.h"
#include "cpu/resample.h"
#include "dispatch/primitive.h"

namespace mashal {
namespace {

using Tables = std::vector<AxisTable>;

void check_spatial(std::string_view op, const Tensor& t, size_t spatial) {
    const auto dim = static_cast<size_t>(t.dim());
    MASHAL_CHECK(spatial >= 1 && spatial <= 3 && (dim == spatial + 1 || dim == spatial + 2), op, "input must be ",
                 spatial + 1, "-D or ", spatial + 2, "-D for ", spatial, " spatial dimensions (1 to 3), got input ",
                 text(t), ".");
}

// `like`'s shape with its last dimensions replaced.
IntVec with_spatial(const Tensor& like, IntSpan spatial) {
    IntVec sizes = like.sizes();
    for (size_t i = 0; i < spatial.size(); i++) sizes[sizes.size() - spatial.size() + i] = spatial[i];
    return sizes;
}

void announce(Call& c, const IntVec& sizes, const Tensor& like, size_t spatial) {
    c.specs.push_back({sizes, like.dtype(), like.device(), following_strides(sizes, like, spatial)});
}

Tables transposed(const Tables& tables) {
    Tables out;
    for (const auto& t : tables) out.push_back(t.transposed());
    return out;
}

// ---- interpolation ----
Interpolation interpolation_mode(const std::string& mode) {
    if (mode == "nearest") return Interpolation::Nearest;
    if (mode == "nearest-exact") return Interpolation::NearestExact;
    if (mode == "linear") return Interpolation::Linear;
    if (mode == "cubic") return Interpolation::Cubic;
    if (mode == "linear-antialias") return Interpolation::LinearAntialias;
    if (mode == "cubic-antialias") return Interpolation::CubicAntialias;
    MASHAL_CHECK_AS(Value, mode == "lanczos-antialias", "interpolate", "unknown mode '", mode, "'.");
    return Interpolation::LanczosAntialias;
}

Tables interpolation_tables(const Call& c, IntSpan in, IntSpan out) {
    Tables tables;
    const auto& scales = c.args[4].float_list();
    for (size_t i = 0; i < in.size(); i++)
        tables.push_back(interpolation_table(interpolation_mode(c.args[2].text()), in[i], out[i], c.flag(3),
                                             i < scales.size() ? scales[i] : 0.0, c.tensor(0).dtype() == DType::F64));
    return tables;
}

IntSpan spatial_of(const Tensor& t, size_t n) { return IntSpan(t.sizes()).subspan(t.sizes().size() - n); }

void check_positive(std::string_view op, const Tensor& input, IntSpan out) {
    for (int64_t s : out)
        MASHAL_CHECK(s > 0, op, "output_size must be positive, got ", shape_text(out), " for input ", text(input), ".");
    for (int64_t s : spatial_of(input, out.size()))
        MASHAL_CHECK(s > 0, op, "spatial dimensions of input must not be empty, got input ", text(input), ".");
}

void interpolate_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const IntSpan out = c.ints(1);
    check_spatial("interpolate", input, out.size());
    check_positive("interpolate", input, out);
    MASHAL_CHECK(is_floating(input.dtype()) || input.dtype() == DType::U8, "interpolate", "not implemented for '",
                 dtype_legacy_name(input.dtype()), "'");
    announce(c, with_spatial(input, out), input, out.size());
}
void interpolate_kernel(Call& c) {
    if (c.out[0].numel() == 0) return;
    const Tensor input = c.tensor(0);
    resample(input, interpolation_tables(c, spatial_of(input, c.ints(1).size()), c.ints(1)), c.out[0]);
}

// Adjoints: argument 1 is the spatial size of the input.
void adjoint_shape(Call& c) {
    const Tensor grad = c.tensor(0);
    check_spatial(c.name(), grad, c.ints(1).size());
    check_positive(c.name(), grad, c.ints(1));
    check_floating(c.name(), grad);
    announce(c, with_spatial(grad, c.ints(1)), grad, c.ints(1).size());
}
void interpolate_backward_kernel(Call& c) {
    if (c.out[0].numel() == 0) return;
    const Tensor grad = c.tensor(0);
    resample(grad, transposed(interpolation_tables(c, c.ints(1), spatial_of(grad, c.ints(1).size()))), c.out[0]);
}

// ---- adaptive average pooling ----
Tables adaptive_tables(IntSpan in, IntSpan out) {
    Tables tables;
    for (size_t i = 0; i < in.size(); i++) tables.push_back(adaptive_average_table(in[i], out[i]));
    return tables;
}
void adaptive_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const IntSpan out = c.ints(1);
    check_spatial("adaptive_avg_pool", input, out.size());
    for (int64_t s : out)
        MASHAL_CHECK(s >= 0, "adaptive_avg_pool", "output_size must not be negative, got ", shape_text(out), ".");
    for (int64_t s : spatial_of(input, out.size()))
        MASHAL_CHECK(s > 0, "adaptive_avg_pool", "spatial dimensions of input must not be empty, got input ",
                     text(input), ".");
    MASHAL_CHECK(is_floating(input.dtype()), "adaptive_avg_pool", "not implemented for '",
                 dtype_legacy_name(input.dtype()), "'");
    announce(c, with_spatial(input, out), input, out.size());
}
void adaptive_kernel(Call& c) {
    if (c.out[0].numel() == 0) return;
    const Tensor input = c.tensor(0);
    resample(input, adaptive_tables(spatial_of(input, c.ints(1).size()), c.ints(1)), c.out[0]);
}
void adaptive_backward_shape(Call& c) {
    const Tensor grad = c.tensor(0);
    check_spatial("adaptive_avg_pool", grad, c.ints(1).size());
    for (int64_t s : c.ints(1))
        MASHAL_CHECK(s > 0, "adaptive_avg_pool", "input_size must be positive, got ", shape_text(c.ints(1)), ".");
    check_floating("adaptive_avg_pool", grad);
    announce(c, with_spatial(grad, c.ints(1)), grad, c.ints(1).size());
}
void adaptive_backward_kernel(Call& c) {
    const Tensor grad = c.tensor(0);
    if (c.out[0].numel() == 0) return;
    if (grad.numel() == 0) return fill(c.out[0], Scalar::of(int64_t{0}));
    resample(grad, transposed(adaptive_tables(c.ints(1), spatial_of(grad, c.ints(1).size()))), c.out[0]);
}

// ---- average pooling: (kernel_size, stride, padding, ..., count_include_pad, divisor) from position `at` on ----
Tables average_tables(const Call& c, size_t at, bool include_padding, int64_t divisor, IntSpan in, IntSpan out) {
    Tables tables;
    for (size_t i = 0; i < in.size(); i++)
        tables.push_back(average_table(in[i], out[i], c.ints(at)[i], c.ints(at + 1)[i], c.ints(at + 2)[i],
                                       include_padding, divisor == 0));
    if (divisor != 0)
        for (double& w : tables[0].weight) w /= static_cast<double>(divisor);
    return tables;
}
void average_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const IntVec ones(c.ints(1).size(), 1);
    MASHAL_CHECK(is_floating(input.dtype()), "avg_pool", "not implemented for '", dtype_legacy_name(input.dtype()),
                 "'");
    announce(c, pool_sizes("avg_pool", input, c.ints(1), c.ints(2), c.ints(3), ones, c.flag(4)), input, ones.size());
}
void average_kernel(Call& c) {
    if (c.out[0].numel() == 0) return;
    const Tensor input = c.tensor(0);
    const size_t n = c.ints(1).size();
    resample(input, average_tables(c, 1, c.flag(5), c.i64(6), spatial_of(input, n), spatial_of(c.out[0], n)), c.out[0]);
}
void average_backward_shape(Call& c) {
    const Tensor grad = c.tensor(0);
    const IntSpan in = c.ints(1), stride = c.ints(3), padding = c.ints(4);
    check_spatial("avg_pool", grad, in.size());
    check_positive("avg_pool", grad, in);
    check_floating("avg_pool", grad);
    const IntVec sizes = with_spatial(grad, in), ones(c.ints(2).size(), 1);
    checked_numel("avg_pool", sizes);
    check_pool_lists("avg_pool", empty(sizes, grad.dtype(), Device{DeviceType::Meta, -1}), c.ints(2), stride, padding,
                     ones);
    for (size_t i = 0; i < in.size(); i++)
        MASHAL_CHECK((spatial_of(grad, in.size())[i] - 1) * stride[i] < in[i] + padding[i], "avg_pool",
                     "each window must begin inside the input or its left padding, got grad ", text(grad),
                     " for input_size ", shape_text(in), ".");
    announce(c, sizes, grad, in.size());
}
void average_backward_kernel(Call& c) {
    if (c.out[0].numel() == 0) return;
    const Tensor grad = c.tensor(0);
    resample(grad, transposed(average_tables(c, 2, c.flag(5), c.i64(6), c.ints(1), spatial_of(grad, c.ints(1).size()))),
             c.out[0]);
}

// ---- padding by indices ----
PadMode pad_mode(const std::string& mode) {
    if (mode == "reflect") return PadMode::Reflect;
    if (mode == "replicate") return PadMode::Replicate;
    MASHAL_CHECK_AS(Value, mode == "circular", "pad", "unknown mode '", mode, "'.");
    return PadMode::Circular;
}
// pad counts from the last dimension: (left, right, top, bottom, ...).
IntVec padded_sizes(IntSpan sizes, IntSpan pad, int64_t sign) {
    IntVec out(sizes);
    constexpr int64_t kLimit = int64_t{1} << 60;
    for (int64_t p : pad) MASHAL_CHECK(-kLimit <= p && p <= kLimit, "pad", "pad is too large: ", shape_text(pad), ".");
    for (size_t i = 0; i < pad.size() / 2; i++) out[out.size() - 1 - i] += sign * (pad[2 * i] + pad[2 * i + 1]);
    return out;
}
Tables padding_tables(PadMode mode, IntSpan in, IntSpan pad) {
    Tables tables;
    for (size_t i = 0; i < in.size(); i++) {
        const size_t at = 2 * (in.size() - 1 - i);
        tables.push_back(padding_table(mode, in[i], pad[at], pad[at + 1]));
    }
    return tables;
}
// `given` is the tensor the caller passed: the input, or the gradient.
void check_pairs(const Tensor& given, IntSpan pad) {
    MASHAL_CHECK(pad.size() % 2 == 0 && !pad.empty(), "pad", "pad must hold pairs, got ", shape_text(pad), ".");
    check_spatial("pad", given, pad.size() / 2);
}
// Whether `pad` turns `from` into `sizes`.
void check_padding(PadMode mode, IntSpan from, IntSpan sizes, IntSpan pad, const Tensor& input) {
    for (size_t i = 0; i < pad.size() / 2; i++) {
        const size_t d = sizes.size() - 1 - i;
        const int64_t in = from[d], most = std::max(pad[2 * i], pad[2 * i + 1]);
        if (mode == PadMode::Reflect)
            MASHAL_CHECK(most < in, "pad", "reflect padding must be less than the size of the dimension (", most,
                         " vs ", in, " in dimension ", d, "), got pad ", shape_text(pad), " and input ", text(input),
                         ".");
        const int64_t left = in + std::min<int64_t>(pad[2 * i], 0) + std::min<int64_t>(pad[2 * i + 1], 0);
        if (mode == PadMode::Circular)
            MASHAL_CHECK(most <= left, "pad", "circular padding must not exceed the size of the dimension (", most,
                         " vs ", left, " in dimension ", d, "), got pad ", shape_text(pad), " and input ", text(input),
                         ".");
        MASHAL_CHECK(in > 0 && sizes[d] >= 1, "pad", "result must not be empty in dimension ", d, ", got pad ",
                     shape_text(pad), " and input ", text(input), ".");
    }
}
void pad_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const IntSpan pad = c.ints(1);
    check_pairs(input, pad);
    const IntVec sizes = padded_sizes(input.sizes(), pad, 1);
    check_padding(pad_mode(c.args[2].text()), input.sizes(), sizes, pad, input);
    announce(c, sizes, input, pad.size() / 2);
}
void pad_kernel(Call& c) {
    if (c.out[0].numel() == 0) return;
    const Tensor input = c.tensor(0);
    resample(input, padding_tables(pad_mode(c.args[2].text()), spatial_of(input, c.ints(1).size() / 2), c.ints(1)),
             c.out[0]);
}
void pad_backward_shape(Call& c) {
    const Tensor grad = c.tensor(0);
    const IntSpan pad = c.ints(1);
    check_pairs(grad, pad);
    const IntVec sizes = padded_sizes(grad.sizes(), pad, -1);
    check_padding(pad_mode(c.args[2].text()), sizes, grad.sizes(), pad, grad);
    announce(c, sizes, grad, pad.size() / 2);
}
void pad_backward_kernel(Call& c) {
    if (c.out[0].numel() == 0) return;
    const auto tables =
        padding_tables(pad_mode(c.args[2].text()), spatial_of(c.out[0], c.ints(1).size() / 2), c.ints(1));
    resample(c.tensor(0), transposed(tables), c.out[0]);
}

// ---- constant padding: negative amounts crop ----
void constant_pad_shape(Call& c) {
    const Tensor input = c.tensor(0);
    const IntSpan pad = c.ints(1);
    MASHAL_CHECK(pad.size() % 2 == 0 && pad.size() <= 2 * input.sizes().size(), "pad",
                 "pad must hold one pair for each of at most ", input.dim(), " dimensions, got ", shape_text(pad), ".");
    const IntVec sizes = padded_sizes(input.sizes(), pad, 1);
    for (int64_t s : sizes)
        MASHAL_CHECK(s >= 0, "pad", "result would have the negative size ", s, ", got pad ", shape_text(pad),
                     " and input ", text(input), ".");
    announce(c, sizes, input, input.dim() >= 3 ? static_cast<size_t>(input.dim() - 2) : 0);
}
void constant_pad_kernel(Call& c) {
    const Tensor input = c.tensor(0), out = c.out[0];
    const IntSpan pad = c.ints(1);
    IntVec sizes = input.sizes();
    int64_t from = input->offset, to = out->offset;
    bool inside = true, covers = true;
    for (size_t i = 0; i < pad.size() / 2; i++) {
        const size_t d = sizes.size() - 1 - i;
        for (size_t side = 0; side < 2; side++) sizes[d] += std::min<int64_t>(pad[2 * i + side], 0);
        from += std::max<int64_t>(-pad[2 * i], 0) * input.strides()[d];
        to += std::max<int64_t>(pad[2 * i], 0) * out.strides()[d];
        covers = covers && pad[2 * i] <= 0 && pad[2 * i + 1] <= 0;
    }
    for (int64_t s : sizes) inside = inside && s > 0;
    if (!covers || !inside) fill(out, c.args[2].scalar());
    if (inside && out.numel() > 0)
        copy_into(alias(out, sizes, out.strides(), to), alias(input, sizes, input.strides(), from));
}

const OpRegistration r_interpolate{
    "_interpolate", {.shape = interpolate_shape, .kernel = interpolate_kernel, .layout = Layout::Follow}};
const OpRegistration r_interpolate_backward{
    "_interpolate_backward", {.shape = adjoint_shape, .kernel = interpolate_backward_kernel, .layout = Layout::Follow}};
const OpRegistration r_adaptive{"_adaptive_avg_pool",
                                {.shape = adaptive_shape, .kernel = adaptive_kernel, .layout = Layout::Follow}};
const OpRegistration r_adaptive_backward{
    "_adaptive_avg_pool_backward",
    {.shape = adaptive_backward_shape, .kernel = adaptive_backward_kernel, .layout = Layout::Follow}};
const OpRegistration r_average{"_avg_pool",
                               {.shape = average_shape, .kernel = average_kernel, .layout = Layout::Follow}};
const OpRegistration r_average_backward{
    "_avg_pool_backward",
    {.shape = average_backward_shape, .kernel = average_backward_kernel, .layout = Layout::Follow}};
const OpRegistration r_pad{"_pad_by_index", {.shape = pad_shape, .kernel = pad_kernel, .layout = Layout::Follow}};
const OpRegistration r_pad_backward{
    "_pad_by_index_backward", {.shape = pad_backward_shape, .kernel = pad_backward_kernel, .layout = Layout::Follow}};
const OpRegistration r_constant_pad{
    "constant_pad_nd", {.shape = constant_pad_shape, .kernel = constant_pad_kernel, .layout = Layout::Follow}};

}  // namespace
}  // namespace mashal
