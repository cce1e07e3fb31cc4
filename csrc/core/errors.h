// Errors a user can cause, by the class that PyTorch raises for them.
#pragma once
#include <exception>
#include <sstream>
#include <string>
#include <string_view>

namespace mashal {

enum class ErrorKind { Runtime, Value, Type, Index, NotImplemented, OutOfMemory, ZeroDivision, Assertion };

class Error : public std::exception {
public:
    Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
    ErrorKind kind() const noexcept { return kind_; }
    const char* what() const noexcept override { return message_.c_str(); }

private:
    ErrorKind kind_;
    std::string message_;
};

// Thrown by the Python layer when an exception is already set there; the core only lets it pass.
class ForeignError : public std::exception {};

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void raise_error(ErrorKind kind, std::string_view op, const Parts&... parts) {
    std::ostringstream out;
    if (!op.empty()) out << op << ": ";
    (out << ... << parts);
    throw Error(kind, out.str());
}

}  // namespace mashal

// MASHAL_CHECK(cond, op, "requirement, got ", value, ...): formats only on failure. `_AS` picks the error kind.
#define MASHAL_CHECK_AS(kind, cond, op, ...)                                     \
    do {                                                                         \
        if (!(cond)) [[unlikely]]                                                \
            ::mashal::raise_error(::mashal::ErrorKind::kind, (op), __VA_ARGS__); \
    } while (0)
#define MASHAL_CHECK(cond, op, ...) MASHAL_CHECK_AS(Runtime, cond, op, __VA_ARGS__)
