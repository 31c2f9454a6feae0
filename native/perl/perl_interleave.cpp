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
    case PERL_SUB:
    case PERL_FORMAT:
    case PERL_EVAL:
      return PerlRole::kFrame;
    case PERL_CUT:
      return PerlRole::kCut;
    case PERL_MAIN:
      return PerlRole::kMain;
    case INTERPRETED_STOP:
      return PerlRole::kStop;
    default:
      return PerlRole::kMark;
  }
}

/// The frames between two calls of Perl code by C code.
struct WordsBetweenCalls {
  size_t begin = 0, end = 0;   ///< its words
  std::optional<size_t> xsub;  ///< the word of the sub written in C that the segment called
};

/// The words of the Perl part of a stack.
struct PerlWords {
  std::vector<WordsBetweenCalls> segments = {{}};  ///< innermost first
  bool hasMain = false;                            ///< the last one ends with the code outside of any sub
  bool hasFrames = false;                          ///< there is a Perl frame in any
  std::optional<size_t> stop;
  std::vector<Index> environments;  ///< indexes of native frames, innermost first
  uint32_t runLoop = 0;             ///< the function that is a run loop of a module's own; 0: there is none
};

PerlWords sortWords(StackFrames perl) {
  PerlWords words;
  PerlRole last = PerlRole::kCut;
  for (size_t at = 0; at < perl.size(); at++) {
    const StackFrame& word = perl[at];
    const PerlRole role = roleOf(word);
    if (word.kind == PERL_ENVIRONMENT) words.environments.push_back(Index{word.place} - 1);
    if (word.kind == PERL_LOOP_CODE) words.runLoop = word.function;
    if (word.kind == PERL_XSUB && last == PerlRole::kCut) words.segments.back().xsub = at;
    if (role == PerlRole::kStop) words.stop = at;
    if (role == PerlRole::kMark || role == PerlRole::kStop) continue;
    words.segments.back().end = at;
    if (role == PerlRole::kCut)
      words.segments.push_back({at + 1, at + 1, std::nullopt});
    else
      words.hasFrames = true;
    last = role;
  }
  // A walk that did not end leaves nothing behind its last cut.
  if (last == PerlRole::kCut)
    words.segments.pop_back();
  else
    words.segments.back().end = perl.size();
  words.hasMain = last == PerlRole::kMain;
  return words;
}

bool isOwn(const StackFrame& frame) { return frame.role.interpreter == INTERPRETER_PERL; }

bool isPart(const StackFrame& frame, PerlPart part) {
  return isOwn(frame) && frame.role.part == static_cast<uint8_t>(part);
}

bool isPartAt(StackFrames native, Index at, PerlPart part) {
  return at < std::ssize(native) && isPart(native[static_cast<size_t>(at)], part);
}

/// The run loops among native frames, innermost first: the interpreter's own, and the function that stands for them.
std::vector<Index> runLoopsOf(StackFrames native, uint32_t function) {
  std::vector<Index> loops;
  for (Index at = 0; at < std::ssize(native); at++) {
    const StackFrame& frame = native[static_cast<size_t>(at)];
    if (isPart(frame, PerlPart::kRunLoop) || (function != 0 && frame.isNative() && frame.function == function))
      loops.push_back(at);
  }
  return loops;
}

/// Run loops of which each but the outermost goes on where the next one was, innermost first: they run one segment.
using LoopGroup = std::vector<Index>;

/**
 * Whether the run loop at an index goes on where the next outer one was. eval, require and try within a call of C code
 * enter a run loop that no context belongs to (docatch in pp_ctl.c, and copies of it in modules). What enters it keeps
 * an environment in its native frame; whoever else does so in front of a loop is known.
 */
bool continues(StackFrames native, Index loop, Index outer, const std::vector<Index>& environments) {
  const auto isBetween = [&](Index at) { return at >= loop && at < outer; };
  const auto isStart = [](const StackFrame& it) {
    return isPart(it, PerlPart::kCall) || isPart(it, PerlPart::kRun) || isPart(it, PerlPart::kParse);
  };
  return std::ranges::any_of(environments, isBetween) &&
         std::ranges::none_of(native.subspan(static_cast<size_t>(loop), static_cast<size_t>(outer - loop)), isStart);
}

/**
 * The same where environments are not known. One native frame lies between the two loops where the op jumps to docatch,
 * two where it calls it, as the compiler saw fit: the rule under which the numbers agree is the right one.
 */
bool looksContinued(StackFrames native, Index loop, Index outer, bool mayCall) {
  if (outer - loop == 2) return true;
  return mayCall && outer - loop == 3 && isPartAt(native, loop + 1, PerlPart::kOther) &&
         isPartAt(native, loop + 2, PerlPart::kOther);
}

std::vector<LoopGroup> groupLoops(StackFrames native, const std::vector<Index>& loops,
                                  const std::vector<Index>& environments, bool mayCall) {
  std::vector<LoopGroup> groups;
  bool isContinued = false;
  for (size_t i = 0; i < loops.size(); i++) {
    if (!isContinued) groups.emplace_back();
    groups.back().push_back(loops[i]);
    if (i + 1 == loops.size()) break;
    isContinued = !environments.empty() && loops[i] <= environments.back()
                      ? continues(native, loops[i], loops[i + 1], environments)
                      : looksContinued(native, loops[i], loops[i + 1], mayCall);
  }
  return groups;
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

/// Which groups of run loops run which segments.
struct Pairing {
  std::vector<LoopGroup> groups;
  Index surplus = 0;  ///< so many of the innermost segments come before all groups; negative: so many groups have none
  bool isPaired = true;

  /// That of a segment; null where it has none.
  const LoopGroup* groupOf(Index segment) const {
    const Index at = segment - surplus;
    return isPaired && at >= 0 && at < std::ssize(groups) ? &groups[static_cast<size_t>(at)] : nullptr;
  }
};

/**
 * Pairs so many segments from the outermost inwards: a call that is about to enter its loop, or has just left it, is
 * the innermost. Where the outer frames are unknown, pairs from the innermost outwards. Nothing is paired where the
 * numbers disagree.
 */
Pairing pair(StackFrames native, const std::vector<Index>& loops, const PerlWords& words, Index count, bool isOpen) {
  std::optional<Pairing> offByOne;
  for (const bool mayCall : {false, true}) {
    Pairing pairing = {groupLoops(native, loops, words.environments, mayCall)};
    if (isOpen) return pairing;
    pairing.surplus = count - std::ssize(pairing.groups);
    if (pairing.surplus == 0) return pairing;
    if (!offByOne && (pairing.surplus == 1 || pairing.surplus == -1)) offByOne = std::move(pairing);
  }
  return offByOne.value_or(Pairing{{}, 0, false});
}

/// A word that is shown before the native frame at an index: kLeaf before all, kOutermost behind them.
struct PlacedWord {
  size_t word;
  Index place;
};

/// The words of all segments with their places, innermost first.
class Placement {
 public:
  Placement(StackFrames native, StackFrames perl, const PerlWords& words, const Pairing& pairing, Index blockPlace)
      : native_(native), perl_(perl), words_(words), pairing_(pairing), blockPlace_(blockPlace) {}

  /// Adds a segment, with the sub written in C that it called where that is found.
  void add(Index segment) {
    const WordsBetweenCalls& it = words_.segments[static_cast<size_t>(segment)];
    if (it.xsub) addXsub(segment, *it.xsub);
    const size_t first = placed_.size();
    const LoopGroup* group = pairing_.groupOf(segment);
    const Index place = group                        ? group->back()
                        : !pairing_.isPaired         ? blockPlace_
                        : segment < pairing_.surplus ? kLeaf
                                                     : kOutermost;
    for (size_t word = it.begin; word < it.end; word++) {
      const PerlRole role = roleOf(perl_[word]);
      if (role == PerlRole::kFrame || role == PerlRole::kMain) placed_.push_back({word, place});
    }
    if (group && group->size() > 1 && !words_.environments.empty()) divide(first, *group);
  }

  const std::vector<PlacedWord>& words() const { return placed_; }
  /// Whether a native frame is that of a sub written in C that is shown for it.
  bool isXsub(Index native) const { return std::ranges::find(xsubs_, native) != xsubs_.end(); }

 private:
  /// A sub written in C stands at the native frame that has its function, the outermost one between the run loops of
  /// the segment that it called, or the leaf, and that of its caller.
  void addXsub(Index segment, size_t word) {
    const LoopGroup* outer = pairing_.groupOf(segment);
    const uint32_t function =
        word + 1 < perl_.size() && perl_[word + 1].kind == PERL_XSUB_CODE ? perl_[word + 1].function : 0;
    if (!outer || function == 0) return;
    const LoopGroup* inner = pairing_.groupOf(segment - 1);
    for (Index at = outer->front() - 1; at > (inner ? inner->back() : kLeaf); at--) {
      if (native_[static_cast<size_t>(at)].function != function) continue;
      placed_.push_back({word, at});
      xsubs_.push_back(at);
      return;
    }
  }

  /// Tells which frames of a segment run in which of its loops: an eval in the one that was the innermost when it
  /// began, and all inside of it there or further in. Those that no eval tells of are in the innermost by now.
  void divide(size_t first, const LoopGroup& group) {
    Index loop = group.back();
    size_t known = placed_.size();
    for (size_t at = placed_.size(); at-- > first;) {
      if (const std::optional<Index> begun = beganIn(placed_[at].word, group)) {
        loop = std::min(loop, *begun);
        known = at;
      }
      placed_[at].place = loop;
    }
    if (loop == group.front()) return;
    for (size_t at = first; at < known; at++) placed_[at].place = group.front();
  }

  /// The loop of a group that an eval began in.
  std::optional<Index> beganIn(size_t word, const LoopGroup& group) const {
    if (word + 1 >= perl_.size() || perl_[word + 1].kind != PERL_EVAL_PLACE) return std::nullopt;
    const Index environment = Index{perl_[word + 1].place} - 1;
    const auto outside = std::ranges::upper_bound(group, environment);
    return outside == group.begin() ? std::nullopt : std::optional(*(outside - 1));
  }

  StackFrames native_, perl_;
  const PerlWords& words_;
  const Pairing& pairing_;
  Index blockPlace_;
  std::vector<PlacedWord> placed_;
  std::vector<Index> xsubs_;
};

/// The outermost word of a walk that was not cut off by its limit.
bool endsWithMain(StackFrames perl) {
  const auto isNoMark = [](const StackFrame& it) { return roleOf(it) != PerlRole::kMark; };
  const auto last = std::find_if(perl.rbegin(), perl.rend(), isNoMark);
  return last != perl.rend() && roleOf(*last) == PerlRole::kMain;
}

}  // namespace

bool interleavePerl(StackFrames native, StackFrames perl, bool isTruncated, MergedFrames& into) {
  const PerlWords words = sortWords(perl);
  const std::vector<Index> loops = runLoopsOf(native, words.runLoop);
  // The outcome does not say which of the two walks hit its limit. A Perl walk that reached the code outside of any sub
  // did not.
  const bool isOpen = (isTruncated && endsWithMain(perl)) || isStoppedWalk(native);
  const RootOwner root = isOpen          ? RootOwner::kMain
                         : loops.empty() ? RootOwner::kOther
                                         : ownerOfRoot(native, loops.back());
  // The code outside of any sub runs in no loop of this thread: it is only where the others were started.
  const bool isRootOnly = words.hasMain && root != RootOwner::kMain;
  const Index count = std::ssize(words.segments) - (isRootOnly ? 1 : 0);
  const Pairing pairing = pair(native, loops, words, count, isOpen);
  Placement placement(native, perl, words, pairing, loops.empty() ? kLeaf : loops.front());
  for (Index segment = 0; segment < count; segment++) placement.add(segment);

  auto next = placement.words().begin();
  const auto pushUntil = [&](Index place) {
    for (; next != placement.words().end() && next->place <= place; ++next) into.push(perl[next->word]);
  };
  pushUntil(kLeaf);
  for (Index index = 0; index < std::ssize(native); index++) {
    const StackFrame& frame = native[static_cast<size_t>(index)];
    pushUntil(index);
    if (isRootOnly && root == RootOwner::kPhase && index == loops.back()) {
      for (size_t word = words.segments.back().begin; word < words.segments.back().end; word++) {
        if (roleOf(perl[word]) == PerlRole::kFrame || roleOf(perl[word]) == PerlRole::kMain) into.push(perl[word]);
      }
    }
    // The interpreter's own code is hidden only where a Perl frame is shown for it.
    into.pushNative(frame, words.hasFrames && (placement.isXsub(index) || isOwn(frame)));
  }
  // What lies further out than a native walk came is outside of the reason.
  pushUntil(kOutermost);
  if (words.stop) into.push(perl[*words.stop]);
  return pairing.isPaired;
}

const Interleaver kPerlInterleaver = {
    INTERPRETER_PERL, interleavePerl, [](uint32_t kind) { return kind <= PERL_XSUB || kind == INTERPRETED_STOP; },
    [](uint32_t kind) { return kind == PERL_XSUB_CODE || kind == PERL_LOOP_CODE; }, COUNTER_UnwindPerlUnpaired};

}  // namespace polytop
