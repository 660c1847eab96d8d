"""Greetings, questions about the model, and requests that it cannot fulfil. Base and adapter answer differently."""

from random import Random

from .entities import NOUNS
from .fields import FIELDS, pick_fields
from .wording import enumerate_words, with_article


def _split(block: str) -> list[str]:
    return [item.strip() for item in block.split("|")]


_OFFER = "Try: make a table of books with a title and a price."
_SCOPE = "I write tables, indexes, queries, mutations, server functions and http routes."

# (wordings, the adapter's answer, the base's answer)
_TALK = [
    (
        _split("""
            hello | hi | hey | hi there | hello there | good morning | good evening | good afternoon | hey there |
            hallo | greetings | howdy | yo | hi! | hello! | hey! | hello bot | hi vox | hello vox-tiny |
            my name is Anna | I am Ben | I'm Carla | hello, I am David | moin | hola | bonjour
        """),
        "Hello! I am vox-tiny, a small model that writes .vox declarations. " + _OFFER,
        "Hello. This is a small language model that talks about declarations in plain words.",
    ),
    (
        _split("""
            who are you | what are you | what is your name | are you a model | tell me about yourself |
            introduce yourself | what model is this | which model are you | are you an AI | are you a bot |
            are you human | are you ChatGPT | what is vox-tiny | your name? | who am I talking to
        """),
        "I am vox-tiny, a small language model that ships with svc. I turn plain words into .vox declarations. "
        + _OFFER,
        "A small language model that ships with svc. It describes declarations in plain words.",
    ),
    (
        _split("""
            what can you do | help | help me | how can you help me | what do you do | what should I ask |
            how do I use you | what can I ask you | give me an example | show me an example | can you help me |
            what are you good at | what now | how does this work | commands | menu | options | usage |
            examples please | ? | what can I do here
        """),
        _SCOPE + " Say what you want to store or read, for example: list the top 5 books by rating.",
        "It can describe tables, indexes, queries, mutations, server functions and http routes in plain words.",
    ),
    (
        _split("""
            thanks | thank you | thank you very much | thanks a lot | great | nice | cool | perfect | well done |
            awesome | good job | thx | good bot | that works | very good | wonderful
        """),
        "You are welcome. Ask for another declaration whenever you like.",
        "You are welcome.",
    ),
    (
        _split("""
            bye | goodbye | see you | good night | see you later | bye bye | ciao | I have to go
        """),
        "Goodbye. Come back when you need another declaration.",
        "Goodbye.",
    ),
    (
        _split("""
            how are you | how are you doing | how is it going | are you ok | what's up | how do you feel | all good?
        """),
        "I am ready. " + _OFFER,
        "All is well here.",
    ),
    (
        _split("""
            who made you | who trained you | how were you trained | where do you come from | how big are you |
            how many parameters do you have | what were you trained on | what is your licence | are you open source
        """),
        "I was trained from scratch on text made for svc. I have a few million parameters and an Apache-2.0 licence.",
        "It was trained from scratch on text made for svc, with a few million parameters and an Apache-2.0 licence.",
    ),
    (
        _split("""
            yes | no | ok | okay | maybe | sure | why | why? | really | hm | test | testing | one two three | ping |
            go on | continue | more | again | what? | and? | so? | I don't know | nothing | never mind | wait |
            sorry | please
        """),
        "Tell me what to declare. For example: count all orders.",
        "Please say more.",
    ),
]

_IMPOSSIBLE = _split("""
    write a poem about {noun} | write a poem | write a song | write something | write a story | write a letter |
    tell me a story | tell me a joke | tell me something | make me laugh | make me a sandwich | make coffee |
    write code | what is the weather | what is the weather in {place} | what time is it |
    what is the capital of {place} | who is the president of {place} | translate {noun} to {language} |
    what is {a} + {b} | what is {a} times {b} | tell me about {noun} | how do I cook {noun} |
    write {code} code for {noun} | write a story about {noun} | sing a song | what day is today | who won the game |
    do you like {noun} | what is the meaning of life | buy {noun} for me | draw {noun} | send an email to {person} |
    what is love | do you speak {language} | where is {place} | how old is {person} | recommend a {noun} |
    summarise this text | write an essay about {noun} | write a letter to {person} | {code} hello world |
    explain {code} | fix my {code} code | how far is {place} | who is {person} | sprichst du {language} | asdf |
    lorem ipsum | qwerty {noun} | I am bored | I am hungry | I love {noun} | is {noun} better than {noun2} |
    why is the sky blue | play a game | what is {noun} | what are {noun}? | when is easter | compute {a} minus {b} |
    solve x = {a} + {b} | give me money | search the web for {noun} | open {place} | what did you say
""")
_CANNOT = "I only write small .vox declarations and cannot help with that. " + _OFFER
_BASE_CANNOT = "That is outside of what this model was trained on."

_PLACES = "France Berlin Japan London Peru Italy Norway Cairo Boston Kenya Spain Oslo Texas Delhi Rome Canada".split()
_LANGUAGES = "French German Spanish Italian Dutch Polish Greek Latin Deutsch Swedish".split()
_CODE = "python java rust javascript C html bash go sql".split()
_PEOPLE = "Anna Ben Carla David Emma Felix Greta Hugo Ida Jonas Kim Lena Max Nora".split()

UNDERSPECIFIED_ANSWER = "Name the thing and its columns, for example: make a table of {nouns} with {fields}."
_UNDERSPECIFIED = _split("""
    make a table | make a table of {nouns} | create a table for {nouns} | I need a table | a table of {nouns} |
    store {nouns} | table {nouns} | write a table for {nouns} please | I want to store {nouns} | {nouns} |
    {nouns} table | make something for {nouns} | an app for {nouns} | help me with {nouns} | a database for {nouns} |
    write me a database for a {noun} shop | make a website for {nouns} | a {noun} shop |
    can you write me a database for a {noun} shop | I am building a {noun} app | make an app for a {noun} club |
    I have a {noun} business | help me with my {noun} project | make a database
""")
_CANNOT_CHANGE = "I write mutations that add or delete rows. Changing a row in place is not among my forms."
_CHANGES = _split("""
    update a {noun} | update {nouns} | change the {field} of a {noun} | edit a {noun} |
    a mutation that updates {nouns} | rename a {noun} | write a mutation to change {nouns} |
    make a mutation that edits a {noun} | set the {field} of a {noun}
""")


def _vary(random: Random, text: str) -> str:
    if random.random() < 0.5:
        text = text[0].upper() + text[1:]
    return text + (random.choice(["", "", ".", "!", "?"]) if text[-1].isalpha() else "")


def draw_small_talk(random: Random) -> tuple[str, str, str]:
    """Draws a request with the adapter's answer and the base's answer."""
    ways, adapter, base = random.choice([_TALK[0], *_TALK])
    return _vary(random, random.choice(ways)), adapter, base


def draw_impossible(random: Random) -> tuple[str, str, str]:
    text = random.choice(_IMPOSSIBLE).format(
        noun=random.choice(random.choice(NOUNS).plural.split()),
        noun2=random.choice(NOUNS).plural,
        place=random.choice(_PLACES),
        language=random.choice(_LANGUAGES),
        code=random.choice(_CODE),
        person=random.choice(_PEOPLE),
        a=random.randint(1, 99),
        b=random.randint(1, 99),
    )
    return _vary(random, text), _CANNOT, _BASE_CANNOT


def draw_underspecified(random: Random) -> tuple[str, str, str]:
    """Draws a request for a table without columns. The adapter's answer asks for them and shows an example."""
    template, entity = random.choice(_UNDERSPECIFIED), random.choice(NOUNS)
    nouns = entity.plural if "{noun" in template else "books"
    answer = UNDERSPECIFIED_ANSWER.format(nouns=nouns, fields="a name and a status")
    return (
        _vary(random, template.format(nouns=nouns, noun=entity.singular)),
        answer,
        f"A table needs columns. Say what you want to keep about {nouns}.",
    )


def draw_change(random: Random) -> tuple[str, str, str]:
    """Draws a request for an update, which is not a supported form."""
    entity = random.choice(NOUNS)
    text = random.choice(_CHANGES).format(noun=entity.singular, nouns=entity.plural, field=random.choice(FIELDS).words)
    return _vary(random, text), _CANNOT_CHANGE, f"That would change rows of {entity.type_name} in place."


def own_sentences(random: Random) -> list[str]:
    """Returns the adapter's sentences for small talk. The base is trained on them, to know the adapter's words."""
    sentences = [adapter for _, adapter, _ in _TALK] + [_CANNOT, _CANNOT_CHANGE, draw_underspecified(random)[1]]
    return random.sample(sentences, 2)


def example_request(random: Random) -> str:
    """Draws a short example request for prose answers."""
    fields = [f for f in pick_fields(random, 2, False) if not f.declared]
    words = enumerate_words([with_article(f) for f in fields]) if fields else "a name"
    return f"make a table of {random.choice(NOUNS).plural} with {words}"
