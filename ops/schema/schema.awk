# SPDX-License-Identifier: Apache-2.0
# Turns the sorted rows of the .tsv files into a C table.
function text(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); return "\"" s "\"" }
BEGIN {
    FS = "\t"
    print "/* Made by schema.awk from ops/schema/(*.tsv); do not edit. */"
    print "#include \"ops/schema/table.h\"\n\nconst struct sc_schema sc_schema_table[] = {"
}
/^#/ { next }
NF != 13 { printf "schema.awk: %d columns, want 13: %s\n", NF, $0 > "/dev/stderr"; bad = 1; exit 1 }
{
    n++
    printf "    {%s, %s, %d, %d, %d, %s, %s, %s, %s, %s, %s, %s, %s},\n", text($1), text($2), $3, $4, $5, $6, $7, $8, $9,
        text($10), text($11), text($12), text($13)
}
END { if (!bad) printf "};\n\nconst int sc_schema_table_n = %d;\n", n }
