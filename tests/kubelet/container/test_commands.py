import io
import tarfile

import pytest

from controller_manager.kubelet.container.commands import COMMANDS

LINES = [
    ("ls /etc", "hostname\n"),
    ("ls -a /tmp", ".\n..\n"),
    ("ls -d /tmp /etc", "/tmp\n/etc\n"),
    ("ls / /etc", "/:\nbin\ndev\netc\nroot\ntmp\n\n/etc:\nhostname\n"),
    ("ls -l /etc", "total 4\n-rw-r--r--    1 root     root             6 Jan 15 08:00 hostname\n"),
    ("mkdir -p /tmp/a/b && ls -R /tmp >/dev/null; rmdir /tmp/a/b; ls /tmp/a", ""),
    ("echo x > /tmp/f; cp /tmp/f /tmp/g; mv /tmp/g /tmp/h; cat /tmp/h; ls /tmp", "x\nf\nh\n"),
    ("mkdir -p /tmp/a/b; echo x > /tmp/a/b/c; cp -r /tmp/a /tmp/z; cat /tmp/z/b/c; rm -r /tmp/a; ls /tmp", "x\nz\n"),
    (
        "echo x > /tmp/f; ln -s /tmp/f /tmp/l; cat /tmp/l; ls -l /tmp/l | tail -c 17; rm /tmp/l; cat /tmp/f",
        "x\n/tmp/l -> /tmp/f\nx\n",
    ),
    (
        "touch /tmp/f; chmod 750 /tmp/f; stat -c '%a %s %F' /tmp/f; chmod o+x /tmp/f; stat -c %a /tmp/f",
        "750 0 regular file\n751\n",
    ),
    (
        "mkdir /tmp/d; touch /tmp/d/a.txt /tmp/d/b; find /tmp/d -name '*.txt'; find /tmp/d -type d",
        "/tmp/d/a.txt\n/tmp/d\n",
    ),
    ("test -f /etc/hostname && test -d /etc && test ! -e /nope && [ -s /etc/hostname -a a = a ] && echo all", "all\n"),
    ("[ -z '' ] && [ -n x ] && [ 2 -gt 1 ] && [ a != b ] && [ \\( 1 -eq 2 \\) -o x ] && echo all", "all\n"),
    (
        "seq 5 | head -2; seq 5 | tail -2; seq 5 | tail -n +4; seq 1 2 5; seq 3 -1 1 | tail -1",
        "1\n2\n4\n5\n4\n5\n1\n3\n5\n1\n",
    ),
    ("printf abcdef | tail -c 2; printf abcdef | tail -c+5; printf abcdef | head -c 1", "efefa"),
    (
        "printf 'b\\na\\nb\\n' | sort | wc -l; printf '10\\n9\\n' | sort -n; printf 'b\\na\\nb\\n' | sort -u -r",
        "3\n9\n10\nb\na\n",
    ),
    (
        "printf 'one\\ntwo\\nthree\\n' | grep t.o; printf 'a\\nB\\n' | grep -i -n b; seq 20 | grep -c 1$",
        "two\n2:B\n2\n",
    ),
    (
        "printf 'ab\\ncd\\n' | grep -v a; printf 'x.y\\nxzy\\n' | grep -F x.y; echo ab | grep -E '^(' ; echo $?",
        "cd\nx.y\n1\n",
    ),
    ("echo x | tee /tmp/a /tmp/b; cat /tmp/a /tmp/b", "x\nx\nx\n"),
    ("printf '%s=%d|' a 1 b 2; printf '%5.1f%%\\n' 3.14159; printf '\\x41\\t\\101\\n'", "a=1|b=2|  3.1%\nA\tA\n"),
    ("echo -n a; echo -e 'b\\tc'; echo -x", "ab\tc\n-x\n"),
    ("date -u +%Y-%m-%dT%H:%M:%SZ; date +%s; date", "2027-01-15T08:00:00Z\n1800000000\nFri Jan 15 08:00:00 UTC 2027\n"),
    (
        "hostname; whoami; id; id -u; pwd; uname; uname -n",
        "web-0\nroot\nuid=0(root) gid=0(root) groups=0(root)\n0\n/\nLinux\nweb-0\n",
    ),
    ("env | head -2; printenv HOSTNAME; printenv NOPE; echo $?", "PATH=/bin\nHOSTNAME=web-0\nweb-0\n1\n"),
    ("basename /a/b.txt .txt; dirname /a/b.txt; basename /; dirname x", "b\n/a\n/\n.\n"),
]
"""Command lines, and what they put out."""


@pytest.mark.parametrize(("line", "out"), LINES, ids=[line[:40] for line, _ in LINES])
def test_a_command_puts_out_what_one_expects(box, line, out):
    ran = box.sh(line)
    assert (ran.out, ran.err) == (out, "")


COMPLAINTS = [
    (("ls", "/nope"), 1, "ls: /nope: No such file or directory\n"),
    (("cat", "/nope", "/etc"), 1, "cat: /nope: No such file or directory\ncat: /etc: Is a directory\n"),
    (("cat", "/etc/hostname/x"), 1, "cat: /etc/hostname/x: Not a directory\n"),
    (("rm", "/nope"), 1, "rm: can't remove '/nope': No such file or directory\n"),
    (("rm", "/etc"), 1, "rm: can't remove '/etc': is a directory\n"),
    (("rm", "-rf", "/"), 1, "rm: can't remove '/': Device or resource busy\n"),
    (("rmdir", "/etc"), 1, "rmdir: '/etc': Directory not empty\n"),
    (("mkdir", "/etc"), 1, "mkdir: can't create directory '/etc': File exists\n"),
    (("mkdir", "/a/b"), 1, "mkdir: can't create directory '/a/b': No such file or directory\n"),
    (("touch", "/no/where"), 1, "touch: /no/where: No such file or directory\n"),
    (("mv", "/etc", "/etc/inside"), 1, "mv: can't rename '/etc': Invalid argument\n"),
    (("cp", "/etc", "/tmp/x"), 1, "cp: omitting directory '/etc'\n"),
    (("head", "-n", "x"), 1, "head: invalid number 'x'\n"),
    (("ls", "--", "-x"), 1, "ls: -x: No such file or directory\n"),
    (("ls", "-?"), 1, "ls: unrecognized option: ?\n"),
    (("sleep", "soon"), 1, "sleep: invalid number 'soon'\n"),
    (("sleep",), 1, "sleep: missing operand\n"),
    (("[", "a", "=", "b"), 2, "sh: missing ]\n"),
    (("test", "a", "b", "c", "d"), 2, "sh: b: unknown operand\n"),
    (("tar", "xf", "-"), 2, "tar: This does not look like a tar archive\n"),
    (("tar", "xzf", "-"), 1, "tar: -z is not simulated\n"),
    (
        ("tar", "cf", "-", "/nope"),
        2,
        "tar: /nope: Cannot stat: No such file or directory\ntar: Exiting with failure status due to previous errors\n",
    ),
    (("chmod", "+q", "/etc"), 1, "chmod: invalid mode '+q'\n"),
]
"""Commands that fail, with which code, and what they say."""


@pytest.mark.parametrize(("command", "code", "err"), COMPLAINTS, ids=[" ".join(row[0]) for row in COMPLAINTS])
def test_a_command_that_fails_says_why(box, command, code, err):
    ran = box.run(*command, given=[b"no archive" * 100])
    assert (ran.code, ran.err) == (code, err)


def test_sleep_waits_as_long_as_it_is_told(box):
    assert box.run("sleep", "1.5", "2m").slept == 121.5
    assert box.run("sleep", "infinity").slept == 1e9


def test_tail_follows_a_file(box):
    ran = box.sh("{ tail -f /etc/hostname; } | head -n 1")
    assert ran.out == "web-0\n"


def packed(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o640
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def test_an_archive_that_comes_in_pieces_is_unpacked(box):
    archive = packed(**{"in/a": b"one\n", "in/d/b": bytes(range(256)) * 100})
    assert box.run("tar", "-xmf", "-", "-C", "/tmp", given=cut(archive, 1000)).code == 0
    assert box.sh("cat /tmp/in/a; wc -c < /tmp/in/d/b; stat -c %a /tmp/in/a").out == "one\n25600\n640\n"


def test_what_is_packed_can_be_unpacked(box):
    box.sh("mkdir -p /tmp/d/empty; echo x > /tmp/d/f; ln -s f /tmp/d/l")
    ran = box.run("tar", "cf", "-", "/tmp/d")
    assert ran.err == "tar: Removing leading `/' from member names\n"
    archive = tarfile.open(fileobj=io.BytesIO(ran.out.encode("utf-8", "surrogateescape")))  # noqa: SIM115
    assert {member.name: member.type for member in archive} == {
        "tmp/d": tarfile.DIRTYPE,
        "tmp/d/empty": tarfile.DIRTYPE,
        "tmp/d/f": tarfile.REGTYPE,
        "tmp/d/l": tarfile.SYMTYPE,
    }


def test_no_archive_leads_out_of_where_it_is_unpacked(box):
    archive = packed(**{"../../etc/hostname": b"stolen", "/etc/passwd": b"root"})
    assert box.run("tar", "xf", "-", "-C", "/tmp", given=[archive]).code == 0
    assert (
        box.sh("cat /etc/hostname; find /tmp -type f; ls /etc").out
        == "web-0\n/tmp/etc/hostname\n/tmp/etc/passwd\nhostname\n"
    )


def test_an_archive_that_is_too_large_says_so(box):
    archive = packed(big=bytes(2_000_000))
    ran = box.run("tar", "xf", "-", "-C", "/tmp", given=cut(archive, 100_000))
    assert (ran.code, ran.err) == (1, "tar: No space left on device\n")


@pytest.mark.parametrize("name", sorted(COMMANDS))
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("",),
        ("-",),
        ("--",),
        ("-x",),
        ("\udcff",),
        ("a" * 5000,),
        ("/" * 300,),
        ("-n", "9" * 5000),
        ("\0",),
        ("*",),
    ],
    ids=["none", "empty", "dash", "dashes", "letter", "no-utf8", "long", "slashes", "huge", "zero", "star"],
)
def test_no_command_breaks_at_odd_arguments(box, name, arguments):
    assert box.run(name, *arguments, given=[b"\xff\0\n" * 10], most=300).code in (-1, 0, 1, 2)
