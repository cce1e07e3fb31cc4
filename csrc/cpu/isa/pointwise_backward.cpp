// Derivatives that save passes when fused, and the pointwise parts of losses.
// Argument order: the incoming gradient first, then what the forward saved.
#include "cpu/isa/loop.h"
#include "scalar/activation.h"
#include "scalar/loss.h"

namespace mashal::MASHAL_ISA {

MASHAL_OP2(sigmoid_backward, 0, scalar::sigmoid_backward(a, b))
MASHAL_OP2(tanh_backward, 0, scalar::tanh_backward(a, b))
MASHAL_OP2(logsigmoid_backward, 0, scalar::logsigmoid_backward(a, b))
MASHAL_OP2(silu_backward, 0, scalar::silu_backward(a, b))
MASHAL_OP2(softplus_backward, 2, scalar::softplus_backward(a, b, p[0], p[1]))
MASHAL_OP2(mish_backward, 0, scalar::mish_backward(a, b))
MASHAL_OP2(gelu_backward, 0, scalar::gelu_backward(a, b))
MASHAL_OP2(gelu_tanh_backward, 0, scalar::gelu_tanh_backward(a, b))
MASHAL_OP2(threshold_backward, 1, scalar::threshold_backward(a, b, p[0]))
MASHAL_OP2(leaky_relu_backward, 1, scalar::leaky_relu_backward(a, b, p[0]))
MASHAL_OP2(hardtanh_backward, 2, scalar::hardtanh_backward(a, b, p[0], p[1]))
MASHAL_OP2(hardsigmoid_backward, 0, scalar::hardsigmoid_backward(a, b))
MASHAL_OP2(hardswish_backward, 0, scalar::hardswish_backward(a, b))
MASHAL_OP2(shrink_backward, 1, scalar::shrink_backward(a, b, p[0]))
MASHAL_OP2(elu_backward, 3, scalar::elu_backward(a, b, p[0], p[1], p[2]))

MASHAL_OP2(mse, 0, scalar::mse(a, b))
MASHAL_OP2(smooth_l1, 1, scalar::smooth_l1(a, b, p[0]))
MASHAL_OP2(huber, 1, scalar::huber(a, b, p[0]))
MASHAL_OP2(bce, 0, scalar::bce(a, b))
MASHAL_OP2(bce_with_logits, 0, scalar::bce_with_logits(a, b))
MASHAL_OP2(kl_div, 0, scalar::kl_div(a, b))
MASHAL_OP2(kl_div_log, 0, scalar::kl_div_log(a, b))
MASHAL_OP3(mse_backward, 0, scalar::mse_backward(a, b, c))
MASHAL_OP3(smooth_l1_backward, 1, scalar::smooth_l1_backward(a, b, c, p[0]))
MASHAL_OP3(huber_backward, 1, scalar::huber_backward(a, b, c, p[0]))
MASHAL_OP3(bce_backward, 0, scalar::bce_backward(a, b, c))
MASHAL_OP3(bce_with_logits_backward, 0, scalar::bce_with_logits_backward(a, b, c))

static constexpr PointwiseEntry kBackward[] = {
    MASHAL_FLOATS2(sigmoid_backward),
    MASHAL_FLOATS2(tanh_backward),
    MASHAL_FLOATS2(logsigmoid_backward),
    MASHAL_FLOATS2(silu_backward),
    MASHAL_FLOATS2(softplus_backward),
    MASHAL_FLOATS2(mish_backward),
    MASHAL_FLOATS2(gelu_backward),
    MASHAL_FLOATS2(gelu_tanh_backward),
    MASHAL_FLOATS2(threshold_backward),
    MASHAL_FLOATS2(leaky_relu_backward),
    MASHAL_FLOATS2(hardtanh_backward),
    MASHAL_FLOATS2(hardsigmoid_backward),
    MASHAL_FLOATS2(hardswish_backward),
    MASHAL_FLOATS2(shrink_backward),
    MASHAL_FLOATS2(elu_backward),
    MASHAL_FLOATS2(mse),
    MASHAL_FLOATS2(smooth_l1),
    MASHAL_FLOATS2(huber),
    MASHAL_FLOATS2(bce),
    MASHAL_FLOATS2(bce_with_logits),
    MASHAL_FLOATS2(kl_div),
    MASHAL_FLOATS2(kl_div_log),
    MASHAL_FLOATS3(mse_backward),
    MASHAL_FLOATS3(smooth_l1_backward),
    MASHAL_FLOATS3(huber_backward),
    MASHAL_FLOATS3(bce_backward),
    MASHAL_FLOATS3(bce_with_logits_backward),
};

PointwiseTable pointwise_backward() { return MASHAL_TABLE_OF(kBackward); }

}  // namespace mashal::MASHAL_ISA
