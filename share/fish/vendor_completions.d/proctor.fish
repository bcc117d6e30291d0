# fish completion for proctor, written by `proctor completion fish`

function __proctor_verb
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

function __proctor_no_verb
    test (count (commandline -opc)) -eq 1
end

function __proctor_runs
    set -l words (commandline -opc)
    set -l directory .
    if set -l at (contains -i -- -C $words)
        set directory $words[(math $at + 1)]
    end
    echo last
    for run in $directory/.proctor/runs/*/
        basename $run
    end
end

complete -c proctor -f
complete -c proctor -n __proctor_no_verb -a run -d 'run tests and report what happened'
complete -c proctor -n __proctor_no_verb -a show -d 'show a kept run again, one test of it, or a report, stream or log'
complete -c proctor -n __proctor_no_verb -a runs -d 'list the kept runs, newest first'
complete -c proctor -n __proctor_no_verb -a discover -d 'list tests without running them'
complete -c proctor -n __proctor_no_verb -a doctor -d 'show which interpreter, runners and settings a run would use, and why'
complete -c proctor -n __proctor_no_verb -a help -d 'show this help, or that of a verb'
complete -c proctor -n __proctor_no_verb -a mcp -d 'serve proctor\'s tools to agents'
complete -c proctor -n __proctor_no_verb -a convert -d 'write a report in another format'
complete -c proctor -n __proctor_no_verb -a completion -d 'write a completion script for bash, zsh or fish'
complete -c proctor -n __proctor_no_verb -a report -d 'in a test: report a result, with files'
complete -c proctor -n __proctor_no_verb -a begin -d 'in a test: open its result as an error, until it reports'
complete -c proctor -n __proctor_no_verb -a duration -d 'in a test: change its time limit'
complete -c proctor -n __proctor_no_verb -a noop -d 'in a test: find out whether proctor listens'
complete -c proctor -n __proctor_no_verb -a control -d 'check a recorded control stream'
complete -c proctor -n __proctor_no_verb -l help -d 'show the help'
complete -c proctor -n __proctor_no_verb -l version -d 'show the version'
complete -c proctor -n '__proctor_verb run' -F
complete -c proctor -n '__proctor_verb run' -s k -r -f -d 'only tests whose names match, e.g. \'cart and not slow\''
complete -c proctor -n '__proctor_verb run' -s m -r -f -d 'only tests with these markers, e.g. \'not slow\''
complete -c proctor -n '__proctor_verb run' -l runner -r -f -a 'pytest unittest command go cargo tap node vitest jest' -d 'pytest, unittest, command, go, cargo, tap, node, vitest, jest, or several with commas (default: all that find tests)'
complete -c proctor -n '__proctor_verb run' -l strict-suites -d 'fail with exit code 2 if a suite cannot run here, e.g. without its tool (default in CI)'
complete -c proctor -n '__proctor_verb run' -l allow-missing-suites -d 'run without the suites that cannot run here, and name them (default elsewhere)'
complete -c proctor -n '__proctor_verb run' -l last-failed -l lf -d 'only tests that failed when they last ran (all, if none did)'
complete -c proctor -n '__proctor_verb run' -l failed-first -l ff -d 'run tests that failed when they last ran first, then the others (pytest, unittest, command)'
complete -c proctor -n '__proctor_verb run' -l repeat -r -f -d 'run each test N times (pytest; default: 1)'
complete -c proctor -n '__proctor_verb run' -l seed -r -f -d 'seed of Python\'s hashes, and of the test order with pytest-randomly (default: random)'
complete -c proctor -n '__proctor_verb run' -l timeout -r -f -d 'time limit for the whole run, e.g. 90, 15m or 1h 30m (default: none)'
complete -c proctor -n '__proctor_verb run' -l memory -r -f -d 'address space limit for each process, e.g. 512M or 2G (default: none)'
complete -c proctor -n '__proctor_verb run' -s x -d 'stop at the first failure'
complete -c proctor -n '__proctor_verb run' -l maxfail -r -f -d 'stop after N failures (default: no limit)'
complete -c proctor -n '__proctor_verb run' -l exitfirst-new -d 'stop at the first failure of a test that passed when it last ran'
complete -c proctor -n '__proctor_verb run' -l test-timeout -r -f -d 'time limit for each test (pytest, unittest; default: none)'
complete -c proctor -n '__proctor_verb run' -s n -r -f -a 'auto' -d 'run N tests at a time; auto: as many as there are processors (default: 1)'
complete -c proctor -n '__proctor_verb run' -l parallel -r -f -a 'fork xdist off' -d 'fork, xdist or off: what -n uses (pytest; default: fork if that is safe, else xdist)'
complete -c proctor -n '__proctor_verb run' -l isolate -d 'run each test in a process of its own (pytest, unittest)'
complete -c proctor -n '__proctor_verb run' -l retries -r -f -d 'run each failed test up to K times more, after the others (pytest, unittest; default: 0)'
complete -c proctor -n '__proctor_verb run' -l flaky -r -f -a 'pass fail' -d 'pass or fail: what a test that passes only in a retry makes of the run (default: pass)'
complete -c proctor -n '__proctor_verb run' -l format -r -f -a 'auto human agent github json stream events results junit junit-full ctrf tap' -d 'format of stdout: auto, human, agent, github, json, stream, events, results, junit, junit-full, ctrf, tap (default: auto)'
complete -c proctor -n '__proctor_verb run' -s o -r -F -a 'human= agent= github= json= stream= events= results= junit= junit-full= ctrf= tap=' -d 'also write this format to a file; may be repeated'
complete -c proctor -n '__proctor_verb run' -s v -d 'show a line for each test, whole differences and traces'
complete -c proctor -n '__proctor_verb run' -s q -d 'show only failures and the verdict'
complete -c proctor -n '__proctor_verb run' -l durations -r -f -d 'show the N slowest tests; 0: all (default: 3, if they take 0.1 s or more)'
complete -c proctor -n '__proctor_verb run' -s s -d 'do not capture the output of tests (pytest\'s -s), and show it on stderr as it comes'
complete -c proctor -n '__proctor_verb run' -l show-output -d 'show what the test processes print, such as pytest\'s own text, on stderr as it comes'
complete -c proctor -n '__proctor_verb run' -l locals -d 'show the local variables of each failure (pytest)'
complete -c proctor -n '__proctor_verb run' -l verbosity -r -f -d 'pytest\'s own verbosity: 2 shows compared values in full (default: the project\'s)'
complete -c proctor -n '__proctor_verb run' -l budget -r -f -d 'maximum size of the agent text, in tokens (default: no limit)'
complete -c proctor -n '__proctor_verb run' -l failure-summary -r -f -a 'auto on off' -d 'on, off or auto: end the text with one line for each failure (default: auto, only for agents)'
complete -c proctor -n '__proctor_verb run' -s C -r -f -a '(__fish_complete_directories)' -d 'the project\'s directory (default: the current one)'
complete -c proctor -n '__proctor_verb run' -l python -r -F -d 'the interpreter, or the directory of its environment (default: see `proctor doctor`)'
complete -c proctor -n '__proctor_verb run' -l no-archive -d 'do not keep the run in .proctor/'
complete -c proctor -n '__proctor_verb run' -l no-history -d 'do not compare with earlier runs, and do not remember this one'
complete -c proctor -n '__proctor_verb run' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb show' -F -a '(__proctor_runs)'
complete -c proctor -n '__proctor_verb show' -l test -r -f -d 'only this test of the run, with all that is known about it'
complete -c proctor -n '__proctor_verb show' -l file -r -f -d 'with --test: the bytes of this file of the test'
complete -c proctor -n '__proctor_verb show' -l difference -d 'with --test: the whole difference between the compared values'
complete -c proctor -n '__proctor_verb show' -l locals -d 'with --test: the local variables of its failure'
complete -c proctor -n '__proctor_verb show' -l output -d 'what the processes of the run wrote to stdout and stderr, as it came'
complete -c proctor -n '__proctor_verb show' -l format -r -f -a 'auto human agent summary dots names tree libtest github json stream events junit junit-full ctrf tap failures' -d 'format of stdout: auto, human, agent, summary, dots, names, tree, libtest, github, json, stream, events, junit, junit-full, ctrf, tap, failures (default: auto)'
complete -c proctor -n '__proctor_verb show' -s v -d 'show a line for each test, whole differences and traces'
complete -c proctor -n '__proctor_verb show' -s q -d 'show only failures and the verdict'
complete -c proctor -n '__proctor_verb show' -l durations -r -f -d 'show the N slowest tests; 0: all (default: 3, if they take 0.1 s or more)'
complete -c proctor -n '__proctor_verb show' -l follow -d 'wait for more until the run has ended'
complete -c proctor -n '__proctor_verb show' -l failure-summary -r -f -a 'auto on off' -d 'on, off or auto: end the text with one line for each failure (default: auto, only for agents)'
complete -c proctor -n '__proctor_verb show' -l strict -d 'check the rules of the stream instead'
complete -c proctor -n '__proctor_verb show' -s C -r -f -a '(__fish_complete_directories)' -d 'the project\'s directory (default: the current one)'
complete -c proctor -n '__proctor_verb show' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb runs' -l limit -r -f -d 'list at most N runs (default: 20)'
complete -c proctor -n '__proctor_verb runs' -l format -r -f -a 'human json' -d 'format of stdout: human, json (default: human)'
complete -c proctor -n '__proctor_verb runs' -s C -r -f -a '(__fish_complete_directories)' -d 'the project\'s directory (default: the current one)'
complete -c proctor -n '__proctor_verb runs' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb discover' -F
complete -c proctor -n '__proctor_verb discover' -s k -r -f -d 'only tests whose names match, e.g. \'cart and not slow\''
complete -c proctor -n '__proctor_verb discover' -s m -r -f -d 'only tests with these markers, e.g. \'not slow\''
complete -c proctor -n '__proctor_verb discover' -l runner -r -f -a 'pytest unittest command go cargo tap node vitest jest' -d 'pytest, unittest, command, go, cargo, tap, node, vitest, jest, or several with commas (default: all that find tests)'
complete -c proctor -n '__proctor_verb discover' -l strict-suites -d 'fail with exit code 2 if a suite cannot run here, e.g. without its tool (default in CI)'
complete -c proctor -n '__proctor_verb discover' -l allow-missing-suites -d 'run without the suites that cannot run here, and name them (default elsewhere)'
complete -c proctor -n '__proctor_verb discover' -l timeout -r -f -d 'time limit for the whole run, e.g. 90, 15m or 1h 30m (default: none)'
complete -c proctor -n '__proctor_verb discover' -l memory -r -f -d 'address space limit for each process, e.g. 512M or 2G (default: none)'
complete -c proctor -n '__proctor_verb discover' -l offset -r -f -d 'skip the first N tests (default: 0)'
complete -c proctor -n '__proctor_verb discover' -l limit -r -f -d 'list at most N tests (default: 1000)'
complete -c proctor -n '__proctor_verb discover' -l format -r -f -a 'human json' -d 'format of stdout: human, json (default: human)'
complete -c proctor -n '__proctor_verb discover' -s C -r -f -a '(__fish_complete_directories)' -d 'the project\'s directory (default: the current one)'
complete -c proctor -n '__proctor_verb discover' -l python -r -F -d 'the interpreter, or the directory of its environment (default: see `proctor doctor`)'
complete -c proctor -n '__proctor_verb discover' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb doctor' -s C -r -f -a '(__fish_complete_directories)' -d 'the project\'s directory (default: the current one)'
complete -c proctor -n '__proctor_verb doctor' -l python -r -F -d 'the interpreter, or the directory of its environment (default: see `proctor doctor`)'
complete -c proctor -n '__proctor_verb doctor' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb help' -f -a 'run show runs discover doctor help mcp convert completion report begin duration noop control'
complete -c proctor -n '__proctor_verb help' -l man -d 'write the man page proctor(1) instead, as roff'
complete -c proctor -n '__proctor_verb help' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb mcp' -l http -r -f -d 'serve over streamable HTTP (default: stdio)'
complete -c proctor -n '__proctor_verb mcp' -l token-file -r -F -d 'file with the token that HTTP clients must send (default: PROCTOR_MCP_TOKEN)'
complete -c proctor -n '__proctor_verb mcp' -l print-config -r -f -a 'claude-code codex cursor vscode gemini-cli' -d 'print the server\'s entry for the settings of a client: claude-code, codex, cursor, vscode, gemini-cli'
complete -c proctor -n '__proctor_verb mcp' -l max-runs -r -f -d 'run at most N at a time; others wait (default: 4)'
complete -c proctor -n '__proctor_verb mcp' -l root -r -f -a '(__fish_complete_directories)' -d 'project that may be tested, with all below it (default: the current directory); may be repeated'
complete -c proctor -n '__proctor_verb mcp' -l python -r -F -d 'interpreter that calls may name; the first is the default; may be repeated'
complete -c proctor -n '__proctor_verb mcp' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb convert' -F
complete -c proctor -n '__proctor_verb convert' -l from -r -f -a 'auto libtest json stream events results junit junit-full ctrf tap failures tap-j libtest-json go-json reportlog json-report vitest jest' -d 'format of IN: libtest, json, stream, events, results, junit, junit-full, ctrf, tap, failures, tap-j, libtest-json, go-json, reportlog, json-report, vitest, jest (default: auto, by its content)'
complete -c proctor -n '__proctor_verb convert' -l to -r -f -a 'human agent summary dots names tree libtest github json stream events junit junit-full ctrf tap failures' -d 'format to write, required: human, agent, summary, dots, names, tree, libtest, github, json, stream, events, junit, junit-full, ctrf, tap, failures'
complete -c proctor -n '__proctor_verb convert' -s o -r -F -d 'file to write (default: stdout)'
complete -c proctor -n '__proctor_verb convert' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb completion' -f -a 'bash zsh fish'
complete -c proctor -n '__proctor_verb completion' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb report' -l status -r -f -a 'pass fail info warn skip error' -d 'pass, fail, info, warn, skip, error'
complete -c proctor -n '__proctor_verb report' -l name -r -f -d 'part of the test (default: the test itself)'
complete -c proctor -n '__proctor_verb report' -l note -r -f -d 'a remark'
complete -c proctor -n '__proctor_verb report' -l partial -d 'leave the result open: more of the same name follows'
complete -c proctor -n '__proctor_verb report' -l set -r -f -d 'any other key; may be repeated'
complete -c proctor -n '__proctor_verb report' -l file -r -F -d 'attach a file, under its own name or NAME; may be repeated'
complete -c proctor -n '__proctor_verb report' -l testout -r -f -d 'attach the output of the test as a file of this name'
complete -c proctor -n '__proctor_verb report' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb begin' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb duration' -f
complete -c proctor -n '__proctor_verb duration' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb noop' -s h -l help -d 'show this help'
complete -c proctor -n '__proctor_verb control' -f -a 'check'
complete -c proctor -n '__proctor_verb control' -F
complete -c proctor -n '__proctor_verb control' -l format -r -f -a 'human json' -d 'format of stdout: human, json (default: human)'
complete -c proctor -n '__proctor_verb control' -s C -r -f -a '(__fish_complete_directories)' -d 'the project\'s directory (default: the current one)'
complete -c proctor -n '__proctor_verb control' -s h -l help -d 'show this help'
