#!/bin/sh
# A program that reports on its parts, and attaches a file to one of them.
proctor begin
proctor report --name database --status pass
echo "connection refused by port 6379" >cache.log
proctor report --name cache --status fail --note "no answer" --file cache.log
proctor report --status pass
