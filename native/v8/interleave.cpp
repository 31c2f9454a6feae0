// SPDX-License-Identifier: Apache-2.0
#include "v8/interleave.h"

#include <algorithm>

namespace polytop {

std::vector<interpreted_frame> interleave(std::span<const interpreted_frame> native,
                                          std::span<const interpreted_frame> javaScript,
                                          const CarriesOutBytecodes& carriesOutBytecodes) {
  std::vector<interpreted_frame> frames, waiting;
  frames.reserve(native.size() + javaScript.size());
  size_t next = 0;
  const auto takeNative = [&](size_t end) {
    for (; next < std::min(end, native.size()); next++) {
      interpreted_frame frame = native[next];
      if (frame.meta == INTERPRETED_NATIVE &&
          carriesOutBytecodes(static_cast<uint16_t>(frame.name >> FRAME_FILE_SHIFT), frame.name & FRAME_OFFSET_MASK))
        frame.meta = INTERPRETED_FOLDED;
      frames.push_back(frame);
    }
  };
  const auto takeWaiting = [&] {
    frames.insert(frames.end(), waiting.begin(), waiting.end());
    waiting.clear();
  };
  for (const interpreted_frame& frame : javaScript) {
    if ((frame.meta & INTERPRETED_KIND_MASK) != V8_PLACE) {
      waiting.push_back(frame);
      continue;
    }
    takeNative(frame.name);
    takeWaiting();
  }
  takeNative(native.size());
  takeWaiting();
  return frames;
}

}  // namespace polytop
