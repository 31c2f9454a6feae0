// SPDX-License-Identifier: Apache-2.0

// goroutines: asks for the time below two functions, burns the CPU, and starts goroutines and processes.
package main

import (
	"os"
	"os/exec"
	"time"
)

//go:noinline
func askInner(rounds int) (sum int64) {
	for i := 0; i < rounds; i++ {
		sum += time.Now().UnixNano()
	}
	return sum
}

//go:noinline
func askOuter(rounds int) int64 { return askInner(rounds) + 1 }

//go:noinline
func burnInner(rounds int) int {
	value := 1
	for i := 0; i < rounds; i++ {
		value = value*31 + i
	}
	return value
}

//go:noinline
func burnOuter(rounds int) int { return burnInner(rounds) + 1 }

func main() {
	if len(os.Args) > 1 {
		return
	}
	go func() {
		for {
			_ = exec.Command("/proc/self/exe", "end").Run()
			time.Sleep(20 * time.Millisecond)
		}
	}()
	for {
		askOuter(2000)
		done := make(chan int)
		go func() { done <- burnOuter(20000) }()
		<-done
	}
}
