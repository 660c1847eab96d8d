/** Advice for names that other languages have. */
const NAMES: Readonly<Record<string, string>> = {
  True: 'write `true`',
  False: 'write `false`',
  undefined: 'write `None`',
  nil: 'write `None`',
  nullptr: 'write `None`',
  self: 'write the name of the parameter or of the state',
  this: 'write the name of the parameter or of the state',
  console: 'write `print(…)`, or `std.log.info(…)` for the log',
  println: 'write `print(…)`',
  printf: 'write `print(…)`',
  throw: 'return `Error(…)` from a function with `to Result[…]`',
  raise: 'return `Error(…)` from a function with `to Result[…]`',
  try: 'take the value of a `Result` with `?`, or handle it with `match`',
  switch: 'write `match value { A => …  _ => … }`',
  case: 'write `match value { A => …  _ => … }`',
  new: 'write `T { field: value }` without `new`',
  function: 'write `fn(a) a + 1`',
  lambda: 'write `fn(a) a + 1`',
  def: 'write `fn` at the top level'
}

/** Advice for types that other languages have. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'str',
  String: 'str',
  text: 'str',
  boolean: 'bool',
  Boolean: 'bool',
  integer: 'int',
  Integer: 'int',
  number: 'int',
  double: 'float',
  decimal: 'dec',
  Array: 'List',
  Vec: 'List',
  array: 'List',
  Dict: 'Map',
  dict: 'Map',
  Record: 'Map',
  Maybe: 'Option',
  Optional: 'Option',
  void: 'Unit'
}

/** Advice for declarations that other languages have. */
const DECLARATIONS: Readonly<Record<string, string>> = {
  class: 'write `type Name { field: T }`',
  struct: 'write `type Name { field: T }`',
  interface: 'write `type Name { field: T }`',
  record: 'write `type Name { field: T }`',
  enum: 'write `type Name = | A | B(x: T)`',
  function: 'write `fn name(a: T) to R { … }`',
  func: 'write `fn name(a: T) to R { … }`',
  def: 'write `fn name(a: T) to R { … }`',
  export: 'declarations need no `export`',
  var: 'write `let name = …` for a constant',
  val: 'write `let name = …` for a constant',
  use: 'write `import std.fs`',
  from: 'write `import std.fs`',
  include: 'write `import std.fs`'
}

/** Returns what to write for the first word of a declaration, if another language has it. */
export function insteadOfDeclaration(word: string): string | undefined {
  return Object.hasOwn(DECLARATIONS, word) ? DECLARATIONS[word] : undefined
}

/** Returns what to write for a name that is not declared, if another language has it. */
export function insteadOfName(name: string): string | undefined {
  return Object.hasOwn(NAMES, name) ? NAMES[name] : undefined
}

/** Returns the type for one of another language. */
export function insteadOfType(name: string): string | undefined {
  return Object.hasOwn(TYPES, name) ? TYPES[name] : undefined
}
