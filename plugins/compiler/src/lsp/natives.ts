import { NATIVES } from '../types/natives/natives.ts'
import { isNativeFunction, type NativeMember, type NativeSignature } from '../types/natives/natives-contract.ts'

/** A member of the standard library or another namespace, with its name in the namespace. */
export interface NamespaceMember {
  readonly name: string
  readonly member: NativeMember
}

/** Returns a builtin function or value by its path: `len`, `std.fs.read`, `fs.read`. */
export function nativeAt(path: readonly string[]): NativeMember | undefined {
  const name = path.at(-1) ?? ''
  return path.length === 1 ? NATIVES.global(name) : NATIVES.namespace(path.slice(0, -1).join('.'))?.get(name)
}

/** Returns the members of a namespace; none for an unknown one. */
export function membersOf(path: readonly string[]): NamespaceMember[] {
  return Array.from(NATIVES.namespace(path.join('.')) ?? [], ([name, member]) => ({ name, member }))
}

/** Returns the names of the namespaces in a namespace: `fs`, `json` in `std`. */
export function namespacesIn(path: readonly string[]): string[] {
  const [root = ''] = path
  const start = `${root !== 'std' && NATIVES.namespace(`std.${root}`) !== undefined ? 'std.' : ''}${path.join('.')}.`
  const inner = NATIVES.namespaces().flatMap(each =>
    each.startsWith(start) ? each.slice(start.length).split('.') : []
  )
  return [...new Set(inner)].filter(name => NATIVES.namespaces().includes(start + name))
}

/** Returns the declaration of a member with its path: `std.fs.read(path: str) to Result[str] uses fs`. */
export function declarationOf({ path, source }: NativeMember): string {
  const end = path.lastIndexOf('.')
  return end < 0 ? source : `${path.slice(0, end + 1)}${source}`
}

/** Returns the snippet that inserts a member: a call with the cursor between the parentheses. */
export function snippetOf(name: string, member: NativeMember): string {
  if (!isNativeFunction(member)) return name
  return member.params.length === 0 ? `${name}()` : `${name}($1)`
}

/** Returns the declaration of a method for a receiver: `List[int].push(item: int) to List[int]`. */
export function methodDeclaration(
  { source, receiver }: NativeSignature,
  type: string,
  args: readonly string[]
): string {
  const names = receiver?.kind === 'named' ? receiver.args.map(arg => (arg.kind === 'rigid' ? arg.name : null)) : []
  return names.reduce<string>((text, name, index) => {
    const arg = args[index]
    return name === null || arg === undefined ? text : text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), () => arg)
  }, `${type}.${source}`)
}
