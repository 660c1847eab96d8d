import { words } from './word.ts'

/** Functions of the standard library, by their paths after `std.`. */
export const STD_WORDS = words(`
fs.read | (path: str) to Result[str] | The text of a file.
fs.write | (path: str, text: str) to Result[Unit] | Writes a file.
fs.exists | (path: str) to bool | Whether there is something at a path.
fs.is_file | (path: str) to bool | Whether there is a file at a path.
fs.is_dir | (path: str) to bool | Whether there is a folder at a path.
fs.mkdir | (path: str) to Result[Unit] | Makes a folder, and those around it.
fs.list_dir | (path: str) to Result[List[str]] | Names of what is in a folder.
fs.remove | (path: str) to Result[Unit] | Removes a file.
fs.remove_dir_all | (path: str) to Result[Unit] | Removes a folder with everything in it.
fs.copy | (from: str, to: str) to Result[Unit] | Copies a file.
fs.canonicalize | (path: str) to Result[str] | A path without links.
path.join | (a: str, b: str) to str | Two parts of a path as one.
path.join_many | (parts: List[str]) to str | Parts of a path as one.
path.basename | (path: str) to str | The last part of a path.
path.dirname | (path: str) to str | A path without its last part.
path.extension | (path: str) to str | What follows the last dot of a path.
env.get | (name: str) to Option[str] | A variable of the environment.
env.args | () to List[str] | What the program was started with.
process.run | (command: str, args: List[str]) to Result[int] | Runs a program and gives its exit code.
process.run_capture | (command: str, args: List[str]) to Result[{ exit: int, stdout: str, stderr: str }] | Runs a program and gives what it wrote.
process.run_capture_lines | (command: str, args: List[str]) to Result[List[str]] | Runs a program and gives its lines.
json.parse | (text: str) to Result[Json] | Reads JSON.
json.read_str | (document: str, path: str) to Result[str] | A text in a JSON document.
json.read_f64 | (document: str, path: str) to Result[float] | A number in a JSON document.
json.quote | (text: str) to str | A text as JSON writes it.
json.stringify | (value: any) to str | A value as JSON.
json.encode | (value: any) to str | The same as \`json.stringify\`.
json.value | (value: any) to Json | A value as a JSON document.
regex.compile | (pattern: str) to Result[Regex] | A regular expression.
http.get_text | (url: str) to Result[str] | What a server answers.
http.post_json | (url: str, body: str) to Result[str] | Sends JSON and gives the answer.
crypto.uuid | () to str | A random UUID.
crypto.hash_fast | (text: str) to str | A short hash that is no secret's guard.
crypto.hash_secure | (text: str) to str | A SHA-256 hash.
time.now_ms | () to int | Milliseconds since 1970.
random.float | () to float | A number from 0 to 1.
random.int | (low: int, high: int) to int | An int, the upper bound excluded.
random.choice | (list: List[T]) to Option[T] | One element of a list.
log.debug | (text: str) to Unit | Writes to the log.
log.info | (text: str) to Unit | Writes to the log.
log.warn | (text: str) to Unit | Writes to the log.
log.error | (text: str) to Unit | Writes to the log.
list.sort | (list: List[T]) to List[T] | A list in rising order.
list.reduce | (list: List[T], first: U, fn: fn(U, T) to U) to U | Joins the elements of a list.
agentos.mutation_kind_for_tool | (tool: str) to str | What a tool does to the world: \`read_only\`, \`write\`, \`destructive\` or \`unknown\`.
math.sqrt | (x: float) to float | The square root.
math.pow | (x: float, y: float) to float | A power.
math.min | (a: T, b: T) to T | The lesser of two.
math.max | (a: T, b: T) to T | The greater of two.
math.pi | () to float | 3.14159…
math.e | () to float | 2.71828…
`)

/** Functions of namespaces other than the standard library, by full path. */
export const NAMESPACE_WORDS = words(`
Browser.open | (url: str, headless: bool) to Result[str] | Opens a page of the web; its name is what the others take.
Browser.goto | (page: str, url: str) to Result[Unit] | Loads another address into a page.
Browser.click | (page: str, target: str) to Result[Unit] | Clicks on what a CSS selector, \`text=…\` or \`xpath=…\` means.
Browser.fill | (page: str, target: str, text: str) to Result[Unit] | Puts a text into a field.
Browser.wait_for | (page: str, target: str, milliseconds: int) to Result[Unit] | Waits until something can be seen.
Browser.text | (page: str, target: str) to Result[str] | What a person reads there; without a target, on the whole page.
Browser.html | (page: str, target: str) to Result[str] | The markup there; without a target, of the whole page.
Browser.screenshot | (page: str, path: str) to Result[str] | Writes a picture of the page, as PNG, and gives its path.
Browser.close | (page: str) to Result[Unit] | Closes a page.
HTTP.get_text | (url: str) to Result[str] | The same as \`std.http.get_text\`.
HTTP.post_json | (url: str, body: str) to Result[str] | The same as \`std.http.post_json\`.
OpenClaw.list_skills | () to Result[str] | Skills of the gateway, as JSON.
OpenClaw.call | (skill: str, json: str) to Result[str] | Has the gateway run a skill, and gives the answer as JSON.
OpenClaw.subscribe | (domain: str) to Result[str] | Subscribes to a domain of the gateway.
OpenClaw.unsubscribe | (domain: str) to Result[str] | Ends a subscription.
OpenClaw.notify | (domain: str, message: str) to Result[str] | Notifies all subscribers of a domain.
Speech.transcribe | (path: str) to Result[str] | The text of a recording.
`)
