import { words } from './word.ts'

/** Functions and constructors that every program has, and its implicit values. */
export const FUNCTIONS = words(`
Ok | Ok(value: T) to Result[T] | The result of something that went well. | Ok($1)
Error | Error(message: str) to Result[T] | The result of something that failed. | Error($1)
Err | Err(message: str) to Result[T] | The same as \`Error\`. | Err($1)
Some | Some(value: T) to Option[T] | A value where there may be none. | Some($1)
None | None: Option[T] | No value.
Unit | Unit: Unit | The value of what gives nothing.
null | null: any | Nothing, as JSON has it.
len | len(x: any) to int | Elements of a list, characters of a text, entries of a record. | len($1)
str | str(x: any) to str | A value as people read it. | str($1)
to_string | to_string(x: any) to str | The same as \`str\`. | to_string($1)
print | print(values: any…) to Unit | Writes its arguments as one line, with a blank between them. | print($1)
assert | assert(condition: bool, message: str) to Unit | Fails unless the condition holds. | assert($1)
panic | panic(message: str) to never | Ends the program with a message. | panic($1)
has_capability | has_capability(name: str) to bool | Whether the host grants a capability. | has_capability($1)
int | int(x: any) to int | A value as an int. | int($1)
float | float(x: any) to float | A value as a float. | float($1)
bool | bool(x: any) to bool | Whether a value is more than zero, empty or none. | bool($1)
range | range(from: int, until: int) to List[int] | Ints in rising order, the last one excluded. | range($1)
type_of | type_of(x: any) to str | The name of the type of a value. | type_of($1)
sleep | sleep(duration: str) to Unit | Waits: \`"500ms"\`, \`"2s"\`. | sleep($1)
state_load | state_load(key: str) to any | What an actor has saved under a key. | state_load($1)
state_save | state_save(key: str, value: any) to Unit | Saves a value of an actor under a key. | state_save($1)
workflow_wait | workflow_wait(duration: str) to Unit | Waits inside of a workflow, across restarts. | workflow_wait($1)
workflow_wait_signal | workflow_wait_signal(key: str) to any | Waits inside of a workflow until a signal comes. | workflow_wait_signal($1)
db | db: Database | The tables of this program: \`db.Task.all()\`.
std | std | The standard library.
`)
