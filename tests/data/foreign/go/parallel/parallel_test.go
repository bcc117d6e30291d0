package parallel

import (
	"testing"
	"time"
)

func TestWaits(t *testing.T) {
	t.Parallel()
	time.Sleep(time.Minute)
}

func TestPanics(t *testing.T) {
	t.Parallel()
	panic("boom")
}
