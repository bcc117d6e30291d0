package panics

import "testing"

func TestFirst(t *testing.T) {}

func TestPanics(t *testing.T) {
	var m map[string]int
	m["a"] = 1
}

func TestLast(t *testing.T) {}
