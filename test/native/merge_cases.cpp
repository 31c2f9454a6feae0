// SPDX-License-Identifier: Apache-2.0
//
// Made-up stacks with frames of interpreters, spelled as words; exits with 1 if a check failed.
#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "merge/merge.h"
#include "perl/perl_interleave.h"
#include "python/python_interleave.h"

namespace {

using namespace polytop;

/// Frames with the words that they were spelled as: the number of a frame is twice its index, and 1 where it is hidden.
struct Spelled {
  std::vector<std::string> words;
  std::vector<StackFrame> native, own;

  StackFrame& add(std::vector<StackFrame>& list, const std::string& word) {
    const auto number = static_cast<uint32_t>(2 * words.size());
    words.push_back(word);
    StackFrame& frame = list.emplace_back();
    frame.number = number;
    frame.hiddenNumber = number + 1;
    return frame;
  }

  /// Hidden frames come in brackets.
  std::string spell(const MergedFrames& merged, const std::string& separator = " ") const {
    std::string text;
    for (const MergedFrames::Frame& frame : merged) {
      const std::string& word = words[frame.number / 2];
      text += (text.empty() ? "" : separator) + (frame.number % 2 ? "(" + word + ")" : word);
    }
    return text;
  }
};

std::vector<std::string> wordsOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

NativeRole perlRole(PerlPart part) { return {INTERPRETER_PERL, static_cast<uint8_t>(part)}; }

/// Functions that words of Perl name: `Xs` and `Xs2` are subs written in C, `Own` is a run loop of a module's.
uint32_t perlFunction(const std::string& word) {
  if (word == "Xs" || word == "code") return 7;
  if (word == "Xs2" || word == "code2") return 8;
  return word == "Own" || word == "own" ? 9 : 0;
}

/// `pp_*` and other small letters: the interpreter; with a capital: another file.
NativeRole perlRole(const std::string& word) {
  static const std::pair<const char*, PerlPart> kParts[] = {
      {"loop", PerlPart::kRunLoop},           {"perl_run", PerlPart::kRun}, {"perl_parse", PerlPart::kParse},
      {"perl_destruct", PerlPart::kDestruct}, {"call_sv", PerlPart::kCall},
  };
  for (const auto& [name, part] : kParts) {
    if (word == name) return perlRole(part);
  }
  return std::isupper(static_cast<unsigned char>(word[0])) || word == "stop" ? NativeRole{}
                                                                             : perlRole(PerlPart::kOther);
}

uint8_t perlKind(const std::string& word) {
  if (word == "|") return PERL_CUT;
  if (word == "main") return PERL_MAIN;
  if (word == "[stop]") return INTERPRETED_STOP;
  if (word == "xsub" || word == "xsub2") return PERL_XSUB;
  if (word == "code" || word == "code2") return PERL_XSUB_CODE;
  if (word == "own") return PERL_LOOP_CODE;
  if (word[0] == '^') return PERL_ENVIRONMENT;
  if (word[0] == '@') return PERL_EVAL_PLACE;
  return word.starts_with("eval") ? PERL_EVAL : PERL_SUB;
}

struct Merged {
  std::string text;
  bool isPaired;
};

/// `^3` says that an environment is in the native frame with this index, `@3` the same of an eval's.
Merged perl(const std::string& native, const std::string& own, bool isTruncated = false) {
  Spelled spelled;
  for (const std::string& word : wordsOf(native)) {
    StackFrame& frame = spelled.add(spelled.native, word);
    frame.role = perlRole(word);
    frame.isStop = word == "stop";
    frame.function = perlFunction(word);
  }
  for (const std::string& word : wordsOf(own)) {
    StackFrame& frame = spelled.add(spelled.own, word);
    frame.owner = INTERPRETER_PERL;
    frame.kind = perlKind(word);
    frame.function = perlFunction(word);
    if (word[0] == '^' || word[0] == '@') frame.place = static_cast<uint16_t>(std::stoi(word.substr(1)) + 1);
  }
  MergedFrames merged;
  const bool isPaired = interleavePerl(spelled.native, spelled.own, isTruncated, merged);
  return {spelled.spell(merged), isPaired};
}

void checkPerl(const char* what, const std::string& native, const std::string& own, const std::string& expected,
               bool isTruncated = false) {
  const auto [text, isPaired] = perl(native, own, isTruncated);
  check(isPaired && text == expected, what);
}

/// Subs written in C that called what is further in.
void testPerlCallers() {
  checkPerl("a sub written in C that calls Perl again stands at its function, the outermost one between the loops",
            "pp_x loop call_sv Xs Store Xs pp_entersub loop perl_run", "hook | xsub code f main",
            "(pp_x) hook (loop) (call_sv) Xs Store xsub (Xs) (pp_entersub) f main (loop) (perl_run)");
  checkPerl("each in the chain by itself", "Xs2 pp_entersub loop Xs pp_entersub loop perl_run",
            "xsub2 code2 block | xsub code f main",
            "xsub2 (Xs2) (pp_entersub) block (loop) xsub (Xs) (pp_entersub) f main (loop) (perl_run)");
  checkPerl("one that the thread is not in between these loops is not shown",
            "Xs pp_x loop call_sv magic loop perl_run", "hook | xsub code f main",
            "Xs (pp_x) hook (loop) (call_sv) (magic) f main (loop) (perl_run)");
  checkPerl("one whose call is about to enter its loop", "call_sv Xs pp_entersub loop perl_run",
            "hook | xsub code f main", "hook (call_sv) xsub (Xs) (pp_entersub) f main (loop) (perl_run)");
}

/// Run loops of modules, and which of them go on where others were.
void testPerlLoops() {
  checkPerl("a module's own run loop", "pp_add Own perl_run", "own f main", "(pp_add) f main Own (perl_run)");
  checkPerl("beside those of the interpreter", "pp_add Own Sort pp_sort loop perl_run", "own cmp | f main",
            "(pp_add) cmp Own Sort (pp_sort) f main (loop) (perl_run)");
  checkPerl(
      "a module's docatch: an eval tells which frames are in which loop",
      "pp_add loop Catch loop call_sv Async pp_entersub loop perl_run", "^1 ^8 grind eval @1 outer done | f main",
      "(pp_add) grind eval (loop) Catch outer done (loop) (call_sv) Async (pp_entersub) f main (loop) (perl_run)");
  checkPerl("and behind any number of frames", "loop Catch Pp loop call_sv Async loop perl_run",
            "^0 ^7 grind eval @0 outer | f main",
            "grind eval (loop) Catch Pp outer (loop) (call_sv) Async f main (loop) (perl_run)");
  checkPerl("its eval is over: all go on in the innermost loop", "pp_add loop Catch loop call_sv Async loop perl_run",
            "^1 ^7 grind outer | f main",
            "(pp_add) grind outer (loop) Catch (loop) (call_sv) Async f main (loop) (perl_run)");
  checkPerl("a loop that no environment is in front of was entered anew, however near", "pp_x loop First loop perl_run",
            "^4 block | f main", "(pp_x) block (loop) First f main (loop) (perl_run)");
  checkPerl("one that call_sv() catches exceptions of, too", "loop call_sv loop perl_run", "^1 ^3 sub eval @3 | main",
            "sub eval (loop) (call_sv) main (loop) (perl_run)");
}

void testPerl() {
  checkPerl("one run loop: the subs stand where it stands", "pp_add loop perl_run start Libc", "b a main",
            "(pp_add) b a main (loop) (perl_run) (start) Libc");
  checkPerl("a sort block calls a sub: its caller stands below the C code of sort",
            "pp_add loop sortcv Qsort pp_sort loop perl_run", "cmp | deep main",
            "(pp_add) cmp (loop) (sortcv) Qsort (pp_sort) deep main (loop) (perl_run)");
  checkPerl("an eval within C code goes on in a loop of its own, behind one frame",
            "pp_x loop docatch loop call_sv pp_tie Libc loop perl_run", "inner eval | outer main",
            "(pp_x) (loop) (docatch) inner eval (loop) (call_sv) (pp_tie) Libc outer main (loop) (perl_run)");
  checkPerl("and behind two", "loop docatch pp_entertry loop call_sv magic pp_x loop perl_run",
            "inner eval | outer main",
            "(loop) (docatch) (pp_entertry) inner eval (loop) (call_sv) (magic) (pp_x) outer main (loop) (perl_run)");
  checkPerl("a call that is about to enter its loop is the innermost", "call_sv amagic pp_add loop perl_run",
            "plus | sub main", "plus (call_sv) (amagic) (pp_add) sub main (loop) (perl_run)");
  checkPerl("a loop that its call has just left has no Perl frames", "Leaf loop call_sv magic pp_x loop perl_run",
            "f main", "Leaf (loop) (call_sv) (magic) (pp_x) f main (loop) (perl_run)");
  checkPerl("phase blocks: the main program runs in no loop, and is shown",
            "pp_add loop call_sv call_list perl_destruct start Libc", "END | main",
            "(pp_add) END main (loop) (call_sv) (call_list) (perl_destruct) (start) Libc");
  checkPerl("a thread and a callback have no code outside of subs below them", "pp_add loop call_sv Threads Start",
            "work | main", "(pp_add) work (loop) (call_sv) Threads Start");
  checkPerl("code that is called for the main program, not by perl_run itself", "pp_add loop run_body perl_run",
            "f main", "(pp_add) f main (loop) (run_body) (perl_run)");
  checkPerl("a native walk that broke: paired from the leaf, the rest outside of the reason", "pp_add loop Qsort stop",
            "cmp | deep main", "(pp_add) cmp (loop) Qsort stop deep main");
  checkPerl("a native walk that met no run loop: all of Perl is outside of the reason", "Asm stop", "f main",
            "Asm stop f main");
  checkPerl("a walk of the kernel's part that broke: the others are where they are", "stop pp_add loop perl_run",
            "f main", "stop (pp_add) f main (loop) (perl_run)");
  checkPerl("a native walk that hit its limit: the same", "pp_add loop Qsort", "cmp | deep main",
            "(pp_add) cmp (loop) Qsort deep main", true);
  checkPerl("a Perl walk that hit its limit: paired from the outermost", "pp_add loop Qsort pp_sort loop perl_run",
            "cmp | deep", "(pp_add) cmp (loop) Qsort (pp_sort) deep (loop) (perl_run)", true);
  checkPerl("a Perl walk that broke: its reason is the outermost frame", "pp_add loop perl_run Libc", "f [stop]",
            "(pp_add) f (loop) (perl_run) Libc [stop]");
  checkPerl("a sub written in C stands at its function", "Helper Xs pp_entersub loop perl_run", "xsub code f main",
            "Helper xsub (Xs) (pp_entersub) f main (loop) (perl_run)");
  checkPerl("a sub written in C whose code the thread is not in is not shown", "Helper pp_entersub loop perl_run",
            "xsub code f main", "Helper (pp_entersub) f main (loop) (perl_run)");
  testPerlCallers();
  testPerlLoops();
  checkPerl("without Perl frames nothing is hidden", "pp_add loop perl_run Libc", "[stop]",
            "pp_add loop perl_run Libc [stop]");
  checkPerl("nothing of both: nothing", "", "", "");
  const auto [text, isPaired] = perl("pp_add loop perl_run Libc", "a | b | c | d main");
  check(!isPaired && text == "(pp_add) a b c d main (loop) (perl_run) Libc", "numbers that disagree: one block");
  check(perl("Libc", "a | b main").text == "a Libc", "a block without a loop comes first");
}

/// Native frames by letters: E an evaluation, i the interpreter's other code, . a library, ? the reason of an end.
NativeRole pythonRole(char letter) {
  if (letter == 'E') return {INTERPRETER_PYTHON, kEvaluation};
  return letter == 'i' ? NativeRole{INTERPRETER_PYTHON, 0} : NativeRole{};
}

uint8_t pythonKind(char letter) {
  switch (letter) {
    case 'f':
      return PYTHON_FRAME;
    case 'c':
      return PYTHON_CALL;
    case '@':
      return PYTHON_EVALUATION;
    case 'p':
      return PYTHON_PLACE;
    default:
      return INTERPRETED_STOP;
  }
}

/// Words of Python: `f1` a frame, `c1` one of its own, `@3` an evaluation at index 3, `@` at none, `p3` a place, `!1` a
/// stop.
void checkPython(const char* what, const std::string& native, const std::string& own, const std::string& expected,
                 bool isTruncated = false) {
  Spelled spelled;
  for (const char letter : native) {
    StackFrame& frame = spelled.add(spelled.native, std::string(1, letter));
    frame.role = pythonRole(letter);
    frame.isStop = letter == '?';
  }
  for (const std::string& word : wordsOf(own)) {
    StackFrame& frame = spelled.add(spelled.own, word.substr(1));
    frame.owner = INTERPRETER_PYTHON;
    frame.kind = pythonKind(word[0]);
    const bool isPlace = word[0] == '@' || word[0] == 'p';
    frame.place = isPlace && word.size() > 1 ? static_cast<uint16_t>(std::stoi(word.substr(1)) + 1) : 0;
  }
  MergedFrames merged;
  const bool isPaired = interleavePython(spelled.native, spelled.own, isTruncated, merged);
  check(spelled.spell(merged, "") + (isPaired ? "" : " unpaired") == expected, what);
}

void testPython() {
  checkPython("frames stand above the native frame that executes them", ".iEiE.", "f1 f2 @2 f3 @4",
              ".(i)12(E)(i)3(E).");
  checkPython("an evaluation without frames shows nothing", "EiE.", "f1 @2", "(E)(i)1(E).");
  checkPython("a stack that was switched leaves evaluations of others below, which stay", "E.iEE", "f1 @0",
              "1(E).(i)EE unpaired");
  checkPython("so does a state that was not found, also between others", "EiEiE", "f1 @0 f2 @4",
              "1(E)(i)E(i)2(E) unpaired");
  checkPython("an evaluation all of whose frames are none has a place", "E.EE", "f1 @0 @2 f2 @3", "1(E).(E)2(E)");
  checkPython("interpreters that call each other: by their places, whichever chain comes first", "E.E.EiE.",
              "f1 @0 f4 @4 f5 @6 f2 f3 @2", "1(E).23(E).4(E)(i)5(E).");
  checkPython("each with frames that are evaluations by themselves", "E.E.EiE.", "c1 c4 p0 p6 c2 c3 p2 p4",
              "1(E).2(E).3(E)(i)4(E).");
  checkPython("the walk that ended early says why at the outer end", "E.", "f1 @0 f2 !9", "1(E).29");
  checkPython("each frame is one evaluation: from the outermost inwards", "EiEi", "c1 c2", "1(E)(i)2(E)(i)");
  checkPython("the innermost evaluation may have no frame", "EEiE", "c1 c2", "(E)1(E)(i)2(E)");
  checkPython("more that are without a frame are not paired", "EEE.", "c1", "1(E)EE. unpaired");
  checkPython("one that was not found is between its neighbours", "EiEiE", "f1 @0 f2 @ f3 @4", "1(E)(i)2(E)(i)3(E)");
  checkPython("places that come apart belong to the outermost frames", "EE.E", "c1 c2 c3 p1 p3", "1(E)2(E).3(E)");
  checkPython("a native walk that broke: from the innermost outwards, and the rest outside", "EE?", "c1 c2 c3",
              "1(E)2(E)?3");
  checkPython("a native walk that met no evaluation: all of Python is outside of the reason", ".?", "f1 f2 @", ".?12");
  checkPython("a walk of the kernel's part that broke: the others are where they are", "?E?", "c1 c2", "?1(E)?2");
  checkPython("a native walk that hit its limit: the same", "EE", "c1 c2 c3", "1(E)2(E)3", true);
  checkPython("without Python frames nothing is hidden", "E.", "!9", "E.9");
  checkPython("a place that is no frame's: behind all", "E.", "f1 @900", "(E).1");
}

/// Interpreters whose frames stand above the native frame with a number, which is hidden for them.
template <uint32_t number>
bool interleaveAbove(StackFrames native, StackFrames own, bool /*isTruncated*/, MergedFrames& into) {
  for (const StackFrame& frame : native) {
    if (frame.number == number) {
      for (const StackFrame& it : own) into.push(it);
    }
    into.pushNative(frame, frame.number == number);
  }
  return number != 4;
}

constexpr Interleaver kAbove4 = {1, interleaveAbove<4>, nullptr, nullptr, 0},
                      kAbove2 = {2, interleaveAbove<2>, nullptr, nullptr, 0};

StackFrame numbered(uint32_t number, uint8_t owner) {
  StackFrame frame;
  frame.number = number;
  frame.hiddenNumber = number + 1;
  frame.owner = owner;
  return frame;
}

struct MergedNumbers {
  std::vector<uint32_t> numbers;
  uint32_t unpaired;
};

MergedNumbers merge(const std::vector<const Interleaver*>& known, const std::vector<StackFrame>& native,
                    const std::vector<StackFrame>& own) {
  MergedFrames merged;
  const uint32_t unpaired = mergeFrames(native, own, false, known, merged);
  std::vector<uint32_t> numbers;
  for (const MergedFrames::Frame& frame : merged) numbers.push_back(frame.number);
  return {numbers, unpaired};
}

void testSeveral() {
  const std::vector<StackFrame> native = {numbered(0, 0), numbered(2, 0), numbered(4, 0), numbered(6, 0)};
  const MergedNumbers one = merge({&kAbove4}, native, {numbered(20, 1), numbered(21, 1)});
  check(one.numbers == std::vector<uint32_t>{0, 2, 20, 21, 5, 6} && one.unpaired == 2, "frames of one interpreter");
  const MergedNumbers two =
      merge({&kAbove4, &kAbove2}, native, {numbered(20, 1), numbered(30, 2), numbered(31, 2), numbered(21, 1)});
  check(two.numbers == std::vector<uint32_t>{0, 30, 31, 3, 20, 21, 5, 6} && two.unpaired == 2,
        "frames of two, each above its own native frame");
  const std::vector<StackFrame> placed = {numbered(0, 0), numbered(38, 3), numbered(4, 0), numbered(6, 0)};
  check(merge({&kAbove4}, placed, {numbered(20, 1)}).numbers == std::vector<uint32_t>{0, 38, 20, 5, 6},
        "frames that are in their places already stay there");
  check(merge({}, placed, {numbered(20, 1)}).numbers == std::vector<uint32_t>{0, 38, 4, 6},
        "frames of an interpreter that nobody knows the places of are left out");
  check(!kPerlInterleaver.isShown(PERL_CUT) && kPerlInterleaver.isShown(PERL_SUB) &&
            !kPythonInterleaver.isShown(PYTHON_PLACE) && kPythonInterleaver.isShown(PYTHON_FRAME),
        "words that only tell where frames belong are not shown");
}

}  // namespace

int main() {
  testPerl();
  testPython();
  testSeveral();
  return reportChecks();
}
