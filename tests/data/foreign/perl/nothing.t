use strict;
use warnings;
use Test::More skip_all => 'no network here';
