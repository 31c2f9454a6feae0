// SPDX-License-Identifier: Apache-2.0
#include "python/python_interleave.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bpf/totals.h"

namespace polytop {

namespace {

/// The frames of one evaluation, innermost first.
struct EvaluationFrames {
  std::vector<const StackFrame*> frames;
  std::optional<size_t> at;  ///< index of its native frame, if that is known
};

struct Segments {
  std::vector<EvaluationFrames> all;  ///< innermost first
  std::vector<const StackFrame*> stop;
};

std::optional<size_t> indexOf(uint16_t place) { return place == 0 ? std::nullopt : std::optional<size_t>(place - 1); }

/// Gives evaluations of 3.10 from one on their places, which follow them: those that come apart are the outermost's.
void setPlaces(std::vector<EvaluationFrames>& all, size_t first, std::vector<std::optional<size_t>>& places) {
  const size_t count = std::min(places.size(), all.size() - first);
  for (size_t i = 1; i <= count; i++) all[all.size() - i].at = places[places.size() - i];
  places.clear();
}

/// A thread in several interpreters has a chain of frames in each: brings evaluations into the order of their places.
/// One without a place stays behind the one before it.
void orderByPlace(std::vector<EvaluationFrames>& all) {
  std::vector<std::pair<size_t, EvaluationFrames>> keyed;
  size_t key = 0;
  for (EvaluationFrames& it : all) {
    if (it.at) key = *it.at;
    keyed.emplace_back(key, std::move(it));
  }
  std::ranges::stable_sort(keyed, {}, &std::pair<size_t, EvaluationFrames>::first);
  all.clear();
  for (auto& [at, segment] : keyed) all.push_back(std::move(segment));
}

Segments splitSegments(StackFrames python) {
  Segments segments;
  std::vector<std::optional<size_t>> places;
  size_t first = 0;  // of the state whose frames are being read
  std::vector<const StackFrame*> frames;
  for (const StackFrame& word : python) {
    switch (word.kind) {
      case PYTHON_FRAME:
        frames.push_back(&word);
        break;
      case PYTHON_CALL:
        if (!places.empty()) {
          setPlaces(segments.all, first, places);
          first = segments.all.size();
        }
        segments.all.push_back({{&word}, std::nullopt});
        break;
      case PYTHON_EVALUATION:
        segments.all.push_back({std::exchange(frames, {}), indexOf(word.place)});
        break;
      case PYTHON_PLACE:
        places.push_back(indexOf(word.place));
        break;
      case INTERPRETED_STOP:
        segments.stop.push_back(&word);
        break;
      default:
        break;
    }
  }
  // The walk did not come to the end of this evaluation.
  if (!frames.empty()) segments.all.push_back({std::move(frames), std::nullopt});
  setPlaces(segments.all, first, places);
  orderByPlace(segments.all);
  return segments;
}

bool isOwn(const StackFrame& frame) { return frame.role.interpreter == INTERPRETER_PYTHON; }

std::vector<size_t> evaluationsIn(StackFrames native, size_t begin, size_t end) {
  std::vector<size_t> found;
  for (size_t at = begin; at < std::min(end, native.size()); at++) {
    if (isOwn(native[at]) && native[at].role.part == kEvaluation) found.push_back(at);
  }
  return found;
}

/// Gives places to segments without one that follow each other: those of `evaluations`, from one of them on.
void place(std::span<EvaluationFrames> segments, const std::vector<size_t>& evaluations, size_t first) {
  for (size_t i = 0; i < segments.size(); i++)
    segments[i].at = first + i < evaluations.size() ? std::optional(evaluations[first + i]) : std::nullopt;
}

/// Finds the native frames of segments without one by their number, between the neighbours that have one. Returns
/// whether it could find all, none of them by a guess.
bool placeByNumber(std::span<EvaluationFrames> segments, StackFrames native, bool isOpen) {
  bool areFound = true;
  for (size_t first = 0; first < segments.size();) {
    if (segments[first].at) {
      first++;
      continue;
    }
    const auto isPlaced = [](const EvaluationFrames& it) { return it.at.has_value(); };
    const auto end = static_cast<size_t>(
        std::find_if(segments.begin() + static_cast<ptrdiff_t>(first), segments.end(), isPlaced) - segments.begin());
    const size_t inner = first == 0 ? 0 : *segments[first - 1].at + 1;
    const std::optional<size_t> outer = end < segments.size() ? segments[end].at : std::nullopt;
    const std::vector<size_t> evaluations = evaluationsIn(native, inner, outer.value_or(native.size()));
    const std::span<EvaluationFrames> group = segments.subspan(first, end - first);
    const bool isAtOpenEnd = isOpen && !outer;
    const ptrdiff_t surplus = std::ssize(evaluations) - std::ssize(group);
    // Only the innermost evaluation of all has no frame.
    if (!isAtOpenEnd && (surplus == 0 || (surplus == 1 && first == 0))) {
      place(group, evaluations, static_cast<size_t>(surplus));
    } else if (isAtOpenEnd) {
      place(group, evaluations, 0);
    } else {
      areFound = false;
      const std::optional<size_t> guess = evaluations.empty() ? std::nullopt : std::optional(evaluations.front());
      for (EvaluationFrames& segment : group) segment.at = outer ? outer : guess;
    }
    first = end;
  }
  return areFound;
}

}  // namespace

bool interleavePython(StackFrames native, StackFrames python, bool isTruncated, MergedFrames& into) {
  Segments segments = splitSegments(python);
  const bool isOpen = isTruncated || isStoppedWalk(native);
  const bool areFound = placeByNumber(segments.all, native, isOpen);
  // Frames of which nothing is known are further out than all that is known.
  const auto pushSegmentsAt = [&](size_t place) {
    for (const EvaluationFrames& segment : segments.all) {
      if (std::min(segment.at.value_or(native.size()), native.size()) != place) continue;
      for (const StackFrame* frame : segment.frames) into.push(*frame);
    }
  };
  // Outside of an evaluation that has frames, one without any is of a stack or state that nobody leads to.
  const bool isWhole = !isOpen && segments.stop.empty();
  bool isInside = true, areAllKnown = true;
  for (size_t index = 0; index < native.size(); index++) {
    const StackFrame& frame = native[index];
    const bool hasFrames =
        std::ranges::any_of(segments.all, [index](const EvaluationFrames& it) { return it.at == index; });
    pushSegmentsAt(index);
    if (hasFrames) isInside = false;
    const bool isUnknown = isWhole && !isInside && !hasFrames && isOwn(frame) && frame.role.part == kEvaluation;
    if (isUnknown) areAllKnown = false;
    into.pushNative(frame, !segments.all.empty() && isOwn(frame) && !isUnknown);
  }
  pushSegmentsAt(native.size());
  for (const StackFrame* stop : segments.stop) into.push(*stop);
  return (areFound && areAllKnown) || isOpen || !segments.stop.empty();
}

const Interleaver kPythonInterleaver = {INTERPRETER_PYTHON, interleavePython,
                                        [](uint32_t kind) { return kind != PYTHON_EVALUATION && kind != PYTHON_PLACE; },
                                        [](uint32_t /*kind*/) { return false; }, COUNTER_UnwindPythonUnpaired};

}  // namespace polytop
