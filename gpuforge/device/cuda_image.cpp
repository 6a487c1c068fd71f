#include <cstdint>
#include <cstring>

#include "gpuforge/device/cuda_module.h"

namespace gpuforge::device {
namespace {

// 64-bit little-endian ELF, the container of a cubin: only what says how long the file must be.
struct ElfHeader {
  unsigned char magic[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, program_offset, section_offset;
  std::uint32_t flags;
  std::uint16_t header_bytes, program_bytes, program_count, section_bytes, section_count, names_index;
};
static_assert(sizeof(ElfHeader) == 64);

struct ElfSection {
  std::uint32_t name, type;
  std::uint64_t flags, address, offset, bytes;
  std::uint32_t link, info;
  std::uint64_t alignment, entry_bytes;
};
static_assert(sizeof(ElfSection) == 64);
constexpr std::uint32_t kSectionWithoutBytes = 8;  // SHT_NOBITS

struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t content_bytes;
};
constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;

bool inside(std::uint64_t offset, std::uint64_t bytes, std::size_t whole) {
  return offset <= whole && bytes <= whole - offset;
}

template <typename T>
bool read_at(T& value, std::span<const std::byte> image, std::uint64_t offset) {
  if (!inside(offset, sizeof(T), image.size())) return false;
  std::memcpy(&value, image.data() + offset, sizeof(T));
  return true;
}

bool whole_elf(std::span<const std::byte> image) {
  ElfHeader header{};
  if (!read_at(header, image, 0)) return false;
  const std::uint64_t programs = std::uint64_t{header.program_bytes} * header.program_count;
  if (!inside(header.program_offset, programs, image.size())) return false;
  if (header.section_count > 0 && header.section_bytes != sizeof(ElfSection)) return false;
  for (std::uint64_t i = 0; i < header.section_count; ++i) {
    ElfSection section{};
    if (header.section_offset > image.size()) return false;
    if (!read_at(section, image, header.section_offset + i * sizeof(ElfSection))) return false;
    if (section.type != kSectionWithoutBytes && !inside(section.offset, section.bytes, image.size()))
      return false;
  }
  return true;
}

}  // namespace

ImageKind check_module_image(std::span<const std::byte> image, std::string_view name,
                             std::string_view device_name) {
  GPUFORGE_CHECK(!image.empty(), "{}: module {}: the image is empty; a cubin or PTX is needed", device_name,
                 name);
  constexpr char kElfMagic[] = {0x7f, 'E', 'L', 'F'};
  std::uint32_t magic = 0;
  static_cast<void>(read_at(magic, image, 0));
  if (std::memcmp(&magic, kElfMagic, sizeof(magic)) == 0) {
    GPUFORGE_CHECK(whole_elf(image), "{}: module {}: the cubin of {} bytes is truncated or damaged",
                   device_name, name, image.size());
    return ImageKind::binary;
  }
  if (magic == kFatbinMagic) {
    FatbinHeader header{};
    GPUFORGE_CHECK(
        read_at(header, image, 0) && inside(header.header_bytes, header.content_bytes, image.size()),
        "{}: module {}: the fatbin of {} bytes is truncated or damaged", device_name, name, image.size());
    return ImageKind::binary;
  }
  // PTX must name its version; whatever else is text, or is not, the driver's own message would be a riddle.
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  GPUFORGE_CHECK(text.find(".version") != std::string_view::npos,
                 "{}: module {}: the image is neither a cubin, a fatbin nor PTX", device_name, name);
  return ImageKind::text;
}

}  // namespace gpuforge::device
