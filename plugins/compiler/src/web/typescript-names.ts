/**
 * Reserved names: those that a TypeScript module cannot use, assign or declare, and those of the client.
 */
const RESERVED = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends ' +
    'false finally for function if implements import in instanceof interface let new null package private protected ' +
    'public return static super switch this throw true try typeof var void while with yield createClient voxClient globalThis undefined'
  ).split(' ')
)

/**
 * A program name as a TypeScript identifier: `delete` becomes `delete_`. No program name ends with an underscore
 * itself.
 */
export function valueName(name: string): string {
  return RESERVED.has(name) ? `${name}_` : name
}

/** `open_tasks` as `OpenTasks`. */
export function pascalCase(name: string): string {
  return name.replace(/(^|_+)([A-Za-z0-9])/g, (_, _blank, letter: string) => letter.toUpperCase())
}

/** A valid npm package name for any name. */
export function packageName(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/^[.-]+|[.-]+$/g, '')
  return plain === '' ? 'app' : plain
}

/** A text as a TypeScript literal, in single quotes. */
export function literal(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inner.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`
}

/** An object key, quoted if necessary. */
export function propertyKey(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : literal(name)
}
