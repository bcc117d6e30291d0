use strict;
use warnings;
use Test::More;

ok(1, 'passes');
is(1 + 1, 3, 'fails');
SKIP: { skip 'not today', 1; ok(0, 'never'); }
TODO: { local $TODO = 'later'; ok(0, 'todo that fails'); ok(1, 'todo that passes'); }
subtest 'a group' => sub { plan tests => 2; ok(1, 'inner passes'); ok(0, 'inner fails'); };
print "noise on stdout\n";
diag('to stderr');
done_testing();
