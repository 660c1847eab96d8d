import type { AppHook, Param, Type } from '../syntax/ast.ts'

/** App hooks whose entries have fixed names. `tokens` is a table of values, which may have any names. */
export type HookName = Exclude<AppHook['hook'], 'tokens'>

/** Kind of value that a hook entry holds. */
export interface HookEntry {
  readonly form:
    | 'text'
    | 'handler'
    /** A function, or a path of the program. */
    | 'action'
    /** A record from path patterns to their actions. */
    | 'links'
  /** Parameter names that the hook passes to the entry's function. */
  readonly offers: readonly string[]
  /** Result type of an entry's function. `path` is a string or nothing. */
  readonly returns: 'bool' | 'path' | 'anything'
}

const text: HookEntry = { form: 'text', offers: [], returns: 'anything' }
const handler = (returns: HookEntry['returns'], ...offers: string[]): HookEntry => ({
  form: 'handler',
  offers,
  returns
})
const MESSAGE = ['title', 'body', 'data']

export const HOOK_ENTRIES: Readonly<Record<HookName, Readonly<Record<string, HookEntry>>>> = {
  back_button: {
    on_press: handler('bool'),
    fallback: { form: 'action', offers: [], returns: 'path' }
  },
  deep_link: {
    scheme: text,
    universal_link: text,
    routes: { form: 'links', offers: ['url'], returns: 'path' },
    on_link: handler('path', 'url')
  },
  push: {
    public_key: text,
    on_register: handler('anything', 'token', 'platform'),
    on_notification: handler('anything', ...MESSAGE),
    on_action: handler('anything', 'action', ...MESSAGE)
  }
}

/** Returns the entry of a hook; undefined if the hook has no entry of that name. */
export function hookEntry(hook: HookName, name: string): HookEntry | undefined {
  return Object.hasOwn(HOOK_ENTRIES[hook], name) ? HOOK_ENTRIES[hook][name] : undefined
}

/** True for a custom URL scheme of an app, such as `shopping`. */
export function isOwnScheme(scheme: string): boolean {
  return /^[a-z][a-z0-9+.-]*$/.test(scheme) && !/^(?:https?|file|data|javascript|about|blob)$/.test(scheme)
}

/** True for an HTTPS origin, such as `https://example.org`. */
export function isOrigin(address: string): boolean {
  return (
    URL.canParse(address) && address.startsWith('https://') && new URL(address).origin === address.replace(/\/$/, '')
  )
}

/** True for a path of words and parameters, such as `/tasks/:id`. */
export function isLinkPattern(pattern: string): boolean {
  return pattern === '/' || /^(?:\/(?:[\w.~%@+-]+|:[a-z_]\w*))+$/.test(pattern)
}

/** True for a path of the program. It may have parameters, a query and a fragment. */
export function isPath(path: string): boolean {
  return /^\/(?!\/)[^\s\\]*$/.test(path)
}

/**
 * Returns the value for each parameter of a handler; null keeps the default. A handler's only parameter may have any
 * name. `missing` lists the parameters without a value.
 */
export function handlerArguments(
  params: readonly Param[],
  offers: readonly string[]
): { readonly values: readonly (string | null)[]; readonly missing: readonly Param[] } {
  const [first] = offers
  const missing: Param[] = []
  const values = params.map(param => {
    if (offers.includes(param.name.text)) return param.name.text
    if (params.length === 1 && first !== undefined) return first
    if (param.value === null && !isOptional(param.type)) missing.push(param)
    return null
  })
  return { values, missing }
}

/** True for `Option[T]` and `T?`. */
export function isOptional(type: Type | null): boolean {
  return type?.kind === 'OptionalType' || (type?.kind === 'NamedType' && type.path.at(-1)?.text === 'Option')
}

/**
 * Returns the name of a type without arguments, or of the type inside an `Option` or a `Result`; '' for other types.
 */
export function plainTypeName(type: Type): string {
  if (type.kind === 'OptionalType') return plainTypeName(type.inner)
  if (type.kind === 'UnitType') return 'Unit'
  if (type.kind !== 'NamedType') return ''
  const name = type.path.at(-1)?.text ?? ''
  const [inner] = type.args
  return inner !== undefined && (name === 'Option' || name === 'Result') ? plainTypeName(inner) : name
}
