# Builds the command-line tool of test/unit/symbols.test.ts, as it is and with sanitizers.
# Called from the top folder: make -f test/native/symbols.mk
#
# What the names of native functions need of an addon that links them:
#   sources  native/{symbols/symbols,symbols/symbol_table,elf/debug_file,go/go_functions,go/go_table,elf/lzma_section,symbols/demangle,symbols/demangle_cpp,elf/elf_image,symbols/line_table}.cpp
#   compile  -std=c++20 -isystem /usr/lib/llvm-19/include      (RTTI on or off: both work)
#   link     /usr/lib/llvm-19/lib/libLLVMDemangle.a -llzma -lz -ldw -lelf

LLVM ?= /usr/lib/llvm-19
CXX := g++
FLAGS := -std=c++20 -O2 -g1 -Wall -Wextra -Werror -iquote native -iquote . -isystem $(LLVM)/include
LIBRARIES := $(LLVM)/lib/libLLVMDemangle.a -llzma -lz -ldw -lelf
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all

NAMES := symbols/symbols symbols/symbol_table elf/debug_file go/go_functions go/go_table elf/lzma_section symbols/demangle symbols/demangle_cpp elf/elf_image symbols/line_table
OUT := build/test/symbols
PLAIN := $(NAMES:%=$(OUT)/%.o) $(OUT)/symbols_tool.o
CHECKED := $(NAMES:%=$(OUT)/checked/%.o) $(OUT)/checked/symbols_tool.o

all: $(OUT)/symbols_tool $(OUT)/symbols_tool_checked

$(OUT)/symbols_tool: $(PLAIN)
	$(CXX) $^ $(LIBRARIES) -o $@

$(OUT)/symbols_tool_checked: $(CHECKED)
	$(CXX) $(SANITIZE) $^ $(LIBRARIES) -o $@

$(OUT)/%.o: native/%.cpp test/native/symbols.mk
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) -MMD -MP -c $< -o $@

$(OUT)/%.o: test/native/%.cpp test/native/symbols.mk
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) -MMD -MP -c $< -o $@

$(OUT)/checked/%.o: native/%.cpp test/native/symbols.mk
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) $(SANITIZE) -MMD -MP -c $< -o $@

$(OUT)/checked/%.o: test/native/%.cpp test/native/symbols.mk
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) $(SANITIZE) -MMD -MP -c $< -o $@

-include $(PLAIN:.o=.d) $(CHECKED:.o=.d)

.PHONY: all
