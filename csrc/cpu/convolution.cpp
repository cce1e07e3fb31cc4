// The convolution primitives: argument checks, choice of engine, transposed convolution by exchange of roles.
#include "cpu/convolution.h"

#include "autograd/node.h"
#include "core/blocking.h"
#include "core/parallel.h"
#include "cpu/checks.h"
#include "cpu/convolution_pointwise.h"
#include "cpu/copy.h"
#include "cpu/layout.h"
#include "cpu/winograd.h"
#include "dispatch/primitive.h"
#ifdef MASHAL_WITH_ONEDNN
#include "cpu/onednn/onednn.h"
#endif

namespace mashal {
namespace {

// ---- arguments ----
struct Options {
    IntVec stride, padding, dilation, output_padding;
    bool transposed = false;
    int64_t groups = 1;
};

// Reads (stride, padding, dilation, transposed, output_padding, groups) from position `at` on.
Options read_options(const Call& c, size_t at) {
    return {IntVec(c.ints(at)),     IntVec(c.ints(at + 1)), IntVec(c.ints(at + 2)),
            IntVec(c.ints(at + 4)), c.flag(at + 3),         c.i64(at + 5)};
}

// Whether an image of this type and shape is best made channels-last.
bool prefers_channels_last([[maybe_unused]] const Tensor& like, [[maybe_unused]] const IntVec& sizes) {
#ifdef MASHAL_WITH_ONEDNN
    if (!like.device().is_cpu() || !onednn::usable() || sizes[1] == 1) return false;
    return like.dtype() == DType::F32 || (is_half(like.dtype()) && onednn::fast_half(like.dtype()));
#else
    return false;
#endif
}

void check_options(std::string_view op, const Options& o, size_t spatial) {
    auto check_list = [&](const IntVec& v, const char* name, int64_t least) {
        MASHAL_CHECK(v.size() == spatial, op, name, " must have ", spatial, " elements, got ", shape_text(v), ".");
        check_window(op, name, v, least);
    };
    check_list(o.stride, "stride", 1);
    check_list(o.padding, "padding", 0);
    check_list(o.dilation, "dilation", 1);
    if (o.transposed) check_list(o.output_padding, "output_padding", 0);
    MASHAL_CHECK(o.groups >= 1, op, "groups must be positive, got ", o.groups, ".");
}

// Channels-last if either of the two is, as PyTorch; else opaque where oneDNN computes.
void announce(Call& c, const IntVec& sizes, const Tensor& a, const Tensor& b) {
    c.specs.push_back({sizes, a.dtype(), a.device(), {}});
    if (sizes.size() < 4) return;
    const bool last = is_channels_last(a) || is_channels_last(b);
    if (!last && !prefers_channels_last(a, sizes)) return;
    c.specs.back().strides = channels_last_strides(sizes);
    c.specs.back().opaque = !last;
}

IntVec output_sizes(std::string_view op, const Options& o, const Tensor& input, const Tensor& weight) {
    IntVec out{input.size(0), o.transposed ? weight.size(1) * o.groups : weight.size(0)};
    for (size_t i = 0; i < o.stride.size(); i++) {
        const auto d = static_cast<int64_t>(i) + 2;
        const int64_t reach = checked_product(op, o.dilation[i], weight.size(d) - 1) + 1;
        MASHAL_CHECK(reach <= kMaxNumel, op, "kernel size is too large, got weight ", text(weight), " and dilation ",
                     shape_text(o.dilation), ".");
        if (o.transposed) {
            MASHAL_CHECK(o.output_padding[i] < std::max(o.stride[i], o.dilation[i]), op,
                         "output_padding must be smaller than either stride or dilation, got output_padding ",
                         shape_text(o.output_padding), ", stride ", shape_text(o.stride), " and dilation ",
                         shape_text(o.dilation), ".");
            out.push_back(checked_sum(op, checked_product(op, input.size(d) - 1, o.stride[i]),
                                      reach + o.output_padding[i] - 2 * o.padding[i]));
        } else {
            const int64_t padded = input.size(d) + 2 * o.padding[i];
            MASHAL_CHECK(padded >= reach, op, "kernel size can't be greater than padded input size (", reach, " vs ",
                         padded, " in dimension ", d, "), got input ", text(input), " and weight ", text(weight), ".");
            out.push_back((padded - reach) / o.stride[i] + 1);
        }
        MASHAL_CHECK(out.back() >= 0, op, "output size would be negative: ", shape_text(out), ", got input ",
                     text(input), " and weight ", text(weight), ".");
    }
    return out;
}

// The size of the result. `input` and `weight` may be stand-ins without data.
IntVec checked_sizes(std::string_view op, const Options& o, const Tensor& input, const Tensor& weight) {
    MASHAL_CHECK(input.dim() >= 3 && input.dim() <= 5 && input.dim() == weight.dim(), op,
                 "input and weight must have the same number of dimensions, 3 to 5, got input ", text(input),
                 " and weight ", text(weight), ".");
    check_options(op, o, static_cast<size_t>(input.dim()) - 2);
    MASHAL_CHECK(input.dtype() == weight.dtype(), op, "input, weight and bias must have the same dtype, got input ",
                 text(input), " and weight ", text(weight), ". Convert one of them with .to(dtype).");
    const int64_t expected = o.transposed ? weight.size(0) : checked_product(op, weight.size(1), o.groups);
    MASHAL_CHECK(weight.size(0) % o.groups == 0 && weight.size(0) > 0, op,
                 "size 0 of weight must be a positive multiple of groups, got groups ", o.groups, " and weight ",
                 text(weight), ".");
    MASHAL_CHECK(input.size(1) == expected, op, "Given groups=", o.groups, ", weight of size ",
                 shape_text(weight.sizes()), ", expected input to have ", expected, " channels, but got ",
                 input.size(1), " channels instead: input ", text(input), ".");
    return output_sizes(op, o, input, weight);
}

void convolution_shape(Call& c) {
    const char* op = "convolution";
    const Tensor input = c.tensor(0), weight = c.tensor(1), bias = c.tensor(2);
    const IntVec sizes = checked_sizes(op, read_options(c, 3), input, weight);
    if (bias) {
        MASHAL_CHECK(bias.dtype() == input.dtype(), op, "input, weight and bias must have the same dtype, got input ",
                     text(input), " and bias ", text(bias), ". Convert one of them with .to(dtype).");
        MASHAL_CHECK(bias.dim() == 1 && bias.size(0) == sizes[1], op, "bias must be 1-D with ", sizes[1],
                     " elements, one for each output channel, got bias ", text(bias), ".");
    }
    announce(c, sizes, input, weight);
}

// ---- engines: a plain convolution between `input` and `output` ----
ConvolutionPlan make_plan(const Options& o, const Tensor& input, const Tensor& weight, const Tensor& output) {
    auto spatial = [](const Tensor& t) { return IntSpan(t.sizes()).subspan(2); };
    return {Window(spatial(input), spatial(weight), spatial(output), o.stride, o.padding, o.dilation), o.groups};
}

bool use_depthwise(const ConvolutionPlan& p, const Tensor& input, const Tensor& weight) {
    return input.dtype() == DType::F32 && p.is_depthwise(input, weight);
}

// oneDNN is the engine unless a product without unfolding, or the direct depthwise loop, reads contiguous tensors as
// they lie: that saves reordering, which costs as much as the convolution there.
bool use_onednn([[maybe_unused]] const ConvolutionPlan& p, [[maybe_unused]] const Tensor& input,
                [[maybe_unused]] const Tensor& weight, [[maybe_unused]] const Tensor& output) {
#ifdef MASHAL_WITH_ONEDNN
    if (!onednn::usable() || !onednn::convolution_supported(input, weight, output)) return false;
    if (is_channels_last(input) || is_channels_last(output)) return true;
    return is_half(input.dtype()) || !(p.window.is_pointwise() || use_depthwise(p, input, weight));
#else
    return false;
#endif
}

#ifdef MASHAL_WITH_ONEDNN
onednn::ConvGeometry geometry(const Options& o) { return {o.stride, o.padding, o.dilation, o.groups}; }
// oneDNN reads any dense layout; others are made contiguous first.
Tensor dense(const Tensor& t) { return is_dense(t) ? t : contiguous(t); }
#endif

Tensor plain(const Tensor& t) { return contiguous(is_half(t.dtype()) ? to_dtype(t, DType::F32) : t); }

// The tensor a portable kernel may write: `t` itself, or a stand-in that `finish` copies over.
struct PlainOutput {
    explicit PlainOutput(const Tensor& t) : target(t), work(t) {
        if (is_half(t.dtype()) || !t.is_contiguous()) work = empty(t.sizes(), compute_dtype(t.dtype()));
    }
    // The same in another type and the target's own layout; nothing for nothing.
    PlainOutput(const Tensor& t, DType dtype) : target(t) {
        if (t) work = empty_strided(t.sizes(), t.strides(), dtype);
    }
    void finish() const {
        if (!work.is_same(target)) copy_into(target, work);
    }
    Tensor target, work;
};

Tensor channels_last(const Tensor& t) {
    if (is_channels_last(t)) return t;
    const Tensor out = empty_strided(t.sizes(), channels_last_strides(t.sizes()), t.dtype());
    copy_into(out, t);
    return out;
}

// `made`: the image that is written, or one beside it.
bool use_winograd(const ConvolutionPlan& p, const Tensor& made, const Tensor& input, const Tensor& weight,
                  bool keep_weight = false) {
    return is_channels_last(made) && winograd_pays(p, input, weight, keep_weight);
}

void forward(const Options& o, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& output) {
    if (output.numel() == 0) return;
    const ConvolutionPlan p = make_plan(o, input, weight, output);
    const bool keep = !grad_modes().grad;
    if (use_winograd(p, output, input, weight, keep))
        return winograd_forward(p, channels_last(input), contiguous(weight), bias ? contiguous(bias) : bias, output,
                                keep);
    if (is_channels_last(output) && pointwise_pays(p, input, weight))
        return pointwise_forward(channels_last(input), contiguous(weight), bias ? contiguous(bias) : bias, output,
                                 keep);
#ifdef MASHAL_WITH_ONEDNN
    if (use_onednn(p, input, weight, output))
        return onednn::convolution_forward(geometry(o), dense(input), dense(weight), bias ? contiguous(bias) : bias,
                                           output, keep);
#endif
    const PlainOutput out(output);
    const Tensor x = plain(input), w = plain(weight), b = bias ? plain(bias) : bias;
    if (use_depthwise(p, x, w))
        depthwise_convolution_forward(p, x, w, b, out.work);
    else
        convolution_forward(p, x, w, b, out.work);
    out.finish();
}

// grad_input and grad_weight: either may be undefined.
void backward(const Options& o, const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& grad_input,
              const Tensor& grad_weight) {
    const Tensor& x_like = grad_input ? grad_input : input;
    const Tensor& w_like = grad_weight ? grad_weight : weight;
    if (grad.numel() == 0 || x_like.numel() == 0 || w_like.numel() == 0) {
        if (grad_input) fill(grad_input, Scalar::of(int64_t{0}));
        if (grad_weight) fill(grad_weight, Scalar::of(int64_t{0}));
        return;
    }
#ifdef MASHAL_WITH_ONEDNN
    // oneDNN's float16 gradients are reference code, a thousand times slower than float32 between two conversions.
    if (grad.dtype() == DType::F16 && onednn::usable()) {
        const PlainOutput x(grad_input, DType::F32), w(grad_weight, DType::F32);
        auto wide = [](const Tensor& t) { return t ? to_dtype(t, DType::F32) : t; };
        backward(o, wide(grad), wide(input), wide(weight), x.work, w.work);
        x.finish();
        w.finish();
        return;
    }
#endif
    const ConvolutionPlan p = make_plan(o, x_like, w_like, grad);
    if (use_winograd(p, grad_input ? grad_input : grad, x_like, w_like)) {
        const Tensor g = channels_last(grad);
        if (grad_input) winograd_backward_input(p, g, contiguous(weight), grad_input);
        if (grad_weight) {
            const PlainOutput out(grad_weight);
            winograd_backward_weight(p, g, channels_last(input), out.work);
            out.finish();
        }
        return;
    }
#ifdef MASHAL_WITH_ONEDNN
    if (use_onednn(p, x_like, w_like, grad))
        return onednn::convolution_backward(geometry(o), dense(grad), input ? dense(input) : input,
                                            weight ? dense(weight) : weight, grad_input, grad_weight);
#endif
    const Tensor g = plain(grad);
    if (grad_input) {
        const PlainOutput out(grad_input);
        const Tensor w = plain(weight);
        if (use_depthwise(p, out.work, w))
            depthwise_convolution_backward_input(p, g, w, out.work);
        else
            convolution_backward_input(p, g, w, out.work);
        out.finish();
    }
    if (grad_weight) {
        const PlainOutput out(grad_weight);
        const Tensor x = plain(input);
        if (use_depthwise(p, x, out.work))
            depthwise_convolution_backward_weight(p, g, x, out.work);
        else
            convolution_backward_weight(p, g, x, out.work);
        out.finish();
    }
}

template <class T>
void add_channels(T* data, const T* bias, int64_t batch, int64_t channels, int64_t inner, bool last) {
    const int64_t rows = last ? batch * inner : batch * channels, n = last ? channels : inner;
    parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; r++) {
            T* row = data + r * n;
            if (last)
                for (int64_t j = 0; j < n; j++) row[j] += bias[j];
            else
                for (int64_t j = 0; j < n; j++) row[j] += bias[r % channels];
        }
    });
}

// output += bias along dimension 1; output is contiguous or channels-last.
void add_bias(const Tensor& output, const Tensor& bias) {
    if (output.numel() == 0) return;
    const bool last = !output.is_contiguous();
    const int64_t batch = output.size(0), channels = output.size(1), inner = output.numel() / batch / channels;
    if (is_half(output.dtype())) {
        const Tensor wide = to_dtype(output, DType::F32), b = plain(bias);
        add_channels(wide.data<float>(), b.data<float>(), batch, channels, inner, last);
        return copy_into(output, wide);
    }
    const Tensor b = contiguous(bias);
    visit_all(output.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, f16> && !std::is_same_v<T, bf16>)
            add_channels(output.data<T>(), b.data<T>(), batch, channels, inner, last);
    });
}

// ---- primitives ----
// A transposed convolution is the input gradient of the plain convolution from its output to its input.
void convolution_kernel(Call& c) {
    const Options o = read_options(c, 3);
    const Tensor input = c.tensor(0), weight = c.tensor(1), bias = c.tensor(2), out = c.out[0];
    if (!o.transposed) return forward(o, input, weight, bias, out);
    backward(o, input, {}, weight, out, {});
    if (bias) add_bias(out, bias);
}

// `grad` must be what a convolution of `input` with `weight` gives.
void check_backward(const Call& c, size_t options_at, const Tensor& grad, const Tensor& input, const Tensor& weight) {
    check_dtype(c.name(), "grad", grad, input.dtype());
    check_shape(c.name(), "grad", grad, checked_sizes(c.name(), read_options(c, options_at), input, weight));
}

// A tensor that exists only as a shape.
Tensor stand_in(const Call& c, IntSpan sizes, const Tensor& like) {
    checked_numel(c.name(), sizes);
    return empty(sizes, like.dtype(), Device{DeviceType::Meta, -1});
}

void backward_input_shape(Call& c) {
    const Tensor grad = c.tensor(0), weight = c.tensor(1);
    check_backward(c, 3, grad, stand_in(c, c.ints(2), grad), weight);
    announce(c, IntVec(c.ints(2)), grad, weight);
}

void backward_input_kernel(Call& c) {
    const Options o = read_options(c, 3);
    if (o.transposed)
        forward(o, c.tensor(0), c.tensor(1), {}, c.out[0]);
    else
        backward(o, c.tensor(0), {}, c.tensor(1), c.out[0], {});
}

void backward_weight_shape(Call& c) {
    const Tensor grad = c.tensor(0), input = c.tensor(1);
    check_backward(c, 3, grad, input, stand_in(c, c.ints(2), grad));
    c.result(c.ints(2), grad.dtype(), grad.device());
}

void backward_weight_kernel(Call& c) {
    const Options o = read_options(c, 3);
    if (o.transposed)
        backward(o, c.tensor(1), c.tensor(0), {}, {}, c.out[0]);
    else
        backward(o, c.tensor(0), c.tensor(1), {}, {}, c.out[0]);
}

void backward_shape(Call& c) {
    const Tensor grad = c.tensor(0), input = c.tensor(1), weight = c.tensor(2);
    check_backward(c, 3, grad, input, weight);
    announce(c, input.sizes(), input, weight);
    c.result_like(weight);
}

void backward_kernel(Call& c) {
    const Options o = read_options(c, 3);
    const Tensor grad = c.tensor(0), input = c.tensor(1), weight = c.tensor(2);
    if (!o.transposed) return backward(o, grad, input, weight, c.out[0], c.out[1]);
    forward(o, grad, weight, {}, c.out[0]);
    backward(o, input, grad, {}, {}, c.out[1]);
}

const OpRegistration r_convolution{
    "_convolution", {.shape = convolution_shape, .kernel = convolution_kernel, .layout = Layout::AsItLies}};
const OpRegistration r_backward{"_convolution_backward",
                                {.shape = backward_shape, .kernel = backward_kernel, .layout = Layout::AsItLies}};
const OpRegistration r_backward_input{
    "_convolution_backward_input",
    {.shape = backward_input_shape, .kernel = backward_input_kernel, .layout = Layout::AsItLies}};
const OpRegistration r_backward_weight{
    "_convolution_backward_weight",
    {.shape = backward_weight_shape, .kernel = backward_weight_kernel, .layout = Layout::AsItLies}};

}  // namespace
}  // namespace mashal
