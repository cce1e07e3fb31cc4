#include "core/device.h"

#include <charconv>

#include "core/errors.h"

namespace mashal {

namespace {
const char* type_name(DeviceType t) {
    switch (t) {
        case DeviceType::CPU: return "cpu";
        case DeviceType::Meta: return "meta";
        default: return "cuda";
    }
}
}  // namespace

std::string device_text(Device d) {
    std::string text = type_name(d.type);
    if (d.index >= 0) text += ":" + std::to_string(d.index);
    return text;
}

Device parse_device(std::string_view text) {
    size_t colon = text.find(':');
    std::string_view name = text.substr(0, colon);
    Device d;
    bool known = false;
    for (DeviceType t : {DeviceType::CPU, DeviceType::Meta, DeviceType::CUDA}) {
        if (name == type_name(t)) {
            d.type = t;
            known = true;
        }
    }
    if (!known)
        raise_error(ErrorKind::Runtime, "device",
                    "expected one of cpu, cuda, meta device type at start of device string: ", text);
    if (colon != std::string_view::npos) {
        std::string_view digits = text.substr(colon + 1);
        int index = -1;
        auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
        if (status != std::errc() || end != digits.data() + digits.size() || index < 0 || index > 127)
            raise_error(ErrorKind::Runtime, "device", "invalid device string: '", text, "'");
        d.index = static_cast<int16_t>(index);
    }
    return d;
}

namespace {
thread_local Device g_default_device;
}
Device default_device() { return g_default_device; }
void set_default_device(Device d) { g_default_device = d; }

}  // namespace mashal
