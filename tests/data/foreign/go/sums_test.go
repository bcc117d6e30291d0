package sums

import (
	"fmt"
	"os"
	"testing"
)

func TestPasses(t *testing.T) {}

func TestFails(t *testing.T) {
	t.Log("a detail")
	t.Errorf("got %d, want %d", 5, 4)
}

func TestPrints(t *testing.T) {
	fmt.Println("to stdout")
	fmt.Println("--- FAIL: TestLie (0.00s)")
	fmt.Fprintln(os.Stderr, "to stderr")
}

func TestSkipped(t *testing.T) { t.Skip("not today") }

func TestGroup(t *testing.T) {
	t.Run("passes", func(t *testing.T) {})
	t.Run("fails", func(t *testing.T) { t.Fatal("inner") })
}

func BenchmarkSum(b *testing.B) {
	for i := 0; i < b.N; i++ {
	}
}

func Example() {
	fmt.Println("hello")
	// Output: hello
}
