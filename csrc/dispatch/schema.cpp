#include "dispatch/schema.h"

#include <charconv>

namespace mashal {

namespace {

struct Reader {
    std::string_view text;
    size_t at = 0;

    [[noreturn]] void fail(std::string_view what) const {
        raise_error(ErrorKind::Value, "schema", what, " at position ", at, " of: ", text);
    }
    void spaces() {
        while (at < text.size() && text[at] == ' ') at++;
    }
    bool accept(std::string_view token) {
        spaces();
        if (text.substr(at, token.size()) != token) return false;
        at += token.size();
        return true;
    }
    void expect(std::string_view token) {
        if (!accept(token)) fail("expected '" + std::string(token) + "'");
    }
    std::string_view word() {
        spaces();
        size_t start = at;
        while (at < text.size() && (isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) at++;
        if (start == at) fail("expected a name");
        return text.substr(start, at - start);
    }
    // A default: everything up to the comma or parenthesis that ends the argument.
    std::string_view literal() {
        spaces();
        size_t start = at;
        int depth = 0;
        while (at < text.size()) {
            char c = text[at];
            if (depth == 0 && (c == ',' || c == ')')) break;
            depth += c == '[' ? 1 : c == ']' ? -1 : 0;
            at++;
        }
        return text.substr(start, at - start);
    }
};

ArgType type_from(Reader& r, std::string_view word) {
    if (word == "Tensor") return ArgType::Tensor;
    if (word == "Number") return ArgType::Number;
    if (word == "int") return ArgType::Int;
    if (word == "float") return ArgType::Float;
    if (word == "bool") return ArgType::Bool;
    if (word == "str") return ArgType::Text;
    if (word == "dtype") return ArgType::DType;
    if (word == "device") return ArgType::Device;
    if (word == "memory_format") return ArgType::MemoryFormat;
    if (word == "Generator") return ArgType::Generator;
    r.fail("unknown type");
}

double number_from(Reader& r, std::string_view text) {
    if (text == "inf") return __builtin_inf();
    if (text == "-inf") return -__builtin_inf();
    double v = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (status != std::errc() || end != text.data() + text.size()) r.fail("bad number");
    return v;
}

Value default_from(Reader& r, const ArgSpec& arg, std::string_view text) {
    if (text == "None") return {};
    if (text == "True") return Value(true);
    if (text == "False") return Value(false);
    if (text.front() == '\'') {
        auto box = make_ref<TextBox>();
        box->text = std::string(text.substr(1, text.size() - 2));
        return Value(std::move(box));
    }
    if (text == "preserve_format") return Value(MemoryFormat::Preserve);
    if (text == "contiguous_format") return Value(MemoryFormat::Contiguous);
    if (text.front() == '[') {
        IntVec items;
        std::string_view rest = text.substr(1, text.size() - 2);
        while (!rest.empty()) {
            size_t comma = std::min(rest.find(','), rest.size());
            std::string_view item = rest.substr(0, comma);
            while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
            items.push_back(static_cast<int64_t>(number_from(r, item)));
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
        return Value::ints(items);
    }
    bool integral = text.find_first_of(".einf") == std::string_view::npos;
    double v = number_from(r, text);
    if (arg.type == ArgType::Ints) {
        IntVec items(static_cast<size_t>(std::max(arg.repeat, 1)), static_cast<int64_t>(v));
        return Value::ints(items);
    }
    if (arg.type == ArgType::Int || (integral && arg.type != ArgType::Float)) return Value(static_cast<int64_t>(v));
    return Value(v);
}

ArgSpec parse_arg(Reader& r) {
    ArgSpec arg;
    arg.type = type_from(r, r.word());
    if (arg.type == ArgType::Tensor && r.accept("?[]")) {
        arg.type = ArgType::Tensors;
        arg.item_optional = true;
    } else if (r.accept("[")) {
        if (r.accept("*"))
            arg.spread = true;
        else if (!r.accept("]"))
            arg.repeat = static_cast<int>(number_from(r, r.word()));
        if (arg.spread || arg.repeat) r.expect("]");
        if (arg.type == ArgType::Tensor)
            arg.type = ArgType::Tensors;
        else if (arg.type == ArgType::Int)
            arg.type = ArgType::Ints;
        else if (arg.type == ArgType::Float)
            arg.type = ArgType::Floats;
        else
            r.fail("no lists of this type");
    }
    arg.optional = r.accept("?");
    arg.name = std::string(r.word());
    if (r.accept("=")) {
        arg.has_default = true;
        arg.default_value = default_from(r, arg, r.literal());
    }
    return arg;
}

}  // namespace

int Schema::find(std::string_view wanted) const {
    for (size_t i = 0; i < args.size(); i++)
        if (args[i].name == wanted) return static_cast<int>(i);
    return -1;
}

Schema parse_schema(std::string_view text) {
    Reader r{text};
    Schema schema;
    schema.text = std::string(text);
    schema.name = std::string(r.word());
    r.expect("(");
    bool keyword_only = false;
    if (!r.accept(")")) {
        do {
            if (r.accept("*,")) keyword_only = true;
            ArgSpec arg = parse_arg(r);
            arg.keyword_only = keyword_only;
            schema.args.push_back(std::move(arg));
        } while (r.accept(","));
        r.expect(")");
    }
    for (const ArgSpec& arg : schema.args) schema.n_positional += !arg.keyword_only;
    r.expect("->");
    if (r.accept("(")) {
        schema.n_outputs = 0;
        do {
            r.expect("Tensor");
            schema.n_outputs++;
        } while (r.accept(","));
        r.expect(")");
    } else {
        r.expect("Tensor");
        schema.list_output = r.accept("[]");
    }
    r.spaces();
    if (r.at != text.size()) r.fail("trailing text");
    return schema;
}

}  // namespace mashal
