import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SCRIPTS = [
    ("echo hello   world", "hello world\n"),
    ("echo 'a  b' \"c  d\" e\\ f", "a  b c  d e f\n"),
    ("echo $HOSTNAME ${NOPE:-none} ${HOSTNAME:+there} ${#HOSTNAME}", "web-0 none there 5\n"),
    ("x=archive.tar.gz; echo ${x%.*} ${x%%.*} ${x#*.} ${x##*.}", "archive.tar archive tar.gz gz\n"),
    ("x='a b'; set -- $x; echo $#; set -- \"$x\"; echo $#", "2\n1\n"),
    ("set -- 'a b' c; for i in \"$@\"; do echo [$i]; done; for i in $*; do echo $i; done", "[a b]\n[c]\na\nb\nc\n"),
    ("set -- a b c; shift; echo $1 $#", "b 2\n"),
    ("echo $(echo $(echo deep)) `echo old`", "deep old\n"),
    ("echo \"$(printf 'a\\n\\n')\"b", "ab\n"),
    ("echo $((1 + 2 * 3)) $((7 / 2)) $((-7 % 3)) $((2 ** 10)) $((0x1f)) $((1 < 2 ? 5 : 6))", "7 3 -1 1024 31 5\n"),
    ("i=1; i=$((i + 1)); echo $i $((i += 3)) $i", "2 5 5\n"),
    ("true && echo yes || echo no; false && echo yes || echo no", "yes\nno\n"),
    ("! false; echo $?; ! true; echo $?", "0\n1\n"),
    ("if false; then echo a; elif true; then echo b; else echo c; fi", "b\n"),
    ("for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done", "1\n3\n"),
    ("for i in 1 2; do for j in a b; do [ $j = b ] && break 2; echo $i$j; done; done", "1a\n"),
    ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done; until [ $i -eq 0 ]; do i=$((i-1)); done; echo $i", "0\n"),
    ("case web-0 in db*) echo db;; web-[0-9]|x) echo web;; *) echo other;; esac", "web\n"),
    ('f() { echo "$1 of $#"; return 3; }; f a b; echo $?', "a of 2\n3\n"),
    ("x=out; (x=in; cd /tmp; echo $x; pwd); echo $x; pwd", "in\n/tmp\nout\n/\n"),
    ("{ echo a; echo b; } | tail -n 1", "b\n"),
    ("echo a > /tmp/f; echo b >> /tmp/f; cat < /tmp/f; wc -l < /tmp/f", "a\nb\n2\n"),
    ("cat /nope 2>&1 | head -1; cat /nope 2>/dev/null; echo $?", "cat: /nope: No such file or directory\n1\n"),
    ("echo seen >/dev/null; echo hidden 2>/dev/null", "hidden\n"),
    ("printf 'a b c\\nd e\\n' | while read x y; do echo $y-$x; done", "b c-a\ne-d\n"),
    ("cd /tmp; touch a1 a2 b; echo /tmp/a*; echo *; echo 'a*' [b-z] x*", "/tmp/a1 /tmp/a2\na1 a2 b\na* b x*\n"),
    ("echo ~ ~/x '~'", "/root /root/x ~\n"),
    ("A=1 env | grep ^A=; export B=2; sh -c 'echo $B'; C=3; sh -c 'echo [$C]'", "A=1\n2\n[]\n"),
    ("sh -c 'echo $0 $1' name one", "name one\n"),
    ("eval 'x=1; echo $x'; echo $x; unset x; echo [$x]", "1\n1\n[]\n"),
    ("set -e; false || echo checked; if false; then :; fi; (exit 0); echo on; false; echo never", "checked\non\n"),
    ("echo 'echo f: $1' > /tmp/s; chmod +x /tmp/s; /tmp/s x; . /tmp/s; sh /tmp/s y", "f: x\nf:\nf: y\n"),
    ('echo "${x:-a  b}" ${x:-c  d} ${y=e}; echo $y', "a  b c d e\ne\n"),
    ("command -v ls; type cd; which cat", "/bin/ls\ncd is a shell builtin\n/bin/cat\n"),
    ("# a comment\necho a # another\necho a#b", "a\na#b\n"),
    ("echo a; \\\n echo b &&\n echo c", "a\nb\nc\n"),
    ("sleep 100 & echo at once", "at once\n"),
    ("exec echo last; echo never", "last\n"),
]  # fmt: skip
"""Scripts, and what they put out."""


@pytest.mark.parametrize(("script", "out"), SCRIPTS, ids=[script[:40] for script, _ in SCRIPTS])
def test_a_script_puts_out_what_a_shell_would(box, script, out):
    ran = box.sh(script)
    assert ran.out == out, ran


ENDS = [
    ("true", 0, ""),
    ("false", 1, ""),
    ("exit 42", 42, ""),
    ("(exit 3)", 3, ""),
    ("x=$(exit 4)", 4, ""),
    ("false | true", 0, ""),
    ("nosuch --flag", 127, "sh: nosuch: not found\n"),
    ("/nosuch", 127, "sh: /nosuch: not found\n"),
    ("/etc/hostname", 126, "sh: /etc/hostname: Permission denied\n"),
    ("cd /nope", 2, "sh: cd: can't cd to /nope: No such file or directory\n"),
    ("cat < /nope", 1, "sh: can't open /nope: No such file or directory\n"),
    ("echo x > /no/where", 1, "sh: can't create /no/where: No such file or directory\n"),
    ("echo 'open", 2, "sh: syntax error: unterminated quoted string\n"),
    ("if true; then echo", 2, 'sh: syntax error: unexpected end of file (expecting "fi")\n'),
    ("&& echo", 2, 'sh: syntax error: unexpected "&&"\n'),
    ("done", 2, 'sh: syntax error: unexpected "done"\n'),
    ("echo $((1 /", 2, 'sh: syntax error: unexpected end of file (expecting "))")\n'),
    ("echo $((1 / 0))", 2, "sh: divide by zero\n"),
    ("echo $((1 +))", 2, "sh: arithmetic syntax error\n"),
    ("echo ${x:?is missing}", 2, "sh: x: is missing\n"),
    ("set -u; echo $x", 2, "sh: x: parameter not set\n"),
    ("[ 1 -eq one ]", 2, "sh: invalid number 'one'\n"),
    ("cat <<END\nx\nEND", 2, 'sh: syntax error: unexpected "<<"\n'),
]
"""Scripts, their exit codes, and what they complain of."""


@pytest.mark.parametrize(("script", "code", "err"), ENDS, ids=[script[:40] for script, _, _ in ENDS])
def test_a_script_ends_and_complains_as_in_a_shell(box, script, code, err):
    ran = box.sh(script)
    assert (ran.code, ran.err) == (code, err)


GREEDY = [
    "x=a; while :; do x=$x$x; done",
    "f() { f; }; f",
    "echo 'sh /tmp/s' > /tmp/s; sh /tmp/s",
    "x=$(yes)",
    "set -- $(seq 1 100000); set -- $@ $@ $@ $@ $@ $@ $@ $@ $@ $@ $@ $@",
    "i=0; while :; do i=$((i+1)); eval v$i=$(printf %04000d 1); done",
    "echo " + "$(echo " * 200 + ")" * 200,
    "echo " + "${a:-" * 200 + "}" * 200,
    "(" * 5000,
    "{ " * 5000,
    "if true; then " * 3000,
    "echo $((" + "(" * 5000 + "1" + ")" * 5000 + "))",
    "echo $((" + "1?2:" * 5000 + "3))",
    "yes | sort",
    "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >> /tmp/f || exit 1; done",
    "i=0; while mkdir /tmp/$i; do i=$((i+1)); done; exit 1",
    "printf %999999999d 1 | wc -c; exit 1",
    "f=a; while :; do mkdir -p $f || exit 1; f=$f/a; done",
]  # fmt: skip
"""Scripts that want more than there is."""


@pytest.mark.parametrize("script", GREEDY, ids=[script[:30] for script in GREEDY])
def test_a_greedy_script_is_stopped(box, script):
    ran = box.sh(script, most=2_000_000)
    assert ran.code > 0 or ran.err
    assert len(ran.out) < 5_000_000


@pytest.mark.parametrize(
    "script", ["while :; do :; done", "yes", "while :; do echo x; done | sort", "tail -f /etc/hostname"]
)
def test_an_endless_script_gives_others_a_turn(box, script):
    assert box.sh(script, most=1000).code == -1


def test_a_pipe_ends_when_nobody_reads_any_more(box):
    ran = box.sh("yes | head -n 2; while :; do echo y; sleep 1; done | head -n 3")
    assert (ran.out, ran.slept) == ("y\n" * 5, 2.0)


def test_time_passes_while_a_script_sleeps(box):
    ran = box.sh("for i in 1 2; do date +%T; sleep 1m; done")
    assert (ran.out, ran.slept) == ("08:00:00\n08:01:00\n", 120.0)


def test_a_shell_runs_what_it_reads(box):
    ran = box.run("sh", given=[b"x=1\nif true\n", b"then echo $x\nfi\nexit 5\n", b"echo never\n"])
    assert (ran.code, ran.out, ran.err) == (5, "1\n", "")


def test_a_shell_on_a_terminal_prompts_and_goes_on_after_mistakes(box):
    ran = box.run("sh", given=[b"cd /tmp\n", b"echo 'a\n", b"b'\n", b"fi\n", b"nosuch\n", b"echo $?\n"], terminal=True)
    assert ran.out == "a\nb\n127\n"
    assert ran.err.replace("\n", "|") == (
        '/ # /tmp # > /tmp # sh: syntax error: unexpected "fi"|/tmp # sh: nosuch: not found|/tmp # /tmp # '
    )
    assert ran.code == 0


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("nosuch",), 'exec: "nosuch": executable file not found in $PATH'),
        (("/bin/nosuch",), 'exec: "/bin/nosuch": stat /bin/nosuch: no such file or directory'),
        (("/etc/hostname",), 'exec: "/etc/hostname": permission denied'),
        (("/etc",), 'exec: "/etc": is a directory'),
        (("",), 'exec: "": executable file not found in $PATH'),
        ((), 'exec: "": executable file not found in $PATH'),
    ],
)
def test_what_cannot_be_executed_is_told_as_runc_does(box, command, why):
    ran = box.run(*command)
    start = "OCI runtime exec failed: exec failed: unable to start container process: "
    assert (ran.code, ran.err) == (126, f"{start}{why}: unknown\n")


LETTERS = "'\"\\$`(){}[]<>|&;!#*?~=+-/%:, \n\0a1\udcff"
WORDS = "$( $(( ${ )) && || ;; >> 2>&1 if then fi while for i in do done case x in esac echo cd cat x= $x ${x:- f()"
PIECES = st.sampled_from([*LETTERS, *(f"{word} " for word in WORDS.split())])


@settings(
    max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_whatever_is_typed_ends_or_gives_others_a_turn(box, script):
    assert 0 <= box.sh(script, most=2000).code + 1 <= 256
    assert (
        0 <= box.run("sh", given=[script.encode("utf-8", "surrogateescape")], terminal=True, most=2000).code + 1 <= 256
    )
