// The signature of a primitive, written once as text:
//   "sum(Tensor input, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor"
// Types: Tensor, Tensor[], Number (int, float, bool or complex), int, float, bool, int[], int[*] (also spread over the
// call: view(2, 3)), int[2] (an int stands for two equal ones), float[], str, dtype, device, memory_format, Generator.
// `?` after a type admits None; `Tensor?[]` is a list with None in it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/value.h"

namespace mashal {

enum class ArgType : uint8_t {
    Tensor,
    Tensors,
    Number,
    Int,
    Float,
    Bool,
    Ints,
    Floats,
    Text,
    DType,
    Device,
    MemoryFormat,
    Generator
};

struct ArgSpec {
    std::string name;
    ArgType type = ArgType::Tensor;
    bool optional = false;       // None is allowed
    bool item_optional = false;  // Tensor?[]
    bool spread = false;         // int[*]
    int repeat = 0;              // int[2]
    bool keyword_only = false;
    bool has_default = false;
    Value default_value;
};

struct Schema {
    std::string name;
    std::string text;
    std::vector<ArgSpec> args;
    size_t n_positional = 0;
    size_t n_outputs = 1;
    bool list_output = false;  // "-> Tensor[]"

    // Index of an argument; -1 when there is none of that name.
    int find(std::string_view name) const;
};

// Raises ValueError for a malformed text (our own mistake).
Schema parse_schema(std::string_view text);

}  // namespace mashal
