"""Ways to ask for each form: a line without indent names the form, the lines below it are its templates.

[a|b] is a choice, {slot} a slot: {noun} {nouns} {Type} {a_noun} {fields} {field} {a_field} {field2} {columns} {n} {path}
{name} {text} {greeting} {limit} {verb}, and {make} {read} {find} {with}, which phrasings.py draws. A leading "!" marks an
imperative, which may be wrapped in "please ..." or "can you ...?". Templates under HELD_OUT serve the evaluation alone.
"""


def _parse(block: str) -> dict[str, list[str]]:
    templates: dict[str, list[str]] = {}
    form = ""
    for line in block.strip().splitlines():
        if line.startswith(" "):
            templates[form].append(line.strip())
        else:
            form = line
            templates[form] = []
    return templates


SEEN = _parse("""
table
    !{make} a [|new |database |small |simple ]table [of|for|about] {nouns} {with} {fields}
    !{make} [{a_noun}|a {noun}] table {with} {fields}
    !{make} a table [called|named] {Type} {with} {fields}
    !{make} table {Type} ({fields})
    I need a table [of|for] {nouns} {with} {fields}
    [I|we] [want|need|have] to [store|keep|save|record|track|manage] {nouns}. [Each|Every one|They|A {noun}] [has|have|needs|gets] {fields}
    {nouns} table: {fields}
    table {Type}: {fields}
    !store {nouns} [with|and their|including] {fields}
    [every|each|any] {noun} [has|needs|gets|comes with|consists of] {fields}
    !keep [track|a list|a record] of {nouns}: {fields}
    a table of {nouns}, each with {fields}
    {a_noun} has {fields}. [make|create|write|build] the table
    [my|our|the] [app|shop|site|game|system] has {nouns} with {fields}
    {noun} table: {fields}
    table {noun}: {fields}
    table of {nouns}: {fields}
    {nouns}: {fields}
    {nouns} with {fields}
    table for {nouns} {with} {fields}
    {Type}: {fields}
    [I|we] [own|have|collect|manage|offer] {nouns}. [All of them have|For each I note|I know] {fields}
    !{make} a [place|structure|list|model] to [keep|store|save] {nouns} {with} {fields}
    !track {nouns} [by|with] {fields}
    !{make} {a_noun} [list|collection|database|catalogue|register|log] with {fields}
    what [table|would a table] for {nouns} with {fields} look like?
    [a|one] {noun} is [described by|made of] {fields}
index
    !{make} an index on {columns} [of|for|in] {nouns}
    !{make} an index for {nouns} [by|on] {columns}
    !index {nouns} [by|on] {columns}
    !index the {Type} table [on|by] {columns}
    index on {Type} ({columns})
    [I|we] [often |always |]look up {nouns} by {columns}, index that
    !speed up [finding|reading|searching] {nouns} by {columns}
    [I|we] need an index of {nouns} by {columns}
    !make [finding|looking up] {nouns} by {columns} [fast|faster|quick]
    index {nouns}: {columns}
    {nouns} need an index on {columns}
    !{make} an index {columns} on the {noun} table
index_named
    !{make} an index {name} on {columns} of {nouns}
    !{make} an index [called|named] {name} for {nouns} by {columns}
    index {name} on {nouns} ({columns})
query_all
    !{read} [all|all the|all of the|the|my|our|] {nouns}
    !{read} every {noun}
    !{read} each {noun}
    !{make} a query [that lists|that returns|which reads|to get|to list|for|returning] all {nouns}
    !{make} a query [that returns|for|to read] every {noun}
    a query for all {nouns}
    query all {nouns}
    [where are|what are] [all |]my {nouns}?
    all {nouns}
    the list of {nouns}
    !{read} the [full|complete] list of {nouns}
    query: {nouns}
query_all_named
    !{make} a query [called|named] {name} that [lists|returns|reads] all {nouns}
    !{make} a query {name} that returns every {noun}
    query {name}: all {nouns}
    query {name} for all {nouns}
query_by
    !{find} [the |]{nouns} by {columns}
    !{make} a query [that finds|to find|that returns|for] {nouns} by {columns}
    !{find} the {nouns} with a [given|certain|specific] {columns}
    [I|we] need the {nouns} of a {columns}
    query {nouns} by {columns}
    !{find} {nouns} [having|with] the same {columns}
    !{find} {nouns} for a {columns}
    {nouns} by {columns}
    !{find} {nouns} where {columns} [is|are|equals] [given|known]
    which {nouns} have a given {columns}?
    query: {nouns} with a given {columns}
query_by_named
    !{make} a query [called|named] {name} that [finds|returns|gets] {nouns} by {columns}
    query {name}: {nouns} by {columns}
query_flag
    !{read} [all |the |only |]{field} {nouns}
    !{make} a query for {field} {nouns}
    !{read} the {nouns} that are {field}
    !{find} {nouns} that are {field}
    which {nouns} are {field}?
    query all {nouns} that are {field}
    {field} {nouns}
    what are the {field} {nouns}?
    !{make} a query [that lists|for] {nouns} that are {field}
    the {nouns} which are {field}
query_flag_not
    !{read} {nouns} that are not {field}
    !{make} a query for {nouns} that are not {field}
    which {nouns} are not {field}?
    !{read} the {nouns} that are not {field}
    !{find} all {nouns} not {field}
    {nouns} which are not {field}
    what {nouns} are not {field} [yet|]?
query_get
    !{find} {a_noun} by [id|its id]
    !{find} [one|a single] {noun} by [id|its id]
    !{make} a query that [loads|gets|returns|finds] {a_noun} by id
    !{make} a query that gets one {noun}
    query one {noun} by id
    !load [a single|one] {noun}
    {noun} by id
    !{read} the {noun} with a [given|certain] id
    !{make} a query for one {noun}
    which {noun} has this id?
query_count
    !count [all |the |my |]{nouns}
    how many {nouns} [are there|do I have|exist|are stored|do we own]?
    !{make} a query [that counts|to count|counting] {nouns}
    [I|we] need the [number|count] of {nouns}
    query the [number|amount] of {nouns}
    the number of {nouns}
    !{read} the number of {nouns}
    {noun} count
    !compute how many {nouns} there are
query_count_by
    !count [the |]{nouns} by {field}
    !{make} a query that counts {nouns} by {field}
    how many {nouns} have a given {field}?
    [I|we] need the number of {nouns} by {field}
    !count {nouns} [with a given|for a] {field}
    number of {nouns} by {field}
query_top
    !{read} the top {n} {nouns} by {field}
    !{make} a query for the {n} {nouns} with the [highest|most|largest|biggest] {field}
    top {n} {nouns} by {field}
    !{read} the {n} {nouns} with the [most|highest] {field}
    the {n} best {nouns} by {field}
    which {n} {nouns} have the [most|highest] {field}?
query_lowest
    !{read} the lowest {n} {nouns} by {field}
    !{make} a query for the {n} {nouns} with the [lowest|least|smallest] {field}
    lowest {n} {nouns} by {field}
    !{read} the {n} {nouns} with the [least|lowest] {field}
    the {n} worst {nouns} by {field}
    which {n} {nouns} have the [least|lowest] {field}?
query_superlative
    !{read} the {n} {field} {nouns}
    the {n} {field} {nouns}
    which are the {n} {field} {nouns}?
    !{make} a query for the {n} {field} {nouns}
    what are the {n} {field} {nouns}?
query_sorted
    !{read} [all |the |]{nouns} [sorted|ordered|arranged|ranked] by {field}
    ![sort|order|arrange] [the |all |]{nouns} by {field}
    !{make} a query for {nouns} [sorted|ordered] by {field}
    {nouns} [ordered|sorted] by {field}
query_over
    !{find} {nouns} with {field} [over|above] a [minimum|limit|value]
    !{find} {nouns} with {a_field} above a limit
    !{make} a query for {nouns} whose {field} is [over|above|greater than] a [value|number]
    {nouns} with {field} [greater than|above] a given number
    !{read} {nouns} with more than a given {field}
    which {nouns} have [more than|above] a given {field}?
query_under
    !{find} {nouns} with {field} [under|below] a [maximum|limit|value]
    !{find} {nouns} with {a_field} below a limit
    !{make} a query for {nouns} whose {field} is [under|below|less than] a [value|number]
    {nouns} with {field} [less than|below] a given number
    !{read} {nouns} with less than a given {field}
    which {nouns} have less than a given {field}?
query_search
    !search [all |the |]{nouns} by {field}
    !{make} a query that searches {nouns} by {field}
    !{find} {nouns} whose {field} [contains|includes|has] a [text|word]
    !search the {field} of {nouns}
    search for {nouns} by {field}
    !{make} a search [over|of|for] {nouns} by {field}
    search [in|through] the {field} of {nouns}
    {noun} search by {field}
mutation_add
    !{make} a mutation that [adds|inserts|saves|creates] {a_noun} with {fields}
    ![add|insert|register|enter] {a_noun} with {fields}
    a mutation to add {nouns} with {fields}
    !{make} a mutation to [create|add|insert] {a_noun} with {fields}
    [I|we] want to [add|insert|register] {nouns} with {fields}
    ![save|insert|record|add] a new {noun} with {fields}
    mutation: add {a_noun} with {fields}
    mutation to [insert|add] {a_noun}: {fields}
    add {noun}: {fields}
    [users|people] [can|should] add {nouns} with {fields}
mutation_delete
    ![delete|remove|drop|erase] {a_noun} [|by id|by its id]
    !{make} a mutation that [deletes|removes|erases] {a_noun}
    a mutation to [delete|remove] {nouns}
    mutation: [delete|remove] {a_noun}
    !{make} a mutation to [remove|delete] {a_noun}
    !get rid of {a_noun}
    [I|we] want to [delete|remove] {nouns}
    [delete|remove] the {noun} with a given id
server_add
    !{make} a server function that [adds|sums] {field} and {field2}
    server function: {field} plus {field2}
    !add {field} and {field2} on the server
    server: add {field} and {field2}
server_subtract
    !{make} a server function that subtracts {field2} from {field}
    server function: {field} minus {field2}
    !subtract {field2} from {field} on the server
    server: {field} less {field2}
server_multiply
    !{make} a server function that multiplies {field} by {field2}
    server function: {field} times {field2}
    !multiply {field} by {field2} on the server
    server: multiply {field} by {field2}
server_numbers
    !{make} a [server |]function [that|to|which] [{verb}|{verb}s] two {text}s
    server function: {verb} two {text}s
    !{verb} two {text}s on the server
    !{make} a [server |]function [called|named] {verb} for two {text}s
server_join
    !{make} a server function that [joins|combines] {field} and {field2}
    !join {field} and {field2} on the server
    server function: {field} and {field2} as one text
    server: join {field} and {field2}
server_over
    !{make} a server function that [checks|tells|says] whether {field} is [over|above|more than] {limit}
    server function: is {field} over {limit}?
    !check on the server that {field} is more than {limit}
    server: is {field} above {limit}?
server_greet
    !{make} a server function that greets by {field} with {greeting}
    server function: say {greeting} and the {field}
    !{make} a server function that takes {a_field} and says {greeting}
    server: greet by {field} with {greeting}
http_list
    !{make} an http [route|endpoint] that [lists|returns|serves] [all |the |]{nouns}
    !{make} a GET [route|endpoint] [for|of] {nouns}
    an http endpoint for all {nouns}
    ![serve|publish|offer] {nouns} over http
    http get for {nouns}
    !expose the {nouns} [as an http route|over http|as an endpoint]
    GET route for {nouns}
    http route: all {nouns}
http_list_path
    !{make} a GET [route|endpoint] {path} that [lists|returns] {nouns}
    !serve {nouns} at {path}
    GET {path} returns all {nouns}
    !{make} an http [route|endpoint] at {path} for {nouns}
    http get {path} [lists|gives] {nouns}
http_add
    !{make} a POST [route|endpoint] that [adds|inserts] {a_noun} with {fields}
    !{make} an http route to add {nouns} with {fields}
    http post for {nouns} with {fields}
    POST route for {nouns} with {fields}
http_add_path
    !{make} a POST [route|endpoint] {path} that adds {a_noun} with {fields}
    POST {path} adds {a_noun} with {fields}
    http post {path} to add {a_noun} with {fields}
http_delete
    !{make} a DELETE [route|endpoint] for {nouns}
    !{make} an http [route|endpoint] that [deletes|removes] {a_noun}
    http delete for {nouns}
    DELETE route for {nouns}
http_delete_path
    !{make} a DELETE [route|endpoint] {path} that removes {a_noun}
    DELETE {path} [removes|deletes] {a_noun}
    http delete {path} for {nouns}
http_text
    !{make} a GET route {path} that [says|returns|sends] {text}
    GET {path} returns the text {text}
    !{make} an http [route|endpoint] at {path} that [answers|replies] {text}
    GET {path} says {text}
""")

HELD_OUT = _parse("""
table
    !set up a table to hold {nouns} with {fields}
    we sell {nouns}; each one has {fields}
index
    !put an index over {nouns} using {columns}
query_all
    !report the whole set of {nouns}
    what {nouns} do we have?
query_by
    !look for {nouns} that match {columns}
query_flag
    !pull only those {nouns} which are {field}
query_get
    !open the {noun} given the id
query_count
    !tell me the total number of {nouns}
query_top
    !report {n} {nouns} with the greatest {field}
query_superlative
    !{read} the {n} {field} {nouns}
    the {n} {field} {nouns}
    which are the {n} {field} {nouns}?
    !{make} a query for the {n} {field} {nouns}
    what are the {n} {field} {nouns}?
query_sorted
    !report {nouns} in order of {field}
query_search
    !look for a text in the {field} of {nouns}
mutation_add
    !prepare something that inserts a new {noun} with {fields}
mutation_delete
    !prepare something that deletes {a_noun} by id
http_list
    !prepare an http GET endpoint which returns the {nouns}
http_text
    !prepare a route {path} which answers {text}
""")

# Joined to a table request; the second part speaks of "them".
FOLLOW_UPS = _parse("""
query_all
    a query [that lists|for|returning] [them|all of them]
    list them
    read all of them
mutation_add
    a mutation [that adds one|to add them|that inserts one|to insert one]
    let me add them
mutation_delete
    a mutation [that deletes one|to delete them|to remove one]
    let me delete them
query_get
    a query [that gets one|to load one|for one] by id
    get one by id
query_count
    a query that counts them
    count them
    how many there are
index
    an index on {columns}
    index them by {columns}
query_by
    a query [that finds|for|to find] them by {columns}
    a query by {columns}
    find them by {columns}
http_list
    an http route [that lists|for|returning] them
    a GET route for them
""")
