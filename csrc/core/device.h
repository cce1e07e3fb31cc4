// Where data lives.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace mashal {

enum class DeviceType : uint8_t { CPU, Meta, CUDA };

struct Device {
    DeviceType type = DeviceType::CPU;
    int16_t index = -1;  // -1: no index given

    bool operator==(const Device&) const = default;
    bool is_cpu() const { return type == DeviceType::CPU; }
    bool is_meta() const { return type == DeviceType::Meta; }
};

// "cpu", "meta", "cuda", "cuda:1".
std::string device_text(Device d);
// Reads such a text; raises RuntimeError as PyTorch does for an unknown one.
Device parse_device(std::string_view text);

// Where factory functions put tensors when no device is named; each thread has its own, the CPU at first.
Device default_device();
void set_default_device(Device d);

}  // namespace mashal
