"""Reads zip archives, such as PyTorch's and NumPy's files. The directory is checked before any member is
read: no archive may unpack to more than it declares, have overlapping members, or name one twice."""

from dataclasses import dataclass
from struct import calcsize, unpack_from
from zlib import crc32, decompressobj
from zlib import error as ZlibError

from .elements import DamagedFile, RefusedFile, pieces, shorten_name

END, END64, WHERE64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
# records of the directory, and before each member (APPNOTE.TXT, 4.3)
RECORD, LOCAL = "<4s6H3L5H2L", "<4s5H3L2H"
STORED, DEFLATED = 0, 8
MEMBERS = 100_000
FULL = 0xFFFFFFFF  # the value of a field whose number is in the zip64 record
# the most bytes that members may unpack to: a fixed number, plus a multiple of the archive's size
ROOM, TIMES = 1 << 24, 20


@dataclass(frozen=True)
class Member:
    """One file of an archive: the position of its bytes, and the sizes."""

    name: str
    method: int
    crc: int
    start: int
    packed: int
    size: int


def members(view: memoryview) -> dict[str, Member]:
    """Return the members by name; DamagedFile reports a fault of the archive."""
    count, offset, end = _directory(view)
    if count * calcsize(RECORD) > end - offset:
        raise DamagedFile(f"its directory is too small for the {count:,} members it declares")
    if count > MEMBERS + len(view) // 256:
        raise DamagedFile(f"it has {count:,} members, too many for a file of its size")
    entries: dict[str, Member] = {}
    for _ in range(count):
        member, offset = _member(view, offset, end)
        if member.name in entries:
            raise DamagedFile(f"it has two members {shorten_name(member.name)}")
        entries[member.name] = member
    _check(list(entries.values()), len(view))
    return entries


def _check(entries: list[Member], size: int) -> None:
    """DamagedFile if members share bytes, or unpack to too much."""
    before, last = 0, ""
    for m in sorted(entries, key=lambda m: (m.start, m.packed)):
        # Overlapping members could make a small archive decompress into a huge one (a "zip bomb").
        if m.packed and m.start < before:
            raise DamagedFile(f"its members {shorten_name(last)} and {shorten_name(m.name)} overlap")
        before, last = max(before, m.start + m.packed), m.name
    unpacked, most = sum(m.size for m in entries if m.method == DEFLATED), ROOM + TIMES * size
    if unpacked > most:
        raise RefusedFile(
            f"it decompresses into {unpacked:,} bytes, more than {TIMES} times its size: save it uncompressed"
        )


def _directory(view: memoryview) -> tuple[int, int, int]:
    """(members, begin, end) of the directory."""
    # The end record is 22 bytes and may be followed by a comment of up to 65,535.
    tail = bytes(view[-(1 << 16) - 22 :])
    place_of_end = tail.rfind(END)
    if place_of_end < 0 or len(tail) - place_of_end < 22:
        raise DamagedFile("it ends before its directory")
    place = len(view) - len(tail) + place_of_end
    # disk numbers, members on this disk and in all, bytes and offset of the directory, length of the
    # comment
    disk, of, this_disk, count, size, start, _ = unpack_from("<4H2LH", view, place + 4)
    # Fields of all ones refer to the zip64 record.
    if FULL in (size, start) or 0xFFFF in (count, this_disk):
        place, disk, of, this_disk, count, size, start = _wide_directory(view, place)
    if disk or of or this_disk != count:
        raise DamagedFile("it is a part of an archive of several files")
    if start + size > place:
        raise DamagedFile(
            f"its directory, byte {start:,} to {start + size:,}, is not before its end at {place:,}"
        )
    return count, start, start + size


def _wide_directory(view: memoryview, place: int) -> tuple[int, ...]:
    """(place, disk, of, here, count, size, start) of the zip64 record before the end."""
    if place < 20 or bytes(view[place - 20 : place - 16]) != WHERE64:
        raise DamagedFile("its zip64 record is missing")
    (offset,) = unpack_from("<Q", view, place - 12)
    if offset > place - 76 or bytes(view[offset : offset + 4]) != END64:
        raise DamagedFile("its zip64 record is missing")
    return offset, *unpack_from("<2L4Q", view, offset + 16)


def _member(view: memoryview, offset: int, end: int) -> tuple[Member, int]:
    """Return the member of a directory record, and the start of the next record."""
    if end - offset < calcsize(RECORD):
        raise DamagedFile("its directory ends early")
    head = unpack_from(RECORD, view, offset)
    flags, method, crc, packed, size = head[3], head[4], *head[7:10]
    lengths, local = head[10:13], head[16]
    offset += calcsize(RECORD)
    if head[0] != b"PK\x01\x02" or sum(lengths) > end - offset:
        raise DamagedFile(f"its directory is damaged before byte {offset:,}")
    raw, extra = (
        bytes(view[offset : offset + lengths[0]]),
        view[offset + lengths[0] : offset + lengths[0] + lengths[1]],
    )
    name = str(raw, "utf-8", "replace")
    packed, size, local = _wide_sizes(extra, size, packed, local)
    if flags & 1:
        raise RefusedFile(f"{shorten_name(name)} is encrypted: save it without a password")
    if method not in (STORED, DEFLATED) or (method == STORED and packed != size):
        raise RefusedFile(
            f"{shorten_name(name)} uses an unsupported compression method ({method}): save it uncompressed"
        )
    start = _begin(view, local, raw, name)
    if packed > len(view) - start:
        raise DamagedFile(
            f"{shorten_name(name)} reaches {start + packed - len(view):,} bytes past the end of the file"
        )
    return Member(name, method, crc, start, packed, size), offset + sum(lengths)


def _wide_sizes(extra: memoryview, size: int, packed: int, local: int) -> tuple[int, int, int]:
    """Return (packed, size, offset), with the numbers of the zip64 field if the member has one."""
    # The field has only those numbers that are FULL, in this order (APPNOTE.TXT, 4.5.3).
    sizes = [size, packed, local]
    if FULL not in sizes:
        return packed, size, local
    while len(extra) >= 4:
        kind, length = unpack_from("<2H", extra)
        field, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == 1:
            places = [i for i, n in enumerate(sizes) if n == FULL]
            if len(field) < 8 * len(places):
                break
            for i, n in zip(places, unpack_from(f"<{len(places)}Q", field), strict=True):
                sizes[i] = n
            return sizes[1], sizes[0], sizes[2]
    raise DamagedFile("a zip64 field of its directory is missing")


def _begin(view: memoryview, local: int, raw: bytes, name: str) -> int:
    """Return the start of a member's bytes, after its local header."""
    if local > len(view) - calcsize(LOCAL):
        raise DamagedFile(f"{shorten_name(name)} begins at byte {local:,}, past the end of the file")
    head = unpack_from(LOCAL, view, local)
    begin = local + calcsize(LOCAL)
    # The local header repeats the name and has its own extra field, which may differ in length.
    start = begin + head[9] + head[10]
    if head[0] != b"PK\x03\x04" or bytes(view[begin : begin + head[9]]) != raw or start > len(view):
        raise DamagedFile(f"no member {shorten_name(name)} begins at byte {local:,}, as its directory says")
    return start


def contents(view: memoryview, member: Member) -> memoryview:
    """Return the bytes of a member, checked by their CRC."""
    raw = view[member.start : member.start + member.packed]
    if member.method == DEFLATED:
        raw = _inflate(raw, member)
    # in pieces, so that other threads get the GIL
    crc = 0
    for piece in pieces(raw):
        crc = crc32(piece, crc)
    if member.crc not in (0, crc):  # PyTorch writes 0 where checksums are disabled
        raise DamagedFile(f"the bytes of {shorten_name(member.name)} do not match its checksum")
    return raw


def _inflate(raw: memoryview, member: Member) -> memoryview:
    # -15: raw deflate with a window of 32 KB, without a zlib header.
    unpack = decompressobj(-15)
    try:
        # One byte more than declared is enough to detect a longer member.
        out = unpack.decompress(raw, member.size + 1)
    except ZlibError as e:
        raise DamagedFile(f"{shorten_name(member.name)} can't be decompressed: {e}") from None
    if len(out) != member.size or not unpack.eof:
        raise DamagedFile(
            f"{shorten_name(member.name)} does not decompress into the {member.size:,} bytes it declares"
        )
    return memoryview(out)


def begin(raw: memoryview, size: int = 1 << 14) -> memoryview:
    """Return the first decompressed bytes of deflated data."""
    try:
        return memoryview(decompressobj(-15).decompress(raw, size))
    except ZlibError as e:
        raise DamagedFile(f"a member can't be decompressed: {e}") from None


def store_members(members: list[tuple[str, bytes]]) -> bytes:
    """Return an archive of uncompressed members."""
    from io import BytesIO
    from zipfile import ZipFile, ZipInfo

    out = BytesIO()
    with ZipFile(out, "w") as z:
        for name, data in members:
            z.writestr(ZipInfo(name), data)
    return out.getvalue()
