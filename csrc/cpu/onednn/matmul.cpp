#include <omp.h>

#include <cstdlib>
#include <string_view>

#include "core/parallel.h"
#include "cpu/onednn/onednn.h"
#include "cpu/onednn/support.h"

namespace mashal::onednn {

using memory = dnnl::memory;

bool usable() {
    static const bool enabled = [] {
        const char* text = std::getenv("MASHAL_DISABLE_ONEDNN");
        return text == nullptr || std::string_view(text) != "1";
    }();
    return enabled;
}

namespace {
bool has_isa(dnnl::cpu_isa wanted) {
    const int have = static_cast<int>(dnnl::get_effective_cpu_isa()), bits = static_cast<int>(wanted);
    return (have & bits) == bits;
}
}  // namespace

bool fast_half(DType t) {
    static const bool bf16_units = has_isa(dnnl::cpu_isa::avx512_core_bf16);
    static const bool f16_units = has_isa(dnnl::cpu_isa::avx512_core_fp16);
    return t == DType::BF16 ? bf16_units : f16_units;
}

const dnnl::engine& cpu_engine() {
    static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return engine;
}

dnnl::stream& cpu_stream() {
    static thread_local dnnl::stream stream(cpu_engine());
    return stream;
}

void match_threads() {
    if (!omp_in_parallel() && omp_get_max_threads() != num_threads()) omp_set_num_threads(num_threads());
}

memory::data_type data_type(DType t) {
    switch (t) {
        case DType::BF16: return memory::data_type::bf16;
        case DType::F16: return memory::data_type::f16;
        default: return memory::data_type::f32;
    }
}

dnnl::primitive_attr user_scratchpad() {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attr;
}

void sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
           const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
    match_threads();
    const auto status =
        dnnl::sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    MASHAL_CHECK(status == dnnl::status::success, "matmul", "oneDNN sgemm failed with status ",
                 static_cast<int>(status), " for sizes ", m, ", ", n, ", ", k, ".");
}

namespace {

struct MatmulEntry {
    dnnl::matmul::primitive_desc desc;
    dnnl::matmul primitive;
};

memory::desc matrix_desc(memory::data_type type, int64_t rows, int64_t cols, MatrixView v) {
    return {{rows, cols}, type, v.trans ? memory::dims{1, v.ld} : memory::dims{v.ld, 1}};
}

}  // namespace

void half_matmul(DType t, int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, const void* bias, void* c,
                 int64_t ldc, DType c_dtype) {
    match_threads();
    static Cache<MatmulEntry> cache;
    const Key key{static_cast<int64_t>(t),
                  static_cast<int64_t>(c_dtype),
                  m,
                  n,
                  k,
                  a.ld,
                  a.trans,
                  b.ld,
                  b.trans,
                  ldc,
                  bias != nullptr,
                  num_threads()};
    const auto entry = cache.get(key, [&] {
        auto made = std::make_shared<MatmulEntry>();
        const memory::desc left = matrix_desc(data_type(t), m, k, a), right = matrix_desc(data_type(t), k, n, b);
        const memory::desc result = matrix_desc(data_type(c_dtype), m, n, {nullptr, ldc, false});
        if (bias != nullptr) {
            const memory::desc row({1, n}, data_type(t), memory::dims{n, 1});
            made->desc = dnnl::matmul::primitive_desc(cpu_engine(), left, right, row, result, user_scratchpad());
        } else {
            made->desc = dnnl::matmul::primitive_desc(cpu_engine(), left, right, result, user_scratchpad());
        }
        made->primitive = dnnl::matmul(made->desc);
        return made;
    });
    const auto& desc = entry->desc;
    const Buffer scratch(desc.scratchpad_desc().get_size());
    const auto& engine = cpu_engine();
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, memory(desc.src_desc(), engine, const_cast<void*>(a.data))},
        {DNNL_ARG_WEIGHTS, memory(desc.weights_desc(), engine, const_cast<void*>(b.data))},
        {DNNL_ARG_DST, memory(desc.dst_desc(), engine, c)},
        {DNNL_ARG_SCRATCHPAD, memory(desc.scratchpad_desc(), engine, scratch.data())}};
    if (bias != nullptr) arguments[DNNL_ARG_BIAS] = memory(desc.bias_desc(), engine, const_cast<void*>(bias));
    entry->primitive.execute(cpu_stream(), arguments);
    cpu_stream().wait();
}

}  // namespace mashal::onednn
