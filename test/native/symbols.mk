# Builds the command-line tool of test/unit/symbols.test.ts, as it is and with sanitizers.
# Called from the top folder: make -f test/native/symbols.mk
#
# What the names of native functions need of an addon that links them:
#   sources  native/{symbols,symbol_table,debug_file,go_functions,go_table,lzma_section,demangle,demangle_cpp,elf_image,line_table}.cpp
#   compile  -std=c++20 -isystem /usr/lib/llvm-19/include      (RTTI on or off: both work)
#   link     /usr/lib/llvm-19/lib/libLLVMDemangle.a -llzma -lz -ldw -lelf

LLVM ?= /usr/lib/llvm-19
CXX := g++
FLAGS := -std=c++20 -O2 -g1 -Wall -Wextra -Werror -isystem $(LLVM)/include
LIBRARIES := $(LLVM)/lib/libLLVMDemangle.a -llzma -lz -ldw -lelf
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all

NAMES := symbols symbol_table debug_file go_functions go_table lzma_section demangle demangle_cpp elf_image line_table
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
