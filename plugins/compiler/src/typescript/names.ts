/** Names that program functions cannot have in TypeScript: reserved words and names of the client. */
const RESERVED = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends ' +
    'false finally for function if implements import in instanceof interface let new null package private protected ' +
    'public return static super switch this throw true try typeof var void while with yield createClient voxClient globalThis undefined'
  ).split(' ')
)

/**
 * Converts a program name to a TypeScript identifier: `delete` becomes `delete_`. Program names never end with an
 * underscore.
 */
export function valueName(name: string): string {
  return RESERVED.has(name) ? `${name}_` : name
}

/** Converts a name to Pascal case: `open_tasks` becomes `OpenTasks`. */
export function pascalCase(name: string): string {
  return name.replace(/(^|_+)([A-Za-z0-9])/g, (_, _blank, letter: string) => letter.toUpperCase())
}

/** Converts any name to a valid npm package name. */
export function packageName(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[.-]+|[.-]+$/g, '')
  return plain === '' ? 'app' : plain
}

/** Returns a string as a TypeScript literal in single quotes. */
export function literal(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inner.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`
}

/** Returns an object key, quoted if necessary. */
export function propertyKey(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : literal(name)
}

/** Returns an int that is no exact number of JavaScript, with the type of all ints. */
export function longInt(value: bigint): string {
  return `(${value}n as unknown as number)`
}
