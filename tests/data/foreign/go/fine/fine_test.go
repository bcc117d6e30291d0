package fine

import "testing"

func TestPasses(t *testing.T) {}
