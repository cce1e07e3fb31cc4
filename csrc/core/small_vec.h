// A vector with inline room for short contents: shapes, strides and argument lists rarely exceed it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <ostream>
#include <span>
#include <utility>

namespace mashal {

template <class T, int N>
class SmallVec {
public:
    SmallVec() = default;
    SmallVec(std::initializer_list<T> init) { append(init.begin(), init.end()); }
    explicit SmallVec(size_t n, const T& value = T()) { resize(n, value); }
    template <class It>
    SmallVec(It first, It last) {
        append(first, last);
    }
    SmallVec(std::span<const T> s) { append(s.begin(), s.end()); }
    SmallVec(const SmallVec& o) { append(o.begin(), o.end()); }
    SmallVec(SmallVec&& o) noexcept { take(std::move(o)); }
    SmallVec& operator=(const SmallVec& o) {
        if (this != &o) {
            clear();
            append(o.begin(), o.end());
        }
        return *this;
    }
    SmallVec& operator=(SmallVec&& o) noexcept {
        if (this != &o) {
            clear();
            free_heap();
            take(std::move(o));
        }
        return *this;
    }
    ~SmallVec() {
        clear();
        free_heap();
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    T& back() { return data_[size_ - 1]; }
    const T& back() const { return data_[size_ - 1]; }
    operator std::span<const T>() const { return {data_, size_}; }

    void reserve(size_t n) {
        if (n <= capacity_) return;
        size_t cap = n > 2 * capacity_ ? n : 2 * capacity_;
        T* fresh = static_cast<T*>(::operator new(cap * sizeof(T), std::align_val_t(alignof(T))));
        for (size_t i = 0; i < size_; i++) {
            new (fresh + i) T(std::move(data_[i]));
            data_[i].~T();
        }
        free_heap();
        data_ = fresh;
        capacity_ = cap;
    }
    template <class... Args>
    T& emplace_back(Args&&... args) {
        if (size_ == capacity_) reserve(size_ + 1);
        return *new (data_ + size_++) T(std::forward<Args>(args)...);
    }
    // By value: the argument may be one of our own elements.
    void push_back(T v) { emplace_back(std::move(v)); }
    void pop_back() { data_[--size_].~T(); }
    void resize(size_t n, const T& value = T()) {
        while (size_ > n) pop_back();
        reserve(n);
        while (size_ < n) emplace_back(value);
    }
    void clear() {
        while (size_) pop_back();
    }
    template <class It>
    void append(It first, It last) {
        for (; first != last; ++first) emplace_back(*first);
    }
    void insert(size_t at, const T& value) {
        push_back(value);
        for (size_t i = size_ - 1; i > at; i--) std::swap(data_[i], data_[i - 1]);
    }
    void erase(size_t at) {
        for (size_t i = at; i + 1 < size_; i++) data_[i] = std::move(data_[i + 1]);
        pop_back();
    }
    bool operator==(const SmallVec& o) const {
        if (size_ != o.size_) return false;
        for (size_t i = 0; i < size_; i++)
            if (!(data_[i] == o.data_[i])) return false;
        return true;
    }

private:
    T* inline_data() { return reinterpret_cast<T*>(inline_); }
    void free_heap() {
        if (data_ != inline_data()) ::operator delete(data_, std::align_val_t(alignof(T)));
        data_ = inline_data();
        capacity_ = N;
    }
    void take(SmallVec&& o) noexcept {
        if (o.data_ != o.inline_data()) {
            data_ = std::exchange(o.data_, o.inline_data());
            capacity_ = std::exchange(o.capacity_, N);
            size_ = std::exchange(o.size_, 0);
            return;
        }
        for (size_t i = 0; i < o.size_; i++) new (inline_data() + i) T(std::move(o.data_[i]));
        size_ = o.size_;
        o.clear();
    }

    T* data_ = inline_data();
    size_t size_ = 0;
    size_t capacity_ = N;
    alignas(T) unsigned char inline_[N * sizeof(T)];
};

using IntVec = SmallVec<int64_t, 6>;
using IntSpan = std::span<const int64_t>;

inline bool equal(IntSpan a, IntSpan b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++)
        if (a[i] != b[i]) return false;
    return true;
}

// Prints a shape as Python prints a tuple: (), (3,), (2, 3).
struct ShapeText {
    IntSpan sizes;
};
std::ostream& operator<<(std::ostream& out, ShapeText s);
inline ShapeText shape_text(IntSpan s) { return {s}; }

}  // namespace mashal
