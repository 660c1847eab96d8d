"""Invents words with English spelling."""

from random import Random

INVENTED = 0.45  # share of invented nouns in training

_ONSETS = """
b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p ph pl pr qu r s sc sh sk sl sm sn sp st str t th tr v w
wh z
""".split()
_NUCLEI = "a e i o u a e i o u ai ea ee ie oa oo ou".split()
_CODAS = "|||b|ck|d|ft|g|k|l|lt|m|mp|n|nd|ng|nk|nt|p|pt|r|rd|rk|rm|rn|rt|t|w".split("|")
_ENDINGS = "||||er|or|et|le|ing|ment|ion|al|ant|ette|ade|ow|in|el|ure|age".split("|")
_KEYWORDS = set(
    "break cleanup derived match mount mutation query return spawn state table true type while with".split()
)


def invent_word(random: Random) -> str:
    """Invents a word of one to three syllables, possibly with a common ending. The plural never changes the ending."""
    while True:
        syllables = random.choice([1, 1, 2, 2, 3])
        word = "".join(
            random.choice(_ONSETS) + random.choice(_NUCLEI) + random.choice(_CODAS) for _ in range(syllables)
        )
        word += random.choice(_ENDINGS)
        if (
            word not in _KEYWORDS
            and 4 <= len(word) <= 11
            and not word.endswith(("s", "x", "z", "ch", "sh", "y", "o", "i", "u"))
        ):
            return word
