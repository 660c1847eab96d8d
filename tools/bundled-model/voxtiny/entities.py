"""Nouns for tables. Held-out nouns and held-out compounds never occur in training text."""

from dataclasses import dataclass
from random import Random

from .invented import INVENTED, invent_word

_NOUNS = """
account address:addresses agenda:agendas album alert animal answer apartment appointment arena:arenas article artist
asset auction author badge banner bank:banks barrel basket batch:batches bed bench:benches bicycle bid bill bird
bonus:bonuses book booking bottle box:boxes bracelet branch:branches brand bridge broker bucket budget building
bus:buses button cabin cable cake camera:cameras campaign candidate car card cargo:cargos carpet case castle cat
category:categories cell certificate chair chapter charge chart chat check choice city:cities claim clause client
clinic clip clock club coach:coaches coat code coin collection colour comment company:companies computer concert
contact contest contract cookie counter country:countries coupon course court crate creator credit crop customer cycle
dashboard day deal debt decision delivery:deliveries demo:demos deposit design desk device diagram dinner discount
dish:dishes district doctor document dog domain door draft drawer dream drink driver drone drum duty:duties earring
editor elevator engine engineer entry:entries episode essay:essays estimate event exam:exams exercise exhibit expense
expert export factory:factories fan farm feature fee feed festival field file film filter fish:fishes flag fleet
flight floor flower folder font forest form formula:formulas forum frame friend fruit fund game garage garden gate
gift goal grade grant graph group guard guest guide guitar habit hall hammer harbour hat heater helmet hero:heroes
hike hint holiday home hospital host hotel idea:ideas image incident ingredient insight instrument interview invoice
island item jacket job joke journal journey judge key kitchen lab ladder lake lamp language laptop lawyer lead
leaf:leaves league lecture lemon lesson letter licence line link loan locker log lottery:lotteries machine magazine
mail manager market match:matches meal measure medal medicine meeting member memo:memos menu:menus merchant message
meter milestone mirror mission model module monitor month mountain museum nail name network nickname node note
notebook notice number nurse offer office operator orchard order outfit owner package page paint painting panel parcel
park parrot part partner party:parties passenger patch:patches patient pattern payment pen permit person:people pet
phone photo:photos piano:pianos picture pilot pipe pizza:pizzas place plan plane planet plant plate player playlist
podcast poem point policy:policies poll pool port post poster potato:potatoes printer prize problem product profile
program project promise proof puzzle quarter quest question queue quiz:quizzes quote race radio:radios rate recipe
record refund region release reminder rental repair report reservation resource restaurant reward ride ring river road
robot role roof room route rule runner sale salary:salaries sample sandwich:sandwiches scene schedule school score
screen script season seat section seed sensor server service session shape shelf:shelves shift ship shirt shoe shop
show signal site skill sketch:sketches slot snack song sound source spoon sport square stadium staff:staff stage stamp
station statue step stock store storm story:stories street student studio:studios subject suite supplier survey
switch:switches symbol tag target task taxi:taxis teacher team temple tenant term terminal test theatre theme thread
ticket tile timer token tool topic tour towel tower town toy track tractor trade trail train transfer translation trap
tree trick trip truck tunnel tutor umbrella:umbrellas upload user vaccine valley van vehicle vendor venue version
video:videos village vineyard visit visitor volcano:volcanoes volunteer vote voucher walk wall wallet warehouse
warning watch:watches weapon website wedding week window winner wire witness:witnesses word worker workout workshop
writer yacht zone movie bookmark employee subscription todo reading horse cow hen rabbit poet dancer singer pupil
parent baby:babies child:children farmer baker lender landlord citizen voter donor donation grocery:groceries
vegetable cheese wine beer coffee tea soup salad doll puppet kite comic novel diary:diaries quotation mood measurement
observation experiment specimen sighting birthday anniversary:anniversaries appliance furniture:furniture sofa:sofas
saw bolt gear wheel motor battery:batteries tyre bumper
"""

_HELD_OUT_NOUNS = """
anchor aquarium bakery:bakeries balloon beacon blanket canoe cherry:cherries chef comet compass:compasses cottage cruise curtain
dentist dragon envelope falcon ferry:ferries fossil glacier goose:geese hamster harvest helicopter lantern lighthouse mosaic
necklace orchid parade penguin pillow rocket saddle scooter shuttle telescope trophy:trophies tulip violin waffle
"""

_MODIFIERS = """
annual blog bonus cash city club data delivery digital event field game gift guest health home hotel job lab legal library
loyalty mail market media museum music news night office online order park pet project race rental sales school search service
shop sport stock studio summer support team test training travel tree user video water web winter work
"""

_HELD_OUT_MODIFIERS = "bronze camp desert evening marble ocean rural silver velvet"


@dataclass(frozen=True)
class Entity:
    """Noun in the forms that requests and declarations need."""

    singular: str  # "support ticket"
    plural: str  # "support tickets"

    @property
    def type_name(self) -> str:
        return "".join(word.capitalize() for word in self.singular.split())

    @property
    def snake(self) -> str:
        return self.singular.replace(" ", "_")

    @property
    def snake_plural(self) -> str:
        return self.plural.replace(" ", "_")


def _parse(block: str) -> list[Entity]:
    entities = []
    for item in block.split():
        singular, _, plural = item.partition(":")
        entities.append(Entity(singular, plural or singular + "s"))
    return entities


NOUNS = _parse(_NOUNS)
HELD_OUT_NOUNS = _parse(_HELD_OUT_NOUNS)
MODIFIERS = _MODIFIERS.split()
HELD_OUT_MODIFIERS = _HELD_OUT_MODIFIERS.split()


def invent_noun(random: Random) -> Entity:
    """Invents a noun, so that the model learns to copy words instead of memorizing a list."""
    word = invent_word(random)
    return Entity(word, word + "s")


def pick_entity(random: Random, held_out: bool = False) -> Entity:
    """Draws a noun, often with a modifier. If held out, the noun or the modifier does not occur in training.

    In training, a modifier may be a common one, another noun or an invented word.
    """
    if held_out and random.random() < 0.75:
        noun, modifier = random.choice(HELD_OUT_NOUNS), random.choice(MODIFIERS) if random.random() < 0.25 else ""
    elif held_out:
        noun, modifier = random.choice(NOUNS), random.choice(HELD_OUT_MODIFIERS)
    else:
        noun = invent_noun(random) if random.random() < INVENTED else random.choice(NOUNS)
        pool = random.random()
        modifier = (
            ""
            if pool > 0.3
            else random.choice(MODIFIERS)
            if pool > 0.2
            else (random.choice(NOUNS).singular if pool > 0.07 else invent_word(random))
        )
    if not modifier or modifier == noun.singular:
        return noun
    return Entity(f"{modifier} {noun.singular}", f"{modifier} {noun.plural}")
