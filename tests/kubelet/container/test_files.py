import pytest

from controller_manager.kubelet.container.files import NODE_SIZE, Directory, FileError, FileSystem, Quota

NOW = 0.0


@pytest.fixture
def quota() -> Quota:
    return Quota(10_000, Quota(1_000_000))


@pytest.fixture
def files(quota: Quota) -> FileSystem:
    made = FileSystem(quota)
    made.make_directory("/a/b", NOW, parents=True)
    made.write("/a/b/f", b"content", NOW)
    made.link("/a/up", "..", NOW)
    made.link("/a/f", "/a/b/f", NOW)
    made.link("/a/lost", "nowhere", NOW)
    made.link("/a/x", "y", NOW)
    made.link("/a/y", "x", NOW)
    return made


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/a/b/f", b"content"),
        ("//a/./b//f", b"content"),
        ("/a/b/../b/f", b"content"),
        ("/a/f", b"content"),
        ("/a/up/a/up/a/b/f", b"content"),
        ("/../../a/b/f", b"content"),
    ],
)
def test_a_path_leads_where_it_says(files, path, content):
    assert files.read(path) == content


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/nope", "No such file or directory"),
        ("/nope/f", "No such file or directory"),
        ("/a/lost", "No such file or directory"),
        ("/a/b/f/g", "Not a directory"),
        ("/a/b", "Is a directory"),
        ("/a/x", "Too many levels of symbolic links"),
        ("/a" * 300, "File name too long"),
        ("/" + "x" * 5000, "File name too long"),
    ],
)
def test_a_path_that_leads_nowhere_says_why(files, path, why):
    with pytest.raises(FileError, match=why):
        files.read(path)


def test_everything_counts_and_is_given_back(files, quota):
    before = quota.used
    files.make_directory("/t", NOW)
    files.write("/t/f", b"12345", NOW)
    files.link("/t/l", "f", NOW)
    assert quota.used == before + 3 * NODE_SIZE + 5
    assert quota.parent.used == quota.used
    files.write("/t/f", b"1", NOW)
    assert quota.used == before + 3 * NODE_SIZE + 1
    files.remove("/t", tree=True)
    assert quota.used == before


def test_a_full_disk_keeps_what_it_has(files, quota):
    with pytest.raises(FileError, match="No space left on device"):
        files.write("/big", bytes(20_000), NOW)
    file = files.open("/a/b/f", NOW, append=True)
    with pytest.raises(FileError, match="No space left on device"):
        files.extend(file, bytes(20_000), NOW)
    assert files.read("/a/b/f") == b"content"


def test_the_room_of_all_is_shared():
    whole = Quota(3000)
    first, second = FileSystem(Quota(2000, whole)), FileSystem(Quota(2000, whole))
    first.write("/f", bytes(1700), NOW)
    with pytest.raises(FileError, match="No space left on device"):
        second.write("/f", bytes(1700), NOW)


def test_a_device_keeps_nothing(files, quota):
    device = files.open("/null", NOW)
    device.device = True
    before = quota.used
    files.extend(device, bytes(100_000), NOW)
    assert (files.read("/null"), quota.used) == (b"", before)


def test_what_is_mounted_is_shared_and_cannot_be_removed(files):
    volume = Directory(mounted=True)
    other = FileSystem(Quota(10_000))
    for tree in (files, other):
        tree.root.entries["data"] = volume
    files.write("/data/f", b"shared", NOW)
    assert other.read("/data/f") == b"shared"
    with pytest.raises(FileError, match="Device or resource busy"):
        other.remove("/data", tree=True)


def test_what_is_read_only_stays_as_it_is(files):
    files.root.entries["config"] = Directory(read_only=True)
    for change in (
        lambda: files.write("/config/f", b"x", NOW),
        lambda: files.make_directory("/config/d", NOW),
        lambda: files.link("/config/l", "x", NOW),
        lambda: files.move("/a/b/f", "/config/f"),
    ):
        with pytest.raises(FileError, match="Read-only file system"):
            change()
