// SPDX-License-Identifier: Apache-2.0
#include "perl/perl_interleave.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "bpf/totals.h"

namespace polytop {

namespace {

using Index = ptrdiff_t;

/// The places of segments that belong to no run loop: before all native frames, and behind them.
constexpr Index kLeaf = -1;
constexpr Index kOutermost = std::numeric_limits<Index>::max();

/// What a word of the Perl part of a stack is: that C code called the frames before it (a cut), why the walk ended (a
/// stop), or no frame of its own (a mark).
enum class PerlRole { kMark, kFrame, kMain, kCut, kStop };

PerlRole roleOf(const StackFrame& word) {
  switch (word.kind) {
    case PERL_CUT:
      return PerlRole::kCut;
    case PERL_MAIN:
      return PerlRole::kMain;
    case INTERPRETED_STOP:
      return PerlRole::kStop;
    case 0:
    case PERL_XSUB:
    case PERL_XSUB_CODE:
      return PerlRole::kMark;
    default:
      return PerlRole::kFrame;
  }
}

struct Segments {
  std::vector<size_t> bounds = {0};  ///< where each begins in the Perl list, innermost first; where the last one ends
  bool hasMain = false;              ///< the last one ends with the code outside of any sub
  bool hasFrames = false;            ///< there is a Perl frame in any
  std::optional<size_t> stop;
};

Segments splitSegments(StackFrames perl) {
  Segments segments;
  PerlRole last = PerlRole::kCut;
  for (size_t at = 0; at < perl.size(); at++) {
    const PerlRole role = roleOf(perl[at]);
    if (role == PerlRole::kMark) continue;
    if (role == PerlRole::kStop) {
      segments.stop = at;
      continue;
    }
    if (role == PerlRole::kCut)
      segments.bounds.push_back(at + 1);
    else
      segments.hasFrames = true;
    last = role;
  }
  // A walk that did not end leaves nothing behind its last cut.
  if (last != PerlRole::kCut) segments.bounds.push_back(perl.size());
  segments.hasMain = last == PerlRole::kMain;
  return segments;
}

bool isOwn(const StackFrame& frame) { return frame.role.interpreter == INTERPRETER_PERL; }

bool isPart(const StackFrame& frame, PerlPart part) {
  return isOwn(frame) && frame.role.part == static_cast<uint8_t>(part);
}

bool isPartAt(StackFrames native, Index at, PerlPart part) {
  return at < std::ssize(native) && isPart(native[static_cast<size_t>(at)], part);
}

std::vector<Index> runLoopsOf(StackFrames native) {
  std::vector<Index> loops;
  for (Index at = 0; at < std::ssize(native); at++) {
    if (isPartAt(native, at, PerlPart::kRunLoop)) loops.push_back(at);
  }
  return loops;
}

/**
 * Whether the run loop at an index goes on where the next outer one was. eval, require and try within a call of C code
 * enter a run loop that no context belongs to (docatch in pp_ctl.c). One native frame lies between the two loops where
 * the op jumps to docatch, two where it calls it, as the compiler saw fit: the rule under which the numbers agree is
 * the right one.
 */
bool isContinuation(StackFrames native, Index loop, Index outer, bool mayCall) {
  if (outer - loop == 2) return true;
  return mayCall && outer - loop == 3 && isPartAt(native, loop + 1, PerlPart::kOther) &&
         isPartAt(native, loop + 2, PerlPart::kOther);
}

/// Those of the run loops that C code entered anew, innermost first.
std::vector<Index> freshLoops(StackFrames native, const std::vector<Index>& all, bool mayCall) {
  std::vector<Index> fresh;
  for (size_t i = 0; i < all.size(); i++) {
    if (i + 1 == all.size() || !isContinuation(native, all[i], all[i + 1], mayCall)) fresh.push_back(all[i]);
  }
  return fresh;
}

/// What runs in the outermost run loop: the code outside of any sub, a sub that the interpreter calls while it starts
/// or ends (BEGIN, END, DESTROY), or one that another program calls.
enum class RootOwner { kMain, kPhase, kOther };

RootOwner ownerOfRoot(StackFrames native, Index outermost) {
  const bool isCalledByOwn = isPartAt(native, outermost + 1, PerlPart::kOther);
  if (isPartAt(native, outermost + (isCalledByOwn ? 2 : 1), PerlPart::kRun)) return RootOwner::kMain;
  const bool isPhase = std::ranges::any_of(native.subspan(static_cast<size_t>(outermost)), [](const StackFrame& it) {
    return isPart(it, PerlPart::kRun) || isPart(it, PerlPart::kParse) || isPart(it, PerlPart::kDestruct);
  });
  return isPhase ? RootOwner::kPhase : RootOwner::kOther;
}

/// Places of so many segments, of which the `surplus` innermost ones come before all loops.
std::vector<Index> placesIn(const std::vector<Index>& loops, Index count, Index surplus) {
  std::vector<Index> places;
  for (Index at = -surplus; std::ssize(places) < count; at++) {
    const bool isBehind = at >= std::ssize(loops);
    places.push_back(at < 0 ? kLeaf : isBehind ? kOutermost : loops[static_cast<size_t>(at)]);
  }
  return places;
}

/**
 * The places of so many segments: indexes of their run loops, kLeaf or kOutermost, innermost first. Pairs them from the
 * outermost inwards: a call that is about to enter its loop, or has just left it, is the innermost. Where the outer
 * frames are unknown, it pairs from the innermost outwards. Nothing where the numbers disagree.
 */
std::optional<std::vector<Index>> pair(StackFrames native, const std::vector<Index>& all, Index count, bool isOpen) {
  std::optional<std::vector<Index>> offByOne;
  for (const bool mayCall : {false, true}) {
    std::vector<Index> loops = freshLoops(native, all, mayCall);
    if (isOpen) return placesIn(loops, count, 0);
    const Index surplus = count - std::ssize(loops);
    if (surplus == 0) return loops;
    if (!offByOne && (surplus == 1 || surplus == -1)) offByOne = placesIn(loops, count, surplus);
  }
  return offByOne;
}

/// A sub written in C that the leaf calls has a Perl frame of its own: it stands at the native frame next to the
/// innermost run loop that has the sub's function. kOutermost where the thread is not in its code.
Index placeOfXsub(StackFrames native, StackFrames perl, const std::vector<Index>& loops) {
  if (perl.size() < 2 || perl[0].kind != PERL_XSUB || perl[1].kind != PERL_XSUB_CODE) return kOutermost;
  const uint32_t function = perl[1].function;
  if (function == 0 || loops.empty()) return kOutermost;
  for (Index at = loops.front() - 1; at >= 0; at--) {
    if (native[static_cast<size_t>(at)].function == function) return at;
  }
  return kOutermost;
}

/// The outermost word of a walk that was not cut off by its limit.
bool endsWithMain(StackFrames perl) {
  const auto isNoMark = [](const StackFrame& it) { return roleOf(it) != PerlRole::kMark; };
  const auto last = std::find_if(perl.rbegin(), perl.rend(), isNoMark);
  return last != perl.rend() && roleOf(*last) == PerlRole::kMain;
}

}  // namespace

bool interleavePerl(StackFrames native, StackFrames perl, bool isTruncated, MergedFrames& into) {
  const Segments segments = splitSegments(perl);
  const std::vector<Index> loops = runLoopsOf(native);
  const bool isStopped = isStoppedWalk(native);
  // The outcome does not say which of the two walks hit its limit. A Perl walk that reached the code outside of any sub
  // did not.
  const bool isOpen = (isTruncated && endsWithMain(perl)) || isStopped;
  const RootOwner root = loops.empty() ? RootOwner::kOther
                         : isOpen      ? RootOwner::kMain
                                       : ownerOfRoot(native, loops.back());
  // The code outside of any sub runs in no loop of this thread: it is only where the others were started.
  const bool isRootOnly = segments.hasMain && root != RootOwner::kMain;
  const Index count = std::ssize(segments.bounds) - 1 - (isRootOnly ? 1 : 0);
  const std::optional<std::vector<Index>> paired = pair(native, loops, count, isOpen);
  const std::vector<Index> places =
      paired.value_or(std::vector<Index>(static_cast<size_t>(count), loops.empty() ? kLeaf : loops.front()));
  const Index xsub = placeOfXsub(native, perl, loops);

  const auto pushSegment = [&](Index segment) {
    const auto at = static_cast<size_t>(segment);
    for (size_t word = segments.bounds[at]; word < segments.bounds[at + 1]; word++) {
      const PerlRole role = roleOf(perl[word]);
      if (role == PerlRole::kFrame || role == PerlRole::kMain) into.push(perl[word]);
    }
  };
  Index next = 0;
  const auto pushUntil = [&](Index place) {
    while (next < count && places[static_cast<size_t>(next)] <= place) pushSegment(next++);
  };
  pushUntil(kLeaf);
  for (Index index = 0; index < std::ssize(native); index++) {
    const StackFrame& frame = native[static_cast<size_t>(index)];
    pushUntil(isStopped && index + 1 == std::ssize(native) ? kOutermost : index);
    if (isRootOnly && root == RootOwner::kPhase && index == loops.back()) pushSegment(count);
    const bool isXsub = index == xsub;
    if (isXsub) into.push(perl[0]);
    // The interpreter's own code is hidden only where a Perl frame is shown for it.
    into.pushNative(frame, segments.hasFrames && (isXsub || isOwn(frame)));
  }
  pushUntil(kOutermost);
  if (segments.stop) into.push(perl[*segments.stop]);
  return paired.has_value();
}

const Interleaver kPerlInterleaver = {INTERPRETER_PERL, interleavePerl,
                                      [](uint32_t kind) { return kind != PERL_CUT && kind != PERL_XSUB_CODE; },
                                      [](uint32_t kind) { return kind == PERL_XSUB_CODE; }, COUNTER_UnwindPerlUnpaired};

}  // namespace polytop
