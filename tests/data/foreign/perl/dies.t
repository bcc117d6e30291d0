use strict;
use warnings;
use Test::More tests => 3;

ok(1, 'first');
die 'no database';
