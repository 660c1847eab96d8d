/** Native functions of the standard library and of other namespaces, by namespace. See `NATIVE_GLOBALS` for the form. */
export const NATIVE_NAMESPACES: Readonly<Record<string, string>> = {
  std: `
    now_ms() to int uses time // The same as \`std.time.now_ms\`.
    uuid() to str uses random // The same as \`std.crypto.uuid\`.
    hash_fast(text: str) to str // The same as \`std.crypto.hash_fast\`.
    hash_secure(text: str) to str // The same as \`std.crypto.hash_secure\`.`,
  'std.fs': `
    read(path: str) to Result[str] uses fs // Returns the content of a file.
    write(path: str, text: str) to Result[Unit] uses fs_write // Writes a file.
    exists(path: str) to bool uses fs // True if the path exists.
    is_file(path: str) to bool uses fs // True if the path is a file.
    is_dir(path: str) to bool uses fs // True if the path is a folder.
    mkdir(path: str) to Result[Unit] uses fs_write // Creates a folder and its parents.
    list_dir(path: str) to Result[List[str]] uses fs // Returns the names of the entries of a folder.
    list_dir_detailed(path: str) to Result[List[FileInfo]] uses fs // Returns the entries of a folder with their attributes.
    glob(pattern: str) to Result[List[str]] uses fs // Returns the paths that match a pattern such as \`src/**/*.vox\`.
    stat(path: str) to Result[FileInfo] uses fs // Returns the attributes of a file.
    remove(path: str) to Result[Unit] uses fs_write // Removes a file.
    remove_dir_all(path: str) to Result[Unit] uses fs_write // Removes a folder with everything in it.
    copy(from: str, to: str) to Result[Unit] uses fs_write // Copies a file.
    canonicalize(path: str) to Result[str] uses fs // Returns a path with its links resolved.
    read_bytes(path: str) to Result[List[int]] uses fs // Returns the bytes of a file.`,
  'std.path': `
    join(a: str, b: str) to str // Joins two parts of a path.
    join_many(parts: List[str]) to str // Joins parts of a path.
    basename(path: str) to str // Returns the last part of a path.
    dirname(path: str) to str // Returns a path without its last part.
    extension(path: str) to str // Returns what follows the last dot of a path.`,
  'std.env': `
    get(name: str) to Option[str] uses env // Returns an environment variable.
    set(name: str, value: str) to Unit uses env // Sets an environment variable of this program.
    args() to List[str] uses env // Returns the arguments of the program.`,
  'std.process': `
    which(command: str) to Option[str] uses process // Returns the path of a program.
    run(command: str, args: List[str]) to Result[int] uses process // Runs a program and returns its exit code.
    run_ex(command: str, args: List[str], folder: str, variables: List[str]) to Result[int] uses process // Runs a program in a folder, with environment variables \`NAME=value\`.
    run_capture(command: str, args: List[str]) to Result[CommandResult] uses process // Runs a program and returns its output.
    run_capture_ex(command: str, args: List[str], folder: str, variables: List[str]) to Result[CommandResult] uses process // The same as \`run_ex\`, but returns the output.
    run_capture_lines(command: str, args: List[str]) to Result[List[str]] uses process // Runs a program and returns the lines of its output.
    run_capture_json(command: str, args: List[str]) to Result[Json] uses process // Runs a program and parses its output as JSON.
    spawn_background(command: str, args: List[str]) to Result[int] uses process // Starts a program that outlives this one, and returns its process id.
    exec(command: str, args: List[str]) to Result[Unit] uses process // Runs a program; an exit code other than 0 is an Error.
    register_exit_command(command: str, args: List[str]) to Result[Unit] uses process // Registers a program that runs when this one ends.
    exit(code: int) to never uses process // Ends the program.`,
  'std.json': `
    parse(text: str) to Result[Json] // Parses JSON.
    read_str(document: str, path: str) to Result[str] // Returns a string in a JSON document; the path is joined by dots.
    read_f64(document: str, path: str) to Result[float] // Returns a number in a JSON document; the path is joined by dots.
    quote(text: str) to str // Returns a string as a JSON string literal.
    stringify(value: any) to str // Returns a value as JSON.
    encode(value: any) to str // The same as \`json.stringify\`.
    value(value: any) to any // Converts a value to a JSON document.`,
  'std.csv': `
    parse(text: str) to Result[Json] // Parses CSV to a list of rows.
    parse_records(text: str) to Result[Json] // Parses CSV to a list of objects, whose keys are in the first row.
    render(rows: List[any]) to Result[str] // Returns rows as CSV.`,
  'std.html': `
    escape(text: str) to str // Escapes a text for the content and the quoted attributes of HTML.`,
  'std.files': `
    put(name: str, content: str, content_type?: str) to Result[File] uses db_write // Stores a text as a file. The type follows from the name if it is omitted.
    put_bytes(name: str, content: List[int], content_type?: str) to Result[File] uses db_write // Stores bytes as a file.
    get(id: str) to Option[File] uses db_read // Returns the file with an id.
    read(file: File) to Result[str] uses db_read // Returns the content of a file as text.
    read_bytes(file: File) to Result[List[int]] uses db_read // Returns the bytes of a file.
    url(file: File, expires?: str) to str // Returns a path with a signature, under which anyone can load the file until it expires: \`1h\` by default.
    delete(file: File) to Result[Unit] uses db_write // Removes a file that no row refers to.
    list() to List[File] uses db_read // Returns the files of the program, the oldest first.`,
  'std.toml': `
    parse(text: str) to Result[Json] // Parses TOML.
    render(value: any) to Result[str] // Returns a record as TOML.`,
  'std.yaml': `
    parse(text: str) to Result[Json] // Parses YAML.
    render(value: any) to Result[str] // Returns a value as YAML.`,
  'std.io': `
    open(path: str) to Result[Json] uses fs // Reads a JSON, YAML, TOML or CSV file.
    save(path: str, value: any) to Result[Unit] uses fs_write // Writes a JSON, YAML, TOML or CSV file.`,
  'std.regex': `
    compile(pattern: str) to Result[Regex] // Compiles a regular expression.`,
  'std.http': `
    get_text(url: str) to Result[str] uses net // Sends a GET request and returns the response body.
    post_json(url: str, body: any) to Result[str] uses net // Sends JSON and returns the response body.`,
  'std.crypto': `
    hash_fast(text: str) to str // Returns a short hash, which is not suitable for secrets.
    hash_secure(text: str) to str // Returns the SHA-256 hash.
    uuid() to str uses random // Returns a random UUID.`,
  'std.time': `
    now_ms() to int uses time // Returns the milliseconds since 1970.`,
  'std.log': `
    debug(message: any, fields?: any) to Unit // Writes a debug message to the log, with further values as a record.
    info(message: any, fields?: any) to Unit // Writes a message to the log, with further values as a record.
    warn(message: any, fields?: any) to Unit // Writes a warning to the log, with further values as a record.
    error(message: any, fields?: any) to Unit // Writes an error to the log, with further values as a record.`,
  'std.random': `
    float() to float uses random // Returns a random number from 0 up to, but not including, 1.
    int(low: int, high: int) to int uses random // Returns a random int; the upper bound is exclusive.
    choice[T](list: List[T]) to Option[T] uses random // Returns a random element of a list.`,
  'std.list': `
    sort[T](list: List[T]) to List[T] where T: ordered // Returns a list in ascending order.
    reduce[T, U](list: List[T], first: U, f: fn(U, T) to U) to U // Combines the elements of a list into one value.`,
  'std.agentos': `
    mutation_kind_for_tool(tool: str) to str // Returns the effect of a tool: \`read_only\`, \`write\`, \`destructive\` or \`unknown\`.`,
  'std.math': `
    sqrt(x: float) to float // Returns the square root.
    cbrt(x: float) to float // Returns the cube root.
    exp(x: float) to float // Returns e to the power of x.
    sin(x: float) to float // Returns the sine of an angle in radians.
    cos(x: float) to float // Returns the cosine of an angle in radians.
    tan(x: float) to float // Returns the tangent of an angle in radians.
    asin(x: float) to float // Returns the arc sine in radians.
    acos(x: float) to float // Returns the arc cosine in radians.
    atan(x: float) to float // Returns the arc tangent in radians.
    atan2(y: float, x: float) to float // Returns the angle of the point (x, y) in radians.
    ln(x: float) to float // Returns the natural logarithm.
    log2(x: float) to float // Returns the logarithm to base 2.
    log10(x: float) to float // Returns the logarithm to base 10.
    floor(x: float) to float // Returns the next lower whole number.
    ceil(x: float) to float // Returns the next higher whole number.
    pow(x: float, y: float) to float // Returns x to the power of y.
    pi() to float // Returns 3.14159…
    e() to float // Returns 2.71828…
    min[T](a: T, b: T) to T where T: ordered // Returns the smaller of two values.
    max[T](a: T, b: T) to T where T: ordered // Returns the greater of two values.`,
  'std.mobile': `
    notify(title: str, body: str) to Result[Unit] // Shows a notification.
    vibrate() to Result[Unit] // Lets the device vibrate.
    take_photo() to Result[str] // Takes a photo and returns it as a \`data:\` URL.
    take_photo_from_gallery() to Result[str] // Lets the user choose a photo and returns it as a \`data:\` URL.
    get_location() to Result[str] // Returns JSON with \`latitude\`, \`longitude\` and \`accuracy\` in metres.
    accelerometer() to Result[str] // Returns JSON with \`x\`, \`y\` and \`z\` in metres per second squared.
    transcribe_microphone() to Result[str] // Listens to the microphone and returns a transcript.
    read_contacts() to Result[str] // Returns JSON: a list of records with \`name\` and \`tel\`.
    read_clipboard() to Result[str] // Returns the text of the clipboard.
    biometric_auth(reason: str) to Result[Unit] // Asks for a fingerprint or a face.
    share_text(text: str) to Result[Unit] // Opens the share menu of the device.
    store_file(name: str, data: str) to Result[Unit] // Stores a file on the device.
    read_file(name: str) to Result[str] // Returns a file of the device.
    copy_to_clipboard(text: str) to Result[Unit] // Copies a text to the clipboard.
    platform() to str // Returns the platform: \`android\`, \`ios\`, \`web\` or that of the computer.
    has_camera() to bool // True if the device has a camera.`,
  'std.mobile.push': `
    register() to Result[str] // Registers the device for push messages and returns its subscription.
    on_message(listener: fn(str) to Unit) to Result[Unit] // Calls a function with each push message, as JSON.`,
  workflow: `
    version(id: str, oldest: int, newest: int) to int // Returns the version of a change that this run of the workflow uses.
    continue_as_new(args...: any) to never // Ends this run of the workflow and starts another with these arguments.`,
  Browser: `
    open(url: str, headless?: bool) to Result[str] uses net // Opens a web page and returns its id, which the other functions take.
    goto(page: str, url: str) to Result[Unit] uses net // Loads another address into a page.
    click(page: str, target: str) to Result[Unit] uses net // Clicks on the element of a CSS selector, \`text=…\` or \`xpath=…\`.
    fill(page: str, target: str, text: str) to Result[Unit] uses net // Types a text into an input element.
    wait_for(page: str, target: str, milliseconds: int) to Result[Unit] uses net // Waits until the element is visible.
    text(page: str, target?: str) to Result[str] uses net // Returns the visible text of the target; without a target, of the whole page.
    html(page: str, target?: str) to Result[str] uses net // Returns the HTML of the target; without a target, of the whole page.
    screenshot(page: str, path: str) to Result[str] uses net, fs_write // Writes a PNG screenshot of the page and returns its path.
    close(page: str) to Result[Unit] uses net // Closes a page.`,
  HTTP: `
    get_text(url: str) to Result[str] uses net // The same as \`std.http.get_text\`.
    post_json(url: str, body: any) to Result[str] uses net // The same as \`std.http.post_json\`.`,
  OpenClaw: `
    list_skills() to Result[str] uses net // Returns the skills of the gateway, as JSON.
    call(skill: str, input: any) to Result[str] uses net // Runs a skill on the gateway and returns the result as JSON.
    subscribe(domain: str) to Result[str] uses net // Subscribes to a domain of the gateway.
    unsubscribe(domain: str) to Result[str] uses net // Ends a subscription.
    notify(domain: str, message: str) to Result[str] uses net // Notifies all subscribers of a domain.`,
  Response: `
    html(text: str) to Response // An HTML document.
    text(text: str) to Response // A plain text.
    json(value: any) to Response // A value as JSON.
    redirect(url: str, status?: int) to Response // Sends the browser to another URL, with status 302 unless another one is given.
    bytes(content: List[int], content_type?: str) to Response // Bytes, from 0 to 255 each.
    file(path: str) to Response // A file below the public directory.`,
  Speech: `
    transcribe(path: str) to Result[str] uses fs // Returns the transcript of a recording.`
}

/** Namespaces below `std` that programs also reach without `std`. */
export const SHORT_NAMESPACES: readonly string[] = 'fs process env path json regex csv toml yaml io http mobile'.split(
  ' '
)

/**
 * Functions, constructors and values of every program, one a line: `name[T](param: type, optional?: type) to result`,
 * then the effects after `uses`, the bound of a type parameter after `where`, and a text for the editor after `//`.
 * A parameter `name...: type` takes any number of arguments.
 */
export const NATIVE_GLOBALS = `
  Ok[T, E](value?: T) to Result[T, E] // Creates a successful result.
  Error[T, E](message: E) to Result[T, E] // Creates a failed result.
  Err[T, E](message: E) to Result[T, E] // The same as \`Error\`.
  Some[T](value: T) to Option[T] // Creates an option with a value.
  None[T]: Option[T] // No value.
  Unit: Unit // The value of a function without a result.
  null: any // The null value of JSON.
  len[T](x: T) to int where T: sized // Returns the number of elements of a list, characters of a string or entries of a record.
  str(x: any) to str // Returns a value as readable text.
  to_string(x: any) to str // The same as \`str\`.
  print(values...: any) to Unit // Prints its arguments on one line, separated by spaces.
  assert(condition: bool, message?: any) to Unit // Fails if the condition is false.
  panic(message?: any) to never // Ends the program with a message.
  has_capability(capability: any) to bool // True if the host grants a capability, such as \`"net"\`.
  int(x: any) to int // Converts a value to an int: a text that is none to 0, see \`parse_int\`.
  float(x: any) to float // Converts a value to a float: a text that is none to 0, see \`parse_float\`.
  dec(x: any) to dec // Converts a value to a dec: an int and a text exactly, a float to the digits that it is printed with, and other text to 0, see \`parse_dec\`.
  bool(x: any) to bool // Converts a value to a bool: false for zero, empty and missing values.
  range(from: int, until?: int) to List[int] // Returns the ints from \`from\` up to, but not including, \`until\`; with one argument, the ints from 0 up to it.
  type_of(x: any) to str // Returns the name of the type of a value.
  run_later[T, R](after: T, call: R) to str uses db_write where T: duration // Calls a function of the program after a duration, once the transaction is committed: \`run_later("1h", f(a))\`. Returns the id of the run.
  run_at[R](time: int, call: R) to str uses db_write // Calls a function of the program at a time in Unix milliseconds.
  sleep[T](duration: T) to Unit where T: duration // Waits for a duration: \`"500ms"\`, \`"2s"\`, or an int of milliseconds.
  state_load(key: str) to any uses db_read // Returns the value that an actor saved under a key.
  state_save(key: str, value: any) to Unit uses db_write // Saves a value of an actor under a key.
  workflow_wait[T](duration: T) to Unit where T: duration // Waits in a workflow, across restarts.
  workflow_wait_signal(key: str) to any // Waits in a workflow for a signal.
  as_user[T](caller: any, f: fn() to T) to T // Calls a function of a test as a user: the id, or an Identity.
  as_anyone[T](f: fn() to T) to T // Calls a function of a test without an identity.
  is_refused[T](f: fn() to T) to bool // True if a guard refuses the caller of a function, in a test.`

/** Methods and fields of builtin types, by the type of the receiver. A literal may omit a field `name?: type`. */
export const NATIVE_MEMBERS: Readonly<Record<string, string>> = {
  str: `
    len() to int // Returns the number of characters.
    chars_count() to int // The same as \`len\`.
    is_empty() to bool // True if there are no characters.
    to_upper() to str // Returns the text in upper case.
    to_uppercase() to str // The same as \`to_upper\`.
    to_lower() to str // Returns the text in lower case.
    to_lowercase() to str // The same as \`to_lower\`.
    trim() to str // Returns the text without white space at both ends.
    trim_start() to str // Returns the text without white space at the start.
    trim_end() to str // Returns the text without white space at the end.
    contains(text: str) to bool // True if the text contains another one.
    starts_with(text: str) to bool // True if the text starts with another one.
    ends_with(text: str) to bool // True if the text ends with another one.
    split(separator: str) to List[str] // Returns the parts between the separators; with an empty separator, the characters.
    replace(from: str, with: str) to str // Replaces all occurrences of a text.
    repeat(times: int) to str // Returns the text several times.
    slice(from: int, until?: int) to str // Returns the characters from \`from\` up to, but not including, \`until\`.
    char_at(index: int) to Option[str] // Returns the character at a position.
    index_of(text: str) to Option[int] // Returns the position of the first occurrence of a text.
    parse_int() to Option[int] // Returns the int that the text is, white space at its ends aside; None for another text.
    parse_float() to Option[float] // Returns the number that the text is, white space at its ends aside; None for another text.
    parse_dec() to Option[dec] // Returns the decimal that the text is, white space at its ends aside; None for another text.`,
  int: `
    abs() to int // Returns the absolute value.
    min(other: int) to int // Returns the smaller of two ints.
    max(other: int) to int // Returns the greater of two ints.
    to_float() to float // Converts an int to a float.`,
  float: `
    abs() to float // Returns the absolute value.
    floor() to float // Returns the next lower whole number.
    ceil() to float // Returns the next higher whole number.
    round() to float // Returns the nearest whole number; a half is rounded away from zero.
    sqrt() to float // Returns the square root.
    min(other: float) to float // Returns the smaller of two floats.
    max(other: float) to float // Returns the greater of two floats.
    to_int() to int // Returns the whole part as an int.`,
  dec: `
    abs() to dec // Returns the absolute value.
    round(places: int) to dec // Rounds to a number of decimal places, from 0 to 28; a half is rounded to the even digit.
    to_float() to float // Converts a decimal to the nearest float.`,
  bool: '',
  'List[T]': `
    len() to int // Returns the number of elements.
    length() to int // The same as \`len\`.
    is_empty() to bool // True if there are no elements.
    push(item: T) to List[T] // Returns a list with another element at the end.
    append(item: T) to List[T] // The same as \`push\`.
    pop() to List[T] // Returns a list without the last element.
    get(index: int) to Option[T] // Returns the element at an index; a negative one counts from the end.
    at(index: int) to Result[T] // Returns the element at an index, or an Error.
    first() to Option[T] // Returns the first element.
    last() to Option[T] // Returns the last element.
    contains(item: T) to bool // True if an element is equal to the item.
    join(separator: str) to str // Returns the elements as one text.
    reverse() to List[T] // Returns the elements in reverse order.
    slice(from: int, until: int) to List[T] // Returns the elements from \`from\` up to, but not including, \`until\`.
    map[U](f: fn(T) to U) to List[U] // Returns the result of a function for each element.
    flat_map[U](f: fn(T) to List[U]) to List[U] // Returns the elements of all lists that a function returns for each element.
    filter(f: fn(T) to bool) to List[T] // Returns the elements for which a function returns true.
    find(f: fn(T) to bool) to Option[T] // Returns the first element for which a function returns true.
    any(f: fn(T) to bool) to bool // True if a function returns true for at least one element.
    all(f: fn(T) to bool) to bool // True if a function returns true for each element.
    fold[U](first: U, f: fn(U, T) to U) to U // Combines the elements into one value, from the first element to the last.
    zip[U](other: List[U]) to List[(T, U)] // Returns pairs of the elements of two lists, as many as the shorter list has.
    sort() to List[T] where T: ordered // Returns the elements in ascending order.
    sort_by[K](key: fn(T) to K) to List[T] where K: ordered // Returns the elements in ascending order of their keys; equal keys keep their order.`,
  'Map[str, V]': `
    len() to int // Returns the number of entries.
    is_empty() to bool // True if there are no entries.
    get(key: str) to Option[V] // Returns the value of a key.
    has(key: str) to bool // True if the key has a value.
    keys() to List[str] // Returns the keys, in the order in which they were added.
    values() to List[V] // Returns the values, in the order in which they were added.
    entries() to List[(str, V)] // Returns pairs of keys and values, in the order in which they were added.
    set(key: str, value: V) to Map[str, V] // Returns a map with another value of a key.
    remove(key: str) to Map[str, V] // Returns a map without a key.`,
  'Option[T]': `
    is_some() to bool // True if there is a value.
    is_none() to bool // True if there is no value.
    unwrap() to T // Returns the value; ends the program if there is none.
    unwrap_or(other: T) to T // Returns the value, or another one if there is none.
    map[U](f: fn(T) to U) to Option[U] // Returns the result of a function for the value; None if there is none.`,
  'Result[T, E]': `
    is_ok() to bool // True for a success.
    is_err() to bool // True for a failure.
    unwrap() to T // Returns the value; ends the program if it is a failure.
    unwrap_or(other: T) to T // Returns the value, or another one if it is a failure.`,
  Json: `
    get_str(key: str) to Result[str] // Returns a string of an object.
    get_int(key: str) to Result[int] // Returns an int of an object.
    get_float(key: str) to Result[float] // Returns a number of an object.
    get_bool(key: str) to Result[bool] // Returns a bool of an object.
    get_object(key: str) to Result[Json] // Returns an object in an object.
    get_array(key: str) to Result[Json] // Returns an array in an object.
    at(index: int) to Result[any] // Returns an element of an array.
    length() to int // Returns the number of elements or members.
    keys() to List[str] // Returns the keys of an object.
    is_null() to bool // True for \`null\`.`,
  Regex: `
    find(text: str) to Option[Match] // Returns the first match.
    find_all(text: str) to List[Match] // Returns all matches.
    matches(text: str) to bool // True if a part of the text matches.
    replace(text: str, with: str) to str // Replaces the first match.
    replace_all(text: str, with: str) to str // Replaces all matches.`,
  Match: `
    group(index: int) to Option[str] // Returns the text of a group; group 0 is the whole match.
    text() to str // Returns the text of the match.`,
  Request: `
    json() to JsonBody // Returns the body as JSON.
    text() to str // Returns the body as text.
    header(name: str) to Option[str] // Returns a header.
    query(name: str) to Option[str] // Returns a parameter of the URL.
    cookie(name: str) to Option[str] // Returns a cookie.
    method() to str // Returns the method: \`GET\`, \`POST\`.
    ip() to str // Returns the address of the client.
    id() to str // Returns the id of the request.
    user: Option[Identity] // The caller; \`request.user\` in a function with \`@auth\` is the Identity itself.`,
  File: `
    id: str // The id, which is part of its URL.
    name: str // The name that the file was uploaded with.
    content_type: str // The media type, as the uploader named it: \`image/png\`.
    size: int // The size in bytes.`,
  Response: `
    with_status(status: int) to Response // The same response with another status.
    with_header(name: str, value: str) to Response // The same response with one more header.
    with_cookie(name: str, value: str, options?: CookieOptions) to Response // The same response with one more cookie.`,
  CookieOptions: `
    max_age?: int // Seconds until browsers remove the cookie; without it, at their end.
    path?: str // Path for which browsers send it: \`/\`.
    domain?: str // Domain for which browsers send it; without it, only this host.
    same_site?: str // \`strict\`, \`lax\` or \`none\`; without it \`lax\`.
    http_only?: bool // Hides it from scripts; true unless \`false\` is given.
    secure?: bool // Sends it only over TLS; true unless the server is local.`,
  Identity: `
    id: str // The id of the user.
    roles?: List[str] // The roles of the user.
    scopes?: List[str] // What the token of the caller allows.
    claims?: Json // Further claims of the token or the session.
    provider?: str // What proved the identity: \`session\`, \`jwt\`, \`api_key\`, \`oauth\`.`
}

/** Methods that every value has. */
export const EVERY_VALUE = `
  to_str() to str // Returns the value as readable text.
  to_string() to str // The same as \`to_str\`.`

/** Types with the methods of another type. */
export const SAME_METHODS: Readonly<Record<string, string>> = {
  char: 'str',
  Id: 'int',
  Set: 'List',
  JsonBody: 'Json'
}

/** Records that natives return, as fields of the language. */
export const NATIVE_RECORDS: Readonly<Record<string, string>> = {
  FileInfo: 'name: str, path: str, size: int, modified_ms: int, is_dir: bool, is_file: bool, is_symlink: bool',
  CommandResult: 'exit: int, stdout: str, stderr: str'
}
