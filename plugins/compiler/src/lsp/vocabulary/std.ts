import { words } from './word.ts'

/** Functions of the standard library, by their paths after `std.`. */
export const STD_WORDS = words(`
fs.read | (path: str) to Result[str] | Returns the content of a file.
fs.write | (path: str, text: str) to Result[Unit] | Writes a file.
fs.exists | (path: str) to bool | True if the path exists.
fs.is_file | (path: str) to bool | True if the path is a file.
fs.is_dir | (path: str) to bool | True if the path is a folder.
fs.mkdir | (path: str) to Result[Unit] | Creates a folder and its parents.
fs.list_dir | (path: str) to Result[List[str]] | Returns the names of the entries of a folder.
fs.remove | (path: str) to Result[Unit] | Removes a file.
fs.remove_dir_all | (path: str) to Result[Unit] | Removes a folder with everything in it.
fs.copy | (from: str, to: str) to Result[Unit] | Copies a file.
fs.canonicalize | (path: str) to Result[str] | Returns a path with its links resolved.
path.join | (a: str, b: str) to str | Joins two parts of a path.
path.join_many | (parts: List[str]) to str | Joins parts of a path.
path.basename | (path: str) to str | Returns the last part of a path.
path.dirname | (path: str) to str | Returns a path without its last part.
path.extension | (path: str) to str | Returns what follows the last dot of a path.
env.get | (name: str) to Option[str] | Returns an environment variable.
env.args | () to List[str] | Returns the arguments of the program.
process.run | (command: str, args: List[str]) to Result[int] | Runs a program and returns its exit code.
process.run_capture | (command: str, args: List[str]) to Result[{ exit: int, stdout: str, stderr: str }] | Runs a program and returns its output.
process.run_capture_lines | (command: str, args: List[str]) to Result[List[str]] | Runs a program and returns the lines of its output.
json.parse | (text: str) to Result[Json] | Parses JSON.
json.read_str | (document: str, path: str) to Result[str] | Returns a string in a JSON document.
json.read_f64 | (document: str, path: str) to Result[float] | Returns a number in a JSON document.
json.quote | (text: str) to str | Returns a string as a JSON string literal.
json.stringify | (value: any) to str | Returns a value as JSON.
json.encode | (value: any) to str | The same as \`json.stringify\`.
json.value | (value: any) to Json | Converts a value to a JSON document.
regex.compile | (pattern: str) to Result[Regex] | Compiles a regular expression.
http.get_text | (url: str) to Result[str] | Sends a GET request and returns the response body.
http.post_json | (url: str, body: str) to Result[str] | Sends JSON and returns the response body.
crypto.uuid | () to str | Returns a random UUID.
crypto.hash_fast | (text: str) to str | Returns a short hash, which is not suitable for secrets.
crypto.hash_secure | (text: str) to str | Returns the SHA-256 hash.
time.now_ms | () to int | Returns the milliseconds since 1970.
random.float | () to float | Returns a random number from 0 up to, but not including, 1.
random.int | (low: int, high: int) to int | Returns a random int; the upper bound is exclusive.
random.choice | (list: List[T]) to Option[T] | Returns a random element of a list.
log.debug | (text: str) to Unit | Writes a debug message to the log.
log.info | (text: str) to Unit | Writes a message to the log.
log.warn | (text: str) to Unit | Writes a warning to the log.
log.error | (text: str) to Unit | Writes an error to the log.
list.sort | (list: List[T]) to List[T] | Returns a list in ascending order.
list.reduce | (list: List[T], first: U, fn: fn(U, T) to U) to U | Combines the elements of a list into one value.
agentos.mutation_kind_for_tool | (tool: str) to str | Returns the effect of a tool: \`read_only\`, \`write\`, \`destructive\` or \`unknown\`.
math.sqrt | (x: float) to float | Returns the square root.
math.pow | (x: float, y: float) to float | Returns x to the power of y.
math.min | (a: T, b: T) to T | Returns the smaller of two values.
math.max | (a: T, b: T) to T | Returns the greater of two values.
math.pi | () to float | Returns 3.14159…
math.e | () to float | Returns 2.71828…
`)

/** Functions of namespaces other than the standard library, by full path. */
export const NAMESPACE_WORDS = words(`
Browser.open | (url: str, headless: bool) to Result[str] | Opens a web page and returns its id, which the other functions take.
Browser.goto | (page: str, url: str) to Result[Unit] | Loads another address into a page.
Browser.click | (page: str, target: str) to Result[Unit] | Clicks on the element of a CSS selector, \`text=…\` or \`xpath=…\`.
Browser.fill | (page: str, target: str, text: str) to Result[Unit] | Types a text into an input element.
Browser.wait_for | (page: str, target: str, milliseconds: int) to Result[Unit] | Waits until the element is visible.
Browser.text | (page: str, target: str) to Result[str] | Returns the visible text of the target; without a target, of the whole page.
Browser.html | (page: str, target: str) to Result[str] | Returns the HTML of the target; without a target, of the whole page.
Browser.screenshot | (page: str, path: str) to Result[str] | Writes a PNG screenshot of the page and returns its path.
Browser.close | (page: str) to Result[Unit] | Closes a page.
HTTP.get_text | (url: str) to Result[str] | The same as \`std.http.get_text\`.
HTTP.post_json | (url: str, body: str) to Result[str] | The same as \`std.http.post_json\`.
OpenClaw.list_skills | () to Result[str] | Returns the skills of the gateway, as JSON.
OpenClaw.call | (skill: str, json: str) to Result[str] | Runs a skill on the gateway and returns the result as JSON.
OpenClaw.subscribe | (domain: str) to Result[str] | Subscribes to a domain of the gateway.
OpenClaw.unsubscribe | (domain: str) to Result[str] | Ends a subscription.
OpenClaw.notify | (domain: str, message: str) to Result[str] | Notifies all subscribers of a domain.
Speech.transcribe | (path: str) to Result[str] | Returns the transcript of a recording.
`)
