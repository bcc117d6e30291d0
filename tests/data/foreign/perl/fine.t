use strict;
use warnings;
use Test::More tests => 2;

ok(1, 'first');
ok(1);
