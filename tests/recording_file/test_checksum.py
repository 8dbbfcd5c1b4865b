"""The checksum of a recording file depends on every byte, and not on how the bytes are split."""

import pytest

from vcdebug.recording.file.form import square_checksum

DATA = bytes(range(251)) * 20_000


def test_pieces_may_be_cut_anywhere() -> None:
    parts: list[bytes | memoryview] = [
        DATA[:3],
        b"",
        DATA[3:2_500_000],
        memoryview(DATA)[2_500_000:4_999_999],
        DATA[4_999_999:],
    ]

    assert square_checksum(parts) == square_checksum([DATA])


@pytest.mark.parametrize("place", [0, 7, 4096, 2_097_151, 2_097_152, len(DATA) - 1])
def test_each_bit_counts(place: int) -> None:
    other = bytearray(DATA)
    other[place] ^= 16

    assert square_checksum([bytes(other)]) != square_checksum([DATA])


@pytest.mark.parametrize(("first", "second"), [(0, 8), (0, 4096), (16, 2_097_160)])
def test_words_that_changed_places_are_found(first: int, second: int) -> None:
    other = bytearray(DATA)
    other[first : first + 8], other[second : second + 8] = DATA[second : second + 8], DATA[first : first + 8]

    assert square_checksum([bytes(other)]) != square_checksum([DATA])


def test_zeros_at_the_end_count() -> None:
    assert square_checksum([DATA + bytes(8)]) != square_checksum([DATA])
