// SPDX-License-Identifier: Apache-2.0

// crossings: Go burns the CPU below C, which Go called, and below the runtime, on the stack of the thread.
package main

/*
#cgo CFLAGS: -O2
extern void goBack(int);
static volatile unsigned long sum;
static __attribute__((noinline)) void cInner(int depth) { goBack(depth); sum++; }
static __attribute__((noinline)) void cOuter(int depth) { cInner(depth); sum++; }
static __attribute__((noinline)) void cBurn(void) { for (int i = 0; i < 1000000; i++) sum += i; sum++; }
static __attribute__((noinline)) void cAlone(void) { cBurn(); sum++; }
*/
import "C"
import "runtime"

//go:noinline
func burnInner(rounds int) int {
	value := 1
	for i := 0; i < rounds; i++ {
		value = value*31 + i
	}
	return value
}

//export goBack
func goBack(depth C.int) {
	if depth > 0 {
		crossOuter(int(depth) - 1)
	} else {
		kept = burnInner(3000000)
	}
}

var kept int

//go:noinline
func crossOuter(depth int) { C.cOuter(C.int(depth)) }

//go:noinline
func aloneOuter() { C.cAlone() }

//go:noinline
func collectOuter() { runtime.GC() }

func main() {
	for {
		crossOuter(1)
		aloneOuter()
		collectOuter()
	}
}
