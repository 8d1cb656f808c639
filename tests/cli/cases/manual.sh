# The man page has a section for each command, and groff, where there is one, reads it without complaint.
stagecoach help --man > page
grep '^\.SS ' page
if command -v groff > /dev/null; then
    groff -man -Tutf8 -ww page > /dev/null
fi
