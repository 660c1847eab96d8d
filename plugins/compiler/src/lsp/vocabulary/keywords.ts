import { words } from './word.ts'

/** Documentation of keywords and contextual keywords. */
export const KEYWORD_WORDS = words(`
fn | fn name(param: T) to R { … } | Declares a function, or creates an anonymous one. | fn \${1:name}(\${2}) to \${3:Unit} {\\n    $0\\n}
let | let name = value | Declares a variable. | let \${1:name} = $0
mut | let mut name = value | Declares a variable that can be assigned.
if | if condition { … } else { … } | Runs one of two blocks and returns its value. | if \${1:condition} {\\n    $0\\n}
else | if condition { … } else { … } | The block that runs if the condition is false.
match | match value { Pattern => … } | Runs the first arm whose pattern matches. | match \${1:value} {\\n    \${2:pattern} => $0\\n}
for | for item in list { … } | Runs a block for each element, and returns the list of results. | for \${1:item} in \${2:list} {\\n    $0\\n}
while | while condition { … } | Repeats a block while a condition is true. | while \${1:condition} {\\n    $0\\n}
loop | loop { … } | Repeats a block until \`break\` or \`return\`. | loop {\\n    $0\\n}
break | break | Leaves the innermost loop.
continue | continue | Starts the next iteration of the innermost loop.
return | return value | Leaves the function with a value. | return $0
type | type Name = \\| A \\| B(x: T) | Declares a sum type, a struct or a type alias. | type \${1:Name} = \\| \${2:First} \\| \${3:Second}
import | import std.name | Imports a name. | import $0
pub | pub fn name() | Makes a declaration public.
component | component Name(params) { … view: … } | Declares a reactive component. | component \${1:Name}($2) {\\n    view: $0\\n}
state | state name: T = value | Declares a mutable value of a component or an actor.
derived | derived name = value | Declares a value of a component that is computed from other values.
effect | effect: { … } | Runs code when the state of a component changes.
view | view: element | The element that a component shows.
actor | actor Name { on event() to T { … } } | Declares an actor, whose handlers run one at a time. | actor \${1:Name} {\\n    on \${2:event}($3) to \${4:Unit} {\\n        $0\\n    }\\n}
on | on event(params) to T { … } | A handler of an actor or an agent.
workflow | workflow name(params) to T { … } | Declares a workflow, which survives restarts. | workflow \${1:name}($2) to \${3:Result[Unit]} {\\n    $0\\n}
activity | activity name(params) to Result[T] { … } | Declares a step of a workflow, which is retried on failure. | activity \${1:name}($2) to Result[\${3:Unit}] {\\n    $0\\n}
spawn | spawn(Actor) | Starts an actor and returns its handle. | spawn(\${1:Actor})
http | http get "/path" to T { … } | Declares a route. | http \${1:get} "\${2:/path}" to \${3:str} {\\n    $0\\n}
agent | agent Name { version "1" … } | Declares an agent: an actor with a version and migrations. | agent \${1:Name} {\\n    version "\${2:1}"\\n    $0\\n}
env | env name { base "image" … } | Declares a deployment environment.
with | activity() with { retries: 3 } | Passes options to a call of an activity or a workflow. | with { $0 }
routes | routes { "/" to Page } | Declares the pages of the client. | routes {\\n    "\${1:/}" to \${2:Page}\\n}
and | a and b | True if both are true.
or | a or b | True if at least one is true.
not | not a | True if the operand is false.
is | a is b | True if two values are equal.
isnt | a isnt b | True if two values differ.
to | fn name() to T | Precedes the result type of a function.
side_effect | side_effect { … } | Runs code once in a workflow; a replay uses the recorded result. | side_effect {\\n    $0\\n}
true | true: bool | The true value.
false | false: bool | The false value.
uses | fn name() uses net, fs | The effects that a function may have.
migrate | migrate from "1" { … } | Converts state that an older version of an agent stored.
`)
