import { words } from './word.ts'

/** Builtin functions, constructors and values of every program. */
export const FUNCTIONS = words(`
Ok | Ok(value: T) to Result[T] | Creates a successful result. | Ok($1)
Error | Error(message: str) to Result[T] | Creates a failed result. | Error($1)
Err | Err(message: str) to Result[T] | The same as \`Error\`. | Err($1)
Some | Some(value: T) to Option[T] | Creates an option with a value. | Some($1)
None | None: Option[T] | No value.
Unit | Unit: Unit | The value of a function without a result.
null | null: any | The null value of JSON.
len | len(x: any) to int | Returns the number of elements of a list, characters of a string or entries of a record. | len($1)
str | str(x: any) to str | Returns a value as readable text. | str($1)
to_string | to_string(x: any) to str | The same as \`str\`. | to_string($1)
print | print(values: any…) to Unit | Prints its arguments on one line, separated by spaces. | print($1)
assert | assert(condition: bool, message: str) to Unit | Fails if the condition is false. | assert($1)
panic | panic(message: str) to never | Ends the program with a message. | panic($1)
has_capability | has_capability(name: str) to bool | True if the host grants a capability. | has_capability($1)
int | int(x: any) to int | Converts a value to an int. | int($1)
float | float(x: any) to float | Converts a value to a float. | float($1)
bool | bool(x: any) to bool | Converts a value to a bool: false for zero, empty and missing values. | bool($1)
range | range(from: int, until: int) to List[int] | Returns the ints from \`from\` up to, but not including, \`until\`. | range($1)
type_of | type_of(x: any) to str | Returns the name of the type of a value. | type_of($1)
sleep | sleep(duration: str) to Unit | Waits for a duration: \`"500ms"\`, \`"2s"\`. | sleep($1)
state_load | state_load(key: str) to any | Returns the value that an actor saved under a key. | state_load($1)
state_save | state_save(key: str, value: any) to Unit | Saves a value of an actor under a key. | state_save($1)
workflow_wait | workflow_wait(duration: str) to Unit | Waits in a workflow, across restarts. | workflow_wait($1)
workflow_wait_signal | workflow_wait_signal(key: str) to any | Waits in a workflow for a signal. | workflow_wait_signal($1)
db | db: Database | The tables of this program: \`db.Task.all()\`.
std | std | The standard library.
`)
