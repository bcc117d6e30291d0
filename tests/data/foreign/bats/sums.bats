@test "passes" { true; }

@test "fails # not a directive" {
  echo "before the failure"
  [ $((1 + 1)) -eq 3 ]
}

@test "skipped" { skip "not today"; }

@test "prints" { echo "# a comment" >&3; echo "quiet"; }

@test "exits" { exit 7; }
