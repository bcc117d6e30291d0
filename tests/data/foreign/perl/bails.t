use strict;
use warnings;
use Test::More tests => 3;

ok(1, 'first');
BAIL_OUT('the network is down');
